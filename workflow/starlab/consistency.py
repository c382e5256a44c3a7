"""What the sections of an experiment cannot see one by one: names that others define, sizes that must fit each other.

Every check yields (path in the file, what is wrong).
"""

from __future__ import annotations

from collections.abc import Iterator

from . import matrix
from .config import Experiment
from .errors import nearest
from .fields import EVERY
from .pivot.cells import ON_DEMONSTRATIONS, PIVOTS, SFTLONG
from .rewards import CHANGING, REWARDS
from .travel import names

Problem = tuple[tuple[int | str, ...], str]


def problems(experiment: Experiment) -> Iterator[Problem]:
    """All that is wrong."""
    yield from _scales(experiment)
    yield from _repetitions(experiment)
    yield from _sizes(experiment)
    yield from _rows(experiment)
    yield from _overrides(experiment)


def _scales(experiment: Experiment) -> Iterator[Problem]:
    ladder = experiment.policy.ladder
    rates = (("sft", experiment.sft.lr), ("rl", experiment.rl.lr), ("pivot", experiment.pivot.lr))
    for section, value in rates:
        if EVERY not in value and set(value) != set(ladder):
            found = f"expected a number for each of {', '.join(ladder)}; got {', '.join(value)}"
            yield (section, "lr"), found
    for theirs, ours in experiment.findings.scales.items():
        if ours not in ladder:
            yield ("findings", "scales", theirs), f"no scale is called {ours!r}; {nearest(ours, ladder)}"


def _repetitions(experiment: Experiment) -> Iterator[Problem]:
    if len(set(experiment.seeds)) < len(experiment.seeds):
        yield ("seeds",), f"each seed once; got {', '.join(map(str, experiment.seeds))}"
    if len(set(experiment.data.days)) < len(experiment.data.days):
        yield ("data", "days"), f"each length once; got {', '.join(map(str, experiment.data.days))}"


def _sizes(experiment: Experiment) -> Iterator[Problem]:
    world = experiment.world
    if world.states * world.cities_per_state > len(names.CITIES):
        found = f"there are names for {len(names.CITIES)} cities; got {world.states} states x {world.cities_per_state}"
        yield ("world", "cities_per_state"), found
    for table in ("hotels", "restaurants", "attractions", "flights", "dates"):
        most = len(getattr(names, table.upper()))
        if getattr(world, table) > most:
            yield ("world", table), f"expected at most {most}, as many as have names; got {getattr(world, table)}"
    rl, evaluation = experiment.rl, experiment.evaluation
    if rl.prompts * rl.group % rl.minibatches:
        found = f"expected a divisor of prompts x group = {rl.prompts * rl.group}; got {rl.minibatches}"
        yield ("rl", "minibatches"), found
    turns = (("rl", rl.max_tokens, rl.max_turn_tokens), ("evaluation", evaluation.max_tokens, evaluation.turn_tokens))
    for section, longest, turn in turns:
        if longest <= turn:
            yield (section, "max_tokens"), f"expected more than the {turn} tokens that one turn may have; got {longest}"


def _rows(experiment: Experiment) -> Iterator[Problem]:
    from .training.algorithms import ALGORITHMS, make

    known = {
        "scale": frozenset(experiment.policy.ladder),
        "reward": frozenset(REWARDS),
        "algorithm": matrix.algorithms(),
    }
    for index, row in enumerate(experiment.matrix.axes):
        place = ("matrix", "axes", index)
        for factor, valid in known.items():
            for value in matrix.choices(row, factor, experiment):
                if value not in valid:
                    yield (*place, factor), f"no {factor} is called {value!r}; {nearest(value, valid)}"
        algorithms = set(matrix.choices(row, "algorithm", experiment))
        named = ON_DEMONSTRATIONS & algorithms
        if named and set(matrix.choices(row, "noise", experiment)) != {0}:
            found = f"{', '.join(sorted(named))} call no tools in training: their noise is 0, in a row of their own"
            yield (*place, "noise"), found
        branching = [name for name in sorted(algorithms & set(ALGORITHMS)) if make(name, {}).branching(2)]
        if branching and experiment.rl.backend != "engine":
            found = f"{', '.join(branching)} branch, which vLLM cannot; take `rl.backend: engine`"
            yield (*place, "algorithm"), found
        changing = CHANGING.intersection(matrix.choices(row, "reward", experiment))
        if named & set(PIVOTS) and changing:
            others = ", ".join(sorted(changing))
            found = f"turns are profiled once, so their reward cannot change on the way; take another than {others}"
            yield (*place, "reward"), found


def _overrides(experiment: Experiment) -> Iterator[Problem]:
    cells = {cell.name: cell for cell in matrix.expand(experiment)}
    for name, override in experiment.matrix.overrides.items():
        place = ("matrix", "overrides", name)
        if name not in cells:
            yield place, matrix.unknown(name, cells)
        elif override.steps and cells[name].algorithm == SFTLONG:
            yield (*place, "steps"), "its length is in epochs (`pivot.sft_epochs`)"
