"""What a job says when it fails: one line on the terminal, everything in its log."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlab.job import Job
from starlab.runs import Run

MATRIX = {"axes": [{"axis": "reward", "reward": "macro"}]}

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


def test_a_job_goes_on_when_nobody_watches_any_more(tmp_path: Path) -> None:
    """As after a lost connection: the terminal's end of the pipe is closed."""
    code = CODE.replace("{then}", "import pathlib; pathlib.Path('done').touch(); raise Killed()")
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.close()
    assert process.returncode == 143 and (tmp_path / "done").exists()


SNAKEFILE = """
config["results"] = "results"

rule run:
    output: "done"
    log: "run.log"
    retries: 1
    script: "stopped_once.py"
"""
STOPPED_ONCE = """
from starlab.job import Job
with Job(snakemake) as job:
    import os, signal
    from pathlib import Path
    from starlab.termination import deferred
    first = not Path("tried").exists()
    Path("tried").touch()
    with deferred() as stop:
        if first:
            os.kill(os.getpid(), signal.SIGTERM)
        assert stop() is first
    Path(snakemake.output[0]).touch()
"""


def test_a_job_that_a_cluster_stops_is_tried_again_where_retries_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "stopped_once.py").write_text(STOPPED_ONCE)
    command = [sys.executable, "-m", "snakemake", "--cores", "1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "done").exists(), done.stderr
    assert "Trying to restart job" in done.stderr
    assert "stopped; run the same command again" in (tmp_path / "results/logs/failures.txt").read_text()


def test_the_identity_of_a_run_keeps_what_it_is_measured_on_apart(tmp_path: Path) -> None:
    for name in ("start", "query", "world/rows", "other/rows"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)

    class Files(dict):
        test = unseen = str(tmp_path / "query")

    files = Files(
        {name: str(tmp_path / "query") for name in ("test", "unseen", "knowledge")},
        training=str(tmp_path / "world"), unseen_world=str(tmp_path / "other"), questions=[str(tmp_path / "query")],
    )  # fmt: skip
    snakemake = SimpleNamespace(
        rule="run", wildcards=SimpleNamespace(seed="1"), input=files, output=[str(tmp_path / "out/model")],
        params={"evaluation": {"temperature": 0.7}}, config={"results": str(tmp_path), "matrix": MATRIX},
    )  # fmt: skip

    def run() -> Run:
        job = Job(snakemake)
        return job.run("cell", {"lr": 1.0}, {"start": tmp_path / "start", "world": tmp_path / "world"}, {}).run

    before = run()
    (tmp_path / "other/rows").write_text("changed")
    assert run().fingerprint != before.fingerprint and run().training == before.training
    snakemake.params["evaluation"]["temperature"] = 0.5
    assert run().training == before.training
    (tmp_path / "world/rows").write_text("changed")
    assert run().training != before.training
