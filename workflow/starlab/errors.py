"""The error model.

Two kinds of things go wrong. *Data*: a plan that cannot be parsed, a malformed tool call, a query that no plan solves.
These are results; they are returned as values with a status and never raised. *Everything else* stops the job. When the
cause is something a user can mend (a file, a field, a name), the job raises `StarlabError` with one message that names
the file, the field and the fix; any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path


class StarlabError(Exception):
    """Something the user can mend. The message is complete: no traceback is needed to act on it."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint for an error message: the valid name closest to `name`, or all of them when none is close."""
    names = sorted(valid)
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"valid: {', '.join(names)}"


def disk_full(error: BaseException, folder: Path) -> bool:
    """Whether `error` came of a full disk. Libraries that write in C++ or Rust lose the number of the error on the way:
    then their message tells, or that nothing is left on the disk of `folder`."""
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if any(words in str(cause) for words in ("No space left on device", "StorageFull", "Disk quota exceeded")):
            return True
    return folder.exists() and shutil.disk_usage(folder).free < 2**16


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
