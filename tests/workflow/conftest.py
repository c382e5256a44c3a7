"""Run the real Snakefile in a folder of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    """What Snakemake said."""

    status: int
    text: str

    @property
    def jobs(self) -> dict[str, int]:
        """Jobs by rule, from the table that Snakemake prints before it starts; the target itself is left out."""
        table = self.text.partition("Job stats:")[2].partition("total")[0]
        found = {rule: int(count) for rule, count in re.findall(r"^(\w+)\s+(\d+)\s*$", table, re.MULTILINE)}
        found.pop("all", None)
        return found


Snakemake = Callable[..., Outcome]


def project(folder: Path) -> Snakemake:
    """Make `folder` a project with the default experiment; the result runs Snakemake in it."""
    (folder / "config.yaml").write_bytes((ROOT / "config.yaml").read_bytes())
    for name in ("workflow", "presets"):
        (folder / name).symlink_to(ROOT / name)

    def snakemake(*words: str) -> Outcome:
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]
        command += ["--directory", str(folder), "--nocolor", *words]
        environment = {key: value for key, value in os.environ.items() if key != "MLFLOW_TRACKING_URI"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        return Outcome(done.returncode, done.stdout + done.stderr)

    return snakemake


@pytest.fixture
def fresh(tmp_path: Path) -> Snakemake:
    """A project without results."""
    return project(tmp_path)
