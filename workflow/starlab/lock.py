"""Who works in a folder: a lock with its owner and a sign of life.

The lock file names its owner (machine, process, since when). The owner touches it every `beat` seconds, empties it when
it is done, and never removes it, so that two processes always look at the same file. A lock whose owner is gone is
taken over:

- on the owner's own machine the process is looked up, by its id and its start, since ids are used again;
- elsewhere nobody can ask, so the lock is watched: if it is not touched for `stale` seconds its owner is gone. Clocks
  of two machines are never compared.

Reading and taking happen under `flock`, which Linux also has on NFS; where a file system has none, two processes that
start within the same instant are not told apart until the first of them checks that the lock is still its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import IO

from .errors import StarlabError

BEAT = 15.0
"""Seconds between two signs of life."""
STALE = 180.0
"""Seconds without one after which an owner on another machine is gone; file attributes may be cached for a minute."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that holds a lock."""

    host: str
    pid: int
    born: str
    """When it started, in the kernel's ticks; empty where the system does not say."""
    since: float
    """When it took the lock, in seconds of its own clock."""

    @staticmethod
    def here() -> Owner:
        """This process, now."""
        return Owner(socket.gethostname(), os.getpid(), _born(os.getpid()), time.time())

    @property
    def local(self) -> bool:
        """Whether it is a process of this machine."""
        return self.host == socket.gethostname()

    @property
    def alive(self) -> bool:
        """Whether this machine still runs it."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # somebody else's process
        return self.born in ("", _born(self.pid))

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def _born(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]  # the name before it may hold blanks


@dataclass
class Lock:
    """The lock `path`; `take` it, `check` it now and then, `release` it."""

    path: Path
    beat: float = BEAT
    stale: float = STALE
    _owner: Owner | None = field(default=None, init=False)
    _done: Event = field(default_factory=Event, init=False)

    def take(self) -> Owner | None:
        """Become the owner; the owner that was gone, if the lock was taken over from one.

        StarlabError if somebody alive holds it. Waits up to `stale` seconds for an owner on another machine.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._file() as file:
            previous = _read(file)
            if previous is None or (previous.local and not previous.alive):
                return self._write(file, previous)
        seen = self._touched()
        if not previous.local:
            end = time.monotonic() + self.stale
            while self._touched() == seen and time.monotonic() < end:
                time.sleep(min(1.0, self.beat / 4))
            with self._file() as file:
                if self._touched() == seen and _read(file) == previous:
                    return self._write(file, previous)
        raise StarlabError(
            f"{self.path.parent} is being written by {previous} (last sign of life {in_words(self.age)} ago);"
            " wait for it or end it, then run again"
        )

    def check(self) -> None:
        """StarlabError if the lock is no longer ours: this process was taken for dead, and must stop."""
        with self._file() as file:
            owner = _read(file)
        if owner != self._owner:
            raise StarlabError(f"{self.path.parent} was taken over by {owner or 'nobody'}; this process stops")

    def release(self) -> None:
        """Give the lock back, if it is still ours."""
        self._done.set()
        with self._file() as file:
            if _read(file) == self._owner:
                file.truncate(0)
        self._owner = None

    @property
    def held(self) -> bool:
        """Whether somebody alive holds the lock, as far as can be told without waiting."""
        try:
            owner = _parse(self.path.read_text(encoding="utf-8"))
        except OSError:
            return False
        return owner is not None and (owner.alive if owner.local else self.age < self.stale)

    @property
    def age(self) -> float:
        """Seconds since the last sign of life, by this machine's clock."""
        return max(0.0, time.time() - self._touched() / 1e9)

    def _write(self, file: IO[str], previous: Owner | None) -> Owner | None:
        self._owner = Owner.here()
        file.seek(0)
        file.truncate()
        json.dump(asdict(self._owner), file)
        file.flush()
        self._done = Event()
        Thread(target=self._live, args=(self._done,), name=f"lock {self.path}", daemon=True).start()
        return previous

    def _live(self, done: Event) -> None:
        while not done.wait(self.beat):
            with suppress(OSError):
                os.utime(self.path)

    def _touched(self) -> int:
        return self.path.stat().st_mtime_ns if self.path.exists() else 0

    @contextmanager
    def _file(self) -> Iterator[IO[str]]:
        """The file, open for reading and writing, with nobody else inside."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        with os.fdopen(descriptor, "r+", encoding="utf-8") as file:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            yield file


def _read(file: IO[str]) -> Owner | None:
    file.seek(0)
    return _parse(file.read())


def _parse(text: str) -> Owner | None:
    """The owner in a lock file; None if it is free. What a kill cut off while it was written has no owner either."""
    try:
        return Owner(**json.loads(text))
    except (ValueError, TypeError):
        return None


def in_words(seconds: float) -> str:
    """`seconds` in words, in the largest unit of which there are two."""
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
