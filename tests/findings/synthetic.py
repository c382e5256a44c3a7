"""Made-up results with a known truth, in the files that an evaluation writes.

Query q of a panel has a difficulty, shared by all runs; a run of cell c and seed k succeeds on it with
probability sigmoid(logit(truth of c) + shift of (c, k) - difficulty of q), the shift having the wanted
spread in points.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from starlab.findings.collect import Results, run_folder, with_references
from starlab.findings.contrast import Metric
from starlab.findings.paper import load_paper
from starlab.seeds import derive

FAMILIES = ("capital", "river", "founder", "bridge", "compare", "two_hop", "three_hop")
LEVELS = ("easy",) * 4 + ("medium",) * 3 + ("hard",) * 3


@dataclass(frozen=True)
class World:
    """truth: cell -> success on travel, knowledge (fractions). seed_sd: spread of a run's success between
    seeds, fraction.
    """

    truth: Mapping[str, tuple[float, float]]
    seed_sd: float = 0.02
    queries: int = 60
    questions: int = 35
    difficulty: float = 1.0


def paper_truth() -> dict[str, tuple[float, float]]:
    """The paper's numbers as truth; where it gives none: 47-48 % for tool failure up to 5 %, 40 % for 10 %,
    questions 30 %.
    """
    paper = load_paper()
    cells = dict.fromkeys(cell for cell, _, _ in paper.scores)
    truth = {}
    for cell in cells:
        travel = paper.score(cell, Metric("test", "greedy", "success"))
        questions = paper.score(cell, Metric("knowledge", "greedy", "success"))
        truth[cell] = (travel if travel is not None else 0.4, questions if questions is not None else 0.3)
    for noise, value in ((1, 0.48), (2, 0.47), (5, 0.48), (10, 0.40)):
        truth[f"m-macro-grpo-mixed1000-noise{noise}"] = (value, 0.3)
    return truth


def write_world(root: Path, world: World, seeds: Sequence[int], cells: Sequence[str] | None = None) -> list[str]:
    """Write every run; returns the trained cells."""
    trained = [cell for cell in (cells if cells is not None else world.truth) if not cell.startswith(("base-", "sft-"))]
    for cell in with_references(trained):
        for seed in seeds:
            write_run(root, world, cell, seed)
    return trained


def write_run(root: Path, world: World, cell: str, seed: int) -> Path:
    """Write evaluation.json and queries.jsonl of one run; returns its folder."""
    panels: dict[str, dict[str, object]] = {}
    rows = run_rows(world, cell, seed)
    for row in rows:
        panel = panels.setdefault(str(row["panel"]), {"sha256": f"{derive('panel', row['panel']):x}"})
        panel.setdefault(str(row["decoding"]), [])
        panel[str(row["decoding"])].append(row)  # type: ignore[attr-defined]
    for name, panel in panels.items():
        for decoding in [key for key in panel if key != "sha256"]:
            panel[decoding] = aggregate(panel[decoding], name)  # type: ignore[arg-type]
    folder = run_folder(root, cell, seed)
    folder.mkdir(parents=True, exist_ok=True)
    head = {"cell": cell, "seed": seed, "scale": cell[0], "model_sha256": f"{derive(cell, seed):x}"}
    text = json.dumps({**head, "config_sha256": "c", "panels": panels}, sort_keys=True)
    (folder / "evaluation.json").write_text(text)
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def results_of(world: World, seeds: Sequence[int], cells: Sequence[str]) -> Results:
    """The same results without files, for tests of what follows reading. `cells` may name references."""
    rows = [
        {"cell": cell, "seed": seed, **row} for cell in cells for seed in seeds for row in run_rows(world, cell, seed)
    ]
    empty = pd.DataFrame(columns=["cell", "seed", "panel", "decoding", "sha256"])
    return Results(Path("results"), tuple(cells), tuple(seeds), empty, pd.DataFrame(rows), ())


def run_rows(world: World, cell: str, seed: int) -> list[dict[str, object]]:
    travel, questions = world.truth[cell]
    decodings = {"greedy": 1.0, "sampled": 0.8} | ({"cool": 0.9} if cell.startswith("sft-") else {})
    panels = {"test": travel, "unseen": travel, "knowledge": questions}
    return [
        row
        for panel, truth in panels.items()
        for decoding, factor in decodings.items()
        for row in panel_rows(world, cell, seed, panel, decoding, truth * factor)
    ]


def panel_rows(world: World, cell: str, seed: int, panel: str, decoding: str, truth: float) -> list[dict[str, object]]:
    n = world.questions if panel == "knowledge" else world.queries
    difficulty = np.random.default_rng(derive("difficulty", panel)).normal(0.0, world.difficulty, n)
    slope = max(truth * (1.0 - truth), 0.02)
    shift = np.random.default_rng(derive("seed", cell, seed, panel)).normal(0.0, world.seed_sd / slope)
    rng = np.random.default_rng(derive("run", cell, seed, panel, decoding))
    success = rng.random(n) < sigmoid(level_for(truth, difficulty) + shift - difficulty)
    lucky = rng.random(n) < 0.2
    return [
        {
            "panel": panel,
            "decoding": decoding,
            "query_id": f"{panel}-{index:04d}",
            "level": FAMILIES[index % 7] if panel == "knowledge" else LEVELS[index % 10],
            "status": "ok",
            "success": float(success[index]),
            "cs_macro": float(success[index] or lucky[index]),
            "calls": 6,
            "tokens": 90,
        }
        for index in range(n)
    ]


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def level_for(truth: float, difficulty: NDArray[np.float64]) -> float:
    """The logit at which the mean success over these difficulties is `truth` (bisection)."""
    low, high = -12.0, 12.0
    for _ in range(30):
        middle = (low + high) / 2.0
        low, high = (middle, high) if sigmoid(middle - difficulty).mean() < truth else (low, middle)
    return low


def aggregate(rows: Sequence[Mapping[str, object]], panel: str) -> dict[str, object]:
    levels: dict[str, list[float]] = {}
    for row in rows:
        levels.setdefault(str(row["level"]), []).append(float(str(row["success"])))
    means = {level: sum(values) / len(values) for level, values in levels.items()}
    every = [value for values in levels.values() for value in values]
    success = sum(means.values()) / len(means) if panel == "knowledge" else sum(every) / len(every)
    by_level = {level: {"success": means[level], "n": len(levels[level])} for level in levels}
    return {"success": round(success, 6), "n": len(rows), "by_level": by_level}
