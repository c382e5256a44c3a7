"""Which Snakemake processes work in a folder, so that the lock of one that was killed does not stop the next.

Snakemake locks its folder and leaves the lock there when it is killed or the machine goes down; nobody can tell from it
whether its owner is alive. So every Snakemake process of ours says that it is there, in a lock file of its own
(`lock`), and where nobody else is, Snakemake's lock is of no one.
"""

from __future__ import annotations

import atexit
import os
import socket
from pathlib import Path

from .lock import Lock

PLACE = ".snakemake"


def enter(folder: Path) -> int:
    """Say that this process works in `folder`, and remove Snakemake's lock files if no other process does.

    Returns how many there were. Of two processes that enter at once both see the other, and both leave the lock.
    """
    present = folder / PLACE / "starlab"
    own = Lock(present / f"{socket.gethostname()}-{os.getpid()}.lock")
    own.take()
    atexit.register(leave, own)
    alone = True
    for path in present.glob("*.lock"):
        if path == own.path:
            continue
        if Lock(path).held:
            alone = False
        else:
            path.unlink(missing_ok=True)
    found = list((folder / PLACE / "locks").glob("*.lock")) if alone else []
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def leave(own: Lock) -> None:
    """Say that this process is done."""
    own.release()
    own.path.unlink(missing_ok=True)
