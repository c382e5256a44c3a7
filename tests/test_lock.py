"""A folder has one owner at a time; one whose owner is gone is taken over, and the owner that was not gone notices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlab.errors import StarlabError
from starlab.lock import Lock, Owner, _parse, in_words


def lock_of(folder: Path, **owner: object) -> Lock:
    """A lock that another process left: this one's, changed. Waits short times only."""
    lock = Lock(folder / "run.lock", beat=0.02, stale=0.2)
    folder.mkdir(exist_ok=True)
    lock.path.write_text(json.dumps(asdict(replace(Owner.here(), **owner))))
    return lock


def dead() -> int:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


def test_a_free_lock_is_taken_and_given_back(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "new/run.lock")
    assert not lock.held
    assert lock.take() is None
    assert lock.held and lock.age < 60
    lock.check()
    lock.release()
    assert not lock.held and lock.path.read_text() == ""
    assert Lock(lock.path).take() is None


def test_a_lock_of_a_living_process_is_refused(tmp_path: Path) -> None:
    Lock(tmp_path / "run.lock").take()
    message = (
        rf"{tmp_path} is being written by process {os.getpid()} on \S+ \(last sign of life \d+ seconds ago\); wait"
    )
    with pytest.raises(StarlabError, match=message):
        Lock(tmp_path / "run.lock").take()


def test_a_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    lock = lock_of(tmp_path, pid=dead())
    assert not lock.held
    previous = lock.take()
    assert previous is not None and previous.pid != os.getpid() and lock.held


def test_an_id_that_another_process_has_by_now_is_a_dead_owner_s(tmp_path: Path) -> None:
    lock = lock_of(tmp_path, born="1")
    assert not lock.held and lock.take() is not None


def test_a_lock_from_elsewhere_is_taken_over_when_it_stays_silent(tmp_path: Path) -> None:
    lock = lock_of(tmp_path, host="elsewhere")
    assert lock.held
    previous = lock.take()
    assert previous is not None and str(previous) == f"process {os.getpid()} on elsewhere"


def test_a_lock_from_elsewhere_that_shows_life_is_refused(tmp_path: Path) -> None:
    lock = lock_of(tmp_path, host="elsewhere")
    lock.stale = 60.0
    toucher = f"import os, time\nwhile True: os.utime({str(lock.path)!r}); time.sleep(0.05)"
    with subprocess.Popen([sys.executable, "-c", toucher]) as process:
        try:
            with pytest.raises(StarlabError, match="on elsewhere"):
                lock.take()
        finally:
            process.kill()


def test_an_old_lock_from_elsewhere_is_not_held(tmp_path: Path) -> None:
    lock = lock_of(tmp_path, host="elsewhere")
    os.utime(lock.path, (1.0, 1.0))
    assert not lock.held


def test_an_owner_gives_signs_of_life(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "run.lock", beat=0.01)
    lock.take()
    os.utime(lock.path, (1.0, 1.0))
    deadline = time.monotonic() + 30
    while lock.age > 1000 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert lock.age < 1000
    lock.release()


def test_who_was_taken_for_dead_stops_and_leaves_the_lock_to_its_new_owner(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "run.lock")
    lock.take()
    lock_of(tmp_path, host="elsewhere")
    with pytest.raises(StarlabError, match=r"was taken over by process \d+ on elsewhere; this process stops"):
        lock.check()
    lock.release()
    assert "elsewhere" in lock.path.read_text()


def test_of_many_that_start_at_once_one_gets_the_lock(tmp_path: Path) -> None:
    lock_of(tmp_path, pid=dead())
    code = (
        "import sys; from pathlib import Path; from starlab.lock import Lock\n"
        "from starlab.errors import StarlabError\n"
        f"lock = Lock(Path({str(tmp_path)!r}) / 'run.lock')\n"
        "try: lock.take(); print('mine', flush=True); sys.stdin.read()\n"
        "except StarlabError: print('taken', flush=True)"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", code], **pipes) for _ in range(4)]
    told = [process.stdout.readline().strip() for process in processes]
    for process in processes:
        process.communicate("")
    assert sorted(told) == ["mine", "taken", "taken", "taken"]


@given(st.text(max_size=80))
def test_a_lock_that_cannot_be_read_is_free(text: str) -> None:
    assert _parse(text) is None


def test_a_lock_that_was_cut_off_is_free() -> None:
    whole = json.dumps(asdict(Owner("here", 1, "2", 3.0)))
    assert all(_parse(whole[:end]) is None for end in range(len(whole)))
    assert _parse(whole) == Owner("here", 1, "2", 3.0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 seconds"), (119, "119 seconds"), (120, "2 minutes"), (7300, "2 hours"), (1e6, "12 days")],
)
def test_ages_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
