"""The ways in which tools can word their results, by name. The look-ups are the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import StarlabError, nearest
from ..protocol import ToolCall
from . import official, tools
from .database import Database

Tool = Callable[[Database, str, Any], str]
"""(database, name of the tool, arguments) -> what the agent sees."""


def _compact(database: Database, name: str, arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        raise StarlabError(f"the arguments of a tool call are a JSON object, not {arguments!r}")
    return tools.call(database, ToolCall(name, arguments))


RENDERINGS: Mapping[str, Tool] = {"compact": _compact, "official": official.call}
"""`compact` is the miniature world's (`rendering.py`), `official` is Agent-STAR's (`official.py`)."""


def tool(rendering: str) -> Tool:
    """The tools in a rendering. Raises StarlabError for an unknown one."""
    if rendering not in RENDERINGS:
        raise StarlabError(f"no rendering {rendering!r}; {nearest(rendering, RENDERINGS)}")
    return RENDERINGS[rendering]
