"""Out-of-domain knowledge questions, answered through a search tool over synthetic entries."""
