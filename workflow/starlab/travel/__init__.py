"""The travel sandbox: database, tools, plans, constraints, scores, faults."""
