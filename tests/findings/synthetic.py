"""Made-up results with a known truth, in the files that an evaluation writes.

Query q of a panel has a difficulty, shared by all runs; a run of cell c and seed k succeeds on it with probability
sigmoid(logit(truth of c) + shift of (c, k) - difficulty of q), the shift having the wanted spread in points.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from starlab.findings.collect import run_folder, with_references
from starlab.findings.contrast import Metric
from starlab.findings.paper import load_paper
from starlab.seeds import derive

FAMILIES = ("capital", "river", "founder", "bridge", "compare", "two_hop", "three_hop")
LEVELS = ("easy",) * 4 + ("medium",) * 3 + ("hard",) * 3


@dataclass(frozen=True)
class World:
    """truth: cell -> success on travel, knowledge (fractions). seed_sd: spread of a run's success between seeds, fraction."""

    truth: Mapping[str, tuple[float, float]]
    seed_sd: float = 0.02
    queries: int = 60
    questions: int = 35
    difficulty: float = 1.0


def paper_truth() -> dict[str, tuple[float, float]]:
    """The paper's numbers as truth; where it gives none, 46 % for tool failure up to 5 %, 40 % for 10 %, 30 % out of domain."""
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


def write_world(
    root: Path, world: World, seeds: Sequence[int], cells: Sequence[str] | None = None
) -> list[str]:
    """Write every run; returns the trained cells."""
    trained = [
        cell
        for cell in (cells if cells is not None else world.truth)
        if not cell.startswith(("base-", "sft-"))
    ]
    for cell in with_references(trained):
        for seed in seeds:
            write_run(root, world, cell, seed)
    return trained


def write_run(root: Path, world: World, cell: str, seed: int) -> Path:
    rows: list[dict[str, object]] = []
    panels: dict[str, dict[str, object]] = {}
    decodings = ("greedy", "sampled", "cool") if cell.startswith("sft-") else ("greedy", "sampled")
    for panel, truth in zip(
        ("test", "unseen", "knowledge"), (*world.truth[cell][:1] * 2, world.truth[cell][1]), strict=True
    ):
        panels[panel] = {"sha256": f"{derive('panel', panel):x}", "n": 0}
        for decoding in decodings:
            scale = {"greedy": 1.0, "cool": 0.9, "sampled": 0.8}[decoding]
            made = panel_rows(world, cell, seed, panel, decoding, truth * scale)
            rows.extend(made)
            panels[panel][decoding] = aggregate(made, panel)
    folder = run_folder(root, cell, seed)
    folder.mkdir(parents=True, exist_ok=True)
    head = {
        "cell": cell,
        "seed": seed,
        "scale": cell[0],
        "model_sha256": f"{derive(cell, seed):x}",
        "config_sha256": "c",
    }
    (folder / "evaluation.json").write_text(json.dumps({**head, "panels": panels}, sort_keys=True))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def panel_rows(
    world: World, cell: str, seed: int, panel: str, decoding: str, truth: float
) -> list[dict[str, object]]:
    n = world.questions if panel == "knowledge" else world.queries
    shared = np.random.default_rng(derive("difficulty", panel))
    difficulty = shared.normal(0.0, world.difficulty, n)
    rng = np.random.default_rng(derive("run", cell, seed, panel, decoding))
    level = shifted(truth, difficulty)
    slope = max(truth * (1.0 - truth), 0.02)
    shift = np.random.default_rng(derive("seed", cell, seed, panel)).normal(0.0, world.seed_sd / slope)
    success = rng.random(n) < 1.0 / (1.0 + np.exp(-(level + shift - difficulty)))
    return [
        {
            "panel": panel,
            "decoding": decoding,
            "query_id": f"{panel}-{index:04d}",
            "level": FAMILIES[index % 7] if panel == "knowledge" else LEVELS[index % 10],
            "status": "ok",
            "success": int(hit),
            "cs_macro": int(hit or rng.random() < 0.4),
            "calls": 6,
            "tokens": 90,
        }
        for index, hit in enumerate(success)
    ]


def shifted(truth: float, difficulty: np.ndarray) -> float:
    """The logit at which the mean success over these difficulties is `truth` (bisection)."""
    low, high = -12.0, 12.0
    for _ in range(50):
        middle = (low + high) / 2.0
        if np.mean(1.0 / (1.0 + np.exp(-(middle - difficulty)))) < truth:
            low = middle
        else:
            high = middle
    return low


def aggregate(rows: list[dict[str, object]], panel: str) -> dict[str, object]:
    levels: dict[str, list[float]] = {}
    for row in rows:
        levels.setdefault(str(row["level"]), []).append(float(str(row["success"])))
    by_level = {
        level: {"success": float(np.mean(values)), "n": len(values)} for level, values in levels.items()
    }
    every = [float(str(row["success"])) for row in rows]
    mean = (
        float(np.mean([entry["success"] for entry in by_level.values()]))
        if panel == "knowledge"
        else float(np.mean(every))
    )
    return {
        "success": mean,
        "n": len(rows),
        "by_level": by_level,
        "cs_macro": float(np.mean([row["cs_macro"] for row in rows])),
    }
