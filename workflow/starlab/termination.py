"""Being told to stop: SIGTERM, which a cluster sends before it takes a machine away, and Ctrl-C."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

STOPPED = 143
"""Exit status of a job that was stopped: 128 + SIGTERM. Like every status but 0 it makes Snakemake retry the job where
`retries` are allowed (profiles/), and the retry goes on from the checkpoint."""

logger = logging.getLogger(__name__)
Handler = Callable[[int, FrameType | None], None]


class Killed(KeyboardInterrupt):
    """SIGTERM. Like Ctrl-C it passes through `except Exception`, so that a run ends where it stands."""


@contextmanager
def handled(handler: Handler | signal.Handlers, *signals: int) -> Iterator[None]:
    """`handler` for the signals inside, what was there before afterwards. Without effect outside the main thread."""
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def at_once(signum: int, frame: FrameType | None) -> None:
    """A handler that ends whatever is going on."""
    raise Killed("terminated")


@contextmanager
def deferred() -> Iterator[Callable[[], bool]]:
    """Inside, a first signal is only noted, so that the step in progress can be finished and saved; a second ends it.

    Yields a function that says whether one was noted. If so, `Killed` is raised at the end.
    """
    noted = False

    def note(signum: int, frame: FrameType | None) -> None:
        nonlocal noted
        if noted:
            at_once(signum, frame)
        noted = True
        logger.warning("told to stop: after this step and its checkpoint; once more ends it at once")

    with handled(note, signal.SIGTERM, signal.SIGINT):
        yield lambda: noted
    if noted:
        at_once(signal.SIGTERM, None)
