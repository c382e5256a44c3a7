"""What a job says when it fails: one line on the terminal, everything in its log."""

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import errno
import sys
from types import SimpleNamespace
from starlab.errors import StarlabError
from starlab.job import Job
from starlab.termination import Killed

snakemake = SimpleNamespace(threads=3, log=["logs/job.log"], rule="run", wildcards=["a-cell", "0"],
                            config={"results": "results"})
with Job(snakemake) as job:
    import os
    print("chatter", os.environ["OMP_NUM_THREADS"])
    job.say("half way")
    {then}
"""


def run(folder: Path, then: str) -> tuple[subprocess.CompletedProcess[str], str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE.replace("{then}", then)], cwd=folder, capture_output=True, text=True
    )
    return done, (folder / "logs/job.log").read_text()


def test_a_job_s_chatter_goes_to_its_log(tmp_path: Path) -> None:
    done, log = run(tmp_path, "pass")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "starlab: half way\n")
    assert "chatter 3" in log and "half way" in log


@pytest.mark.parametrize(
    ("then", "status", "told"),
    [
        ("raise StarlabError('models/m: gone')", 1, "models/m: gone"),
        ("raise OSError(errno.ENOSPC, 'no space')", 1, "the disk is full; make room and run the same command again"),
        ("raise Killed()", 143, "stopped; run the same command again and it goes on from its last checkpoint"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero (traceback in logs/job.log)"),
    ],
)
def test_a_failure_is_one_line(tmp_path: Path, then: str, status: int, told: str) -> None:
    done, log = run(tmp_path, then)
    assert done.returncode == status and done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("starlab: run a-cell 0: ") and told in last and len(done.stderr.splitlines()) == 2
    assert (tmp_path / "results/logs/failures.txt").read_text() == last.removeprefix("starlab: ") + "\n"
    assert ("Traceback" in log) == ("StarlabError" not in then)
