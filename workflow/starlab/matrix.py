"""The matrix: from the experiment file to cells, their names, their settings, and what differs between two.

A cell is one point of scale, reward, algorithm, training queries (mix and size) and tool noise; a run is a
cell and a seed. Rows of the file are products of values, rows may name the same cell, and such a cell is
trained once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from itertools import product
from typing import Any

from .config import Experiment, Row
from .errors import StarlabError
from .fields import per_scale
from .pivot import settings as demonstrations
from .pivot.cells import ON_DEMONSTRATIONS

FACTORS = ("scale", "reward", "algorithm", "mix", "size", "noise")


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of the matrix. `noise` is in per cent; `axes`, the rows it belongs to, are not its
    identity."""

    scale: str
    reward: str
    algorithm: str
    mix: str
    size: int
    noise: int
    axes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def name(self) -> str:
        """As folders, MLflow runs and the command line spell it."""
        return f"{self.scale}-{self.reward}-{self.algorithm}-{self.queries}-noise{self.noise}"

    @property
    def queries(self) -> str:
        """The query set it trains on."""
        return f"{self.mix}{self.size}"

    def factors(self) -> dict[str, Any]:
        """Value of each factor."""
        return {name: getattr(self, name) for name in FACTORS}

    def tags(self) -> dict[str, str]:
        """What its runs are tagged with: every factor, and the axes."""
        return {**{name: str(value) for name, value in self.factors().items()}, "axes": ",".join(self.axes)}


def algorithms() -> frozenset[str]:
    """The names that `starlab/training/algorithms/` and `starlab/pivot/` register."""
    from .training.algorithms import ALGORITHMS

    return frozenset(ALGORITHMS) | ON_DEMONSTRATIONS


def expand(experiment: Experiment) -> tuple[Cell, ...]:
    """All cells, each once, in the order of the rows."""
    cells: dict[str, Cell] = {}
    for row in experiment.matrix.axes:
        for values in product(*(choices(row, factor, experiment) for factor in FACTORS)):
            cell = Cell(*values)
            axes = cells.get(cell.name, cell).axes
            cells[cell.name] = replace(cell, axes=axes if row.axis in axes else (*axes, row.axis))
    return tuple(cells.values())


def choices(row: Row, factor: str, experiment: Experiment) -> tuple[Any, ...]:
    """The values of one factor in a row, the held one if the row does not say."""
    value = getattr(row, factor)
    if value is None:
        value = getattr(experiment.matrix.held, factor)
    return value if isinstance(value, tuple) else (value,)


def find(cells: Iterable[Cell], name: str) -> Cell:
    """The cell called `name`; StarlabError with the nearest name if the matrix has none."""
    table = {cell.name: cell for cell in cells}
    if name not in table:
        raise StarlabError(unknown(name, table))
    return table[name]


def unknown(name: str, names: Iterable[str]) -> str:
    """The complaint about a name that is not in the matrix, with the closest one that is."""
    close = get_close_matches(name, names, n=1, cutoff=0.3)
    hint = f"did you mean {close[0]!r}?" if close else "`starlab cells` lists them"
    return f"no cell of this matrix is called {name!r}; {hint}"


def settings(experiment: Experiment, cell: Cell) -> dict[str, Any]:
    """All that a run of `cell` depends on beside its seed, as plain values; nothing else can rerun it."""
    if cell.algorithm in ON_DEMONSTRATIONS:
        return demonstrations.of_cell(experiment, cell)
    common = experiment.rl.model_dump(exclude={"lr", *algorithms()})
    own = getattr(experiment.rl, cell.algorithm, None)
    lora = experiment.policy.ladder[cell.scale].lora
    override = experiment.matrix.overrides.get(cell.name)
    return {
        "scale": cell.scale,
        "reward": cell.reward,
        "algorithm": cell.algorithm,
        "queries": cell.queries,
        "noise": cell.noise / 100,
        "lr": per_scale(experiment.rl.lr, cell.scale),
        "lora": lora.model_dump() if lora else None,
        **common,
        "settings": own.model_dump() if own is not None else {},
        **(override.model_dump(exclude_none=True) if override else {}),
    }


def sft_settings(experiment: Experiment, scale: str) -> dict[str, Any]:
    """All that fine-tuning one scale depends on beside its seed and the trajectories."""
    model = experiment.policy.ladder[scale].model_dump()
    return {
        "scale": scale,
        "lora": model.pop("lora"),
        "model": model,
        "lr": per_scale(experiment.sft.lr, scale),
        **experiment.sft.model_dump(exclude={"teacher", "lr"}),
    }


def diff(experiment: Experiment, first: Cell, second: Cell) -> dict[str, tuple[Any, Any]]:
    """Every setting in which two cells differ, with both values (None: the cell has no such setting)."""
    one, other = settings(experiment, first), settings(experiment, second)
    for values in (one, other):
        values |= values.pop("settings", {})
    names = [*one, *(name for name in other if name not in one)]
    return {name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)}


def differing_factors(first: Cell, second: Cell) -> tuple[str, ...]:
    """The factors in which two cells differ."""
    return tuple(name for name in FACTORS if getattr(first, name) != getattr(second, name))


def references(experiment: Experiment) -> tuple[str, ...]:
    """Checkpoints that are evaluated, not trained: base and SFT model of each scale that the matrix uses."""
    scales = dict.fromkeys(cell.scale for cell in expand(experiment))
    return tuple(f"{kind}-{scale}" for scale in scales for kind in ("base", "sft"))


def as_record(cell: Cell) -> dict[str, Any]:
    """The cell for machines: its name, factors and axes."""
    record = asdict(cell)
    axes = record.pop("axes")
    return {"cell": cell.name, **record, "axes": list(axes)}
