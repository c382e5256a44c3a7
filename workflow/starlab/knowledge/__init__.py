"""Out-of-domain knowledge questions, answered through a search tool over synthetic entries."""

from __future__ import annotations

from .names import NAMES, RELATION_PIECES
from .questions import PHRASES
from .search import PIECES


def vocabulary() -> tuple[str, ...]:
    """Every piece of question and tool text that a small tokenizer should hold as one token."""
    return tuple(dict.fromkeys(NAMES + RELATION_PIECES + PHRASES + PIECES))
