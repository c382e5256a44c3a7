"""What a run of the workflow would do, and what it would cost by the times that earlier jobs took."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from .errors import StarlabError

Key = tuple[str, ...]
UNMEASURED = ("NA", "-", "")
"""What Snakemake writes where a job was over before it was looked at."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A job that would run: its rule, and the path of its benchmark file below `benchmarks/`, bare."""

    rule: str
    place: Path


def job_of(rule: str, target: Path) -> Pending:
    """The job that makes `target` (relative to the results folder); the files of one job have one place."""
    if rule == "profile_report":  # in the folder of the profile, and quicker to make
        return Pending(rule, Path(rule, *target.parent.parts[1:]))
    if target.parent.name.startswith("seed"):
        return Pending(rule, target.parent)
    if target.parent.name == "queries":
        return Pending(rule, Path("queries", target.name.split(".")[0]))
    return Pending(rule, Path(rule))


def keys(place: Path) -> list[Key]:
    """`cells/m-sum-grpo/seed0` as (cells, m, sum, grpo, seed0), (cells, m, sum, grpo), ... , (cells,)."""
    words = [word for part in place.parts for word in part.split("-")]
    return [tuple(words[:count]) for count in range(len(words), 0, -1)]


def pending(configfiles: Sequence[Path], results: Path, targets: Sequence[str] = ()) -> list[Pending]:
    """The jobs that Snakemake would run now; StarlabError with its words if it cannot say."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--nolock", "--summary", *targets]
    if configfiles:
        command += ["--configfile", *map(str, configfiles)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise StarlabError(f"snakemake cannot plan:\n{done.stderr.strip()}")
    jobs: dict[Pending, None] = {}
    for row in csv.DictReader(done.stdout.splitlines(), delimiter="\t"):
        path = Path(row["output_file"])
        if row["plan"] != "no update" and path.is_relative_to(results):
            jobs[job_of(row["rule"], path.relative_to(results))] = None
    return list(jobs)


def benchmarks(results: Path) -> Iterator[tuple[Path, float]]:
    """(place, seconds on the clock) of every job that was measured: its file below `benchmarks/`, bare, and the mean of
    what it says."""
    folder = results / "benchmarks"
    for path in sorted(folder.rglob("*.tsv")):
        with path.open(encoding="utf-8") as file:
            values = [row["s"] for row in csv.DictReader(file, delimiter="\t")]
        seconds = [float(value) for value in values if value not in UNMEASURED]
        if seconds:
            yield path.relative_to(folder).with_suffix(""), mean(seconds)


def measured(results: Path) -> dict[Key, list[float]]:
    """Seconds that earlier jobs took, under every key of each."""
    times: defaultdict[Key, list[float]] = defaultdict(list)
    for place, seconds in benchmarks(results):
        for key in keys(place):
            times[key].append(seconds)
    return dict(times)


def estimate(job: Pending, times: Mapping[Key, Sequence[float]]) -> float | None:
    """Seconds by the jobs most like it (itself, its cell, its scale, its kind); None if none has run yet."""
    alike = (times[key] for key in keys(job.place) if key in times)
    found = next(alike, None)
    return None if found is None else mean(found)


def table(jobs: Iterable[Pending], times: Mapping[Key, Sequence[float]], cores: int) -> str:
    """Jobs and their cost by rule, and the whole on `cores` cores."""
    by_rule: defaultdict[str, list[float | None]] = defaultdict(list)
    for job in jobs:
        by_rule[job.rule].append(estimate(job, times))
    lines = [f"{'rule':<16}{'jobs':>6}{'core minutes':>14}"]
    for rule, costs in by_rule.items():
        known = [cost for cost in costs if cost is not None]
        minutes = f"{sum(known) / 60:.1f}" if len(known) == len(costs) else "not measured"
        lines.append(f"{rule:<16}{len(costs):>6}{minutes:>14}")
    costs = [cost for group in by_rule.values() for cost in group]
    known = [cost for cost in costs if cost is not None]
    total = f"about {sum(known) / 60 / cores:.0f} minutes on {cores} cores"
    unknown = len(costs) - len(known)
    doubt = f", {unknown} jobs without a measurement not counted" if unknown else ""
    lines.append(f"{len(costs)} jobs, {total}{doubt}" if costs else "nothing to do")
    return "\n".join(lines)
