"""The `Search` tool: one argument, the exact name of an entity; its text is the entity's entry.

A line is "relation value"; a note about another entity is "name: relation value". Every line opens with a
line break, so the token before a relation tells whose it is, and the relation stands right before its value
(see `names`).
"""

from __future__ import annotations

from ..protocol import ToolCall
from ..travel.tools import invalid_parameters, not_found
from .base import Base, Fact

TOOL = "Search"
ARGUMENT = "query"
PARAMETERS = {TOOL: (ARGUMENT,)}
LINE, NOTE = "\n", ": "
REDIRECT = "Another name of "
UNKNOWN = ("There is no entry for ", ". Please rethink your query and try again.")
PIECES = (LINE, NOTE, REDIRECT, *UNKNOWN)
"""Literal pieces of the tool's text, beside names and relations."""


def search(base: Base, query: str) -> str:
    """The entry of `query`, or the entity that it is another name of, or that there is none."""
    entity = base.target(query)
    if entity is not None:
        return REDIRECT + entity
    entry = base.entry(query)
    if entry is None:
        return UNKNOWN[0] + query + UNKNOWN[1]
    return "".join(_line(query, fact) for fact in entry)


def _line(name: str, fact: Fact) -> str:
    owner = "" if fact.subject == name else fact.subject + NOTE
    return f"{LINE}{owner}{fact.relation} {fact.value}"


def call(base: Base, request: ToolCall) -> str:
    """What the agent sees. A wrong tool or a missing or unusable argument gives a text, never an
    exception."""
    if request.name != TOOL:
        return not_found(request.name)
    query = request.arguments.get(ARGUMENT)
    return search(base, query) if isinstance(query, str) else invalid_parameters(PARAMETERS[TOOL])


def read_values(text: str) -> dict[str, str]:
    """The facts of a search result (relation -> value), notes left out; empty if the text is no entry."""
    pairs = (line.split(" ") for line in text.split(LINE) if NOTE not in line)
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
