"""The error model.

Two kinds of things go wrong. *Data*: a plan that cannot be parsed, a malformed tool call, a query that no plan solves.
These are results; they are returned as values with a status and never raised. *Everything else* stops the job. When the
cause is something a user can mend (a file, a field, a name), the job raises `StarlabError` with one message that names
the file, the field and the fix; any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class StarlabError(Exception):
    """Something the user can mend. The message is complete: no traceback is needed to act on it."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint for an error message: the valid name closest to `name`, or all of them when none is close."""
    names = sorted(valid)
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"valid: {', '.join(names)}"
