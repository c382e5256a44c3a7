"""The ``Search`` tool: one argument, the exact name of an entity; its text is the entity's entry.

A line is ``relation value``; a note about another entity is ``name: relation value``. The relation stands right before
its value (see :mod:`starlab.knowledge.names`).
"""

from __future__ import annotations

from typing import Mapping

from starlab.knowledge.base import Base, Fact

TOOL = "Search"
ARGUMENT = "query"
LINE, NOTE = "\n", ": "
REDIRECT = "Another name of "
UNKNOWN = ("There is no entry for ", ". Please rethink your query and try again.")
#: literal pieces of the tool's text, beside names and RELATION_PIECES
PIECES = (LINE, NOTE, REDIRECT, *UNKNOWN)


def search(base: Base, query: str) -> str:
    """The entry of ``query``, where its name leads to, or that there is none."""
    entity = base.target(query)
    if entity is not None:
        return REDIRECT + entity
    entry = base.entry(query)
    if entry is None:
        return UNKNOWN[0] + query + UNKNOWN[1]
    return LINE.join(_line(query, fact) for fact in entry)


def _line(name: str, fact: Fact) -> str:
    owner = "" if fact.subject == name else fact.subject + NOTE
    return f"{owner}{fact.relation} {fact.value}"


def call(base: Base, name: str, arguments: Mapping[str, object]) -> str:
    """Run a tool call as a policy wrote it; a wrong name or wrong arguments come back as text, never as an exception."""
    if name != TOOL:
        return f"Tool {name} not found, please rethink your tool call and try again."
    query = arguments.get(ARGUMENT)
    if set(arguments) != {ARGUMENT} or not isinstance(query, str):
        return f"Invalid parameters for {TOOL}: expected one text argument '{ARGUMENT}'."
    return search(base, query)


def read_values(text: str) -> dict[str, str]:
    """The facts of a search result (relation -> value), notes left out; empty if the text is no entry."""
    pairs = (line.split(" ") for line in text.split(LINE) if NOTE not in line)
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
