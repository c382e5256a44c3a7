"""33 cells, each once, and two cells of an axis differ in that axis alone."""

from itertools import combinations, product
from pathlib import Path

import pytest
from starlab import matrix
from starlab.config import Experiment
from starlab.errors import StarlabError
from starlab.experiment import load, validate
from starlab.findings.contrast import factors_of

ROOT = Path(__file__).parents[1]

SETTINGS_OF = {
    "scale": {"scale", "lr", "lora"},
    "reward": {"reward"},
    "algorithm": {
        "algorithm",
        *("refills", "overlong_share"),
        *("initial_share", "branch_probability", "entropy_weight", "probe_tokens", "attribution"),
        # single turns come from the demonstrations and run no tools
        *("queries", "noise", "fault_kind", "backend", "max_calls"),
        *("prompts", "candidates", "mean_below", "beta", "lr"),
    },
    "mix": {"queries"},
    "size": {"queries"},
    "noise": {"noise"},
}
"""The settings that each factor may move."""


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return load(ROOT / "config.yaml")


def paper_cells() -> set[str]:
    """The table of the design, spelled out."""
    held = "grpo-mixed1000-noise0"
    rewards = {f"{s}-{r}-{held}" for s, r in product("sml", ("sum", "macro", "success", "curriculum"))}
    base = {"s": "macro", "m": "macro", "l": "sum"}
    algorithms = {f"{s}-{base[s]}-{a}-mixed1000-noise0" for s, a in product("sml", ("dapo", "arpo"))}
    amounts = {f"m-curriculum-grpo-mixed{n}-noise0" for n in (100, 200, 500, 2000)}
    difficulties = {f"m-curriculum-grpo-{mix}1000-noise0" for mix in ("easy", "medium", "hard")}
    noises = {f"m-macro-grpo-mixed1000-noise{n}" for n in (1, 2, 5, 10)}
    return rewards | algorithms | amounts | difficulties | noises


BEYOND = {f"m-macro-{name}-mixed1000-noise0" for name in ("pivot", "pivotall", "pivotstrict", "sftlong")}


def test_the_default_matrix_is_the_paper_s_and_pivotrl_s(experiment: Experiment) -> None:
    cells = matrix.expand(experiment)
    assert [cell.name for cell in cells if cell.name not in paper_cells() | BEYOND] == []
    assert len(cells) == len({cell.name for cell in cells}) == len(paper_cells()) + 4 == 33


def test_references_are_base_and_sft_of_each_scale(experiment: Experiment) -> None:
    assert set(matrix.references(experiment)) == {f"{kind}-{s}" for kind in ("base", "sft") for s in "sml"}


def test_axes_share_cells(experiment: Experiment) -> None:
    cells = {cell.name: cell for cell in matrix.expand(experiment)}
    assert cells["m-macro-grpo-mixed1000-noise0"].axes == ("reward", "algorithm", "noise", "pivot")
    assert cells["m-curriculum-grpo-mixed1000-noise0"].axes == ("reward", "amount", "difficulty")


def test_a_name_spells_every_factor_of_its_cell(experiment: Experiment) -> None:
    for cell in matrix.expand(experiment):
        assert factors_of(cell.name) == {name: str(value) for name, value in cell.factors().items()}


@pytest.mark.parametrize(
    "name", ["", "m-macro-grpo-mixed1000", "m-macro-grpo-mixed-noise0", "m/macro-grpo-mixed1-noise0"]
)
def test_what_is_no_cell_name_is_refused(name: str) -> None:
    with pytest.raises(StarlabError, match="is not the name of a cell"):
        factors_of(name)


def test_an_unknown_cell_ends_in_the_nearest_one(experiment: Experiment) -> None:
    with pytest.raises(StarlabError, match="did you mean 'm-macro-grpo-mixed1000-noise5'"):
        matrix.find(matrix.expand(experiment), "m-macro-grpo-mixed1000-noise4")


def test_cells_that_differ_in_one_factor_differ_in_its_settings_alone(experiment: Experiment) -> None:
    compared = 0
    for first, second in combinations(matrix.expand(experiment), 2):
        factors = matrix.differing_factors(first, second)
        if set(first.axes) & set(second.axes) and len(factors) == 1:
            if "sftlong" in (first.algorithm, second.algorithm):
                continue  # supervised: it shares no setting of reinforcement learning
            compared += 1
            moved = set(matrix.diff(experiment, first, second))
            assert moved and moved <= SETTINGS_OF[factors[0]], (first.name, second.name, moved)
    assert compared > 40


def test_every_cell_of_an_axis_has_a_neighbour_one_factor_away(experiment: Experiment) -> None:
    cells = matrix.expand(experiment)
    for cell in cells:
        for axis in cell.axes:
            others = [other for other in cells if axis in other.axes]
            assert any(len(matrix.differing_factors(cell, other)) == 1 for other in others), (cell.name, axis)


def test_an_override_reaches_its_own_cell_only(experiment: Experiment) -> None:
    name = "m-macro-grpo-mixed1000-noise5"
    changed = experiment.model_dump()
    changed["matrix"]["overrides"] = {name: {"lr": 1.0e-5, "steps": 3}}
    other = validate(changed)
    for cell in matrix.expand(experiment):
        before, after = matrix.settings(experiment, cell), matrix.settings(other, cell)
        assert (before != after) == (cell.name == name)
    cell = matrix.find(matrix.expand(experiment), name)
    assert matrix.settings(other, cell) == matrix.settings(experiment, cell) | {"lr": 1.0e-5, "steps": 3}


def test_an_algorithm_s_own_settings_reach_its_cells_only(experiment: Experiment) -> None:
    changed = experiment.model_dump()
    changed["rl"]["dapo"]["refills"] = 9
    other = validate(changed)
    for cell in matrix.expand(experiment):
        moved = matrix.settings(experiment, cell) != matrix.settings(other, cell)
        assert moved == (cell.algorithm == "dapo")


def test_pivot_settings_reach_the_cells_on_demonstrations_only(experiment: Experiment) -> None:
    names = {"samples": set(), "mean_below": {"pivot", "pivotstrict"}, "beta": {"pivot", "pivotall", "pivotstrict"}}
    for field, reached in {**names, "sft_epochs": {"sftlong"}, "prompts": names["beta"]}.items():
        changed = experiment.model_dump()
        changed["pivot"][field] = {"mean_below": 0.5}.get(field, 3)
        other = validate(changed)
        moved = {
            cell.algorithm
            for cell in matrix.expand(experiment)
            if matrix.settings(experiment, cell) != matrix.settings(other, cell)
        }
        assert moved == reached, field


def test_the_ablations_of_pivot_differ_from_it_in_one_thing_each(experiment: Experiment) -> None:
    pivot, everything, calls, strict = (
        matrix.Cell("m", "macro", name, "mixed", 1000, 0) for name in ("pivot", "pivotall", "pivotcalls", "pivotstrict")
    )
    assert set(matrix.diff(experiment, pivot, everything)) == {"algorithm", "mean_below"}
    assert set(matrix.diff(experiment, pivot, calls)) == {"algorithm"}
    assert set(matrix.diff(experiment, pivot, strict)) == {"algorithm"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"algorithm": ["grpo", "pivot"], "noise": [0, 5]}, "pivot call no tools in training: their noise is 0"),
        ({"algorithm": "pivotall", "reward": ["macro", "curriculum"]}, "take another than curriculum"),
        ({"algorithm": "pivot", "reward": "adaptive"}, "take another than adaptive"),
    ],
)
def test_what_single_turns_cannot_have_is_refused(experiment: Experiment, row: dict, message: str) -> None:
    changed = experiment.model_dump(exclude_none=True)
    changed["matrix"]["axes"] = [{"axis": "pivot", **row}]
    with pytest.raises(StarlabError, match=message):
        validate(changed)


def test_settings_are_plain_values(experiment: Experiment) -> None:
    def plain(value: object) -> bool:
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(item) for key, item in value.items())
        return value is None or isinstance(value, str | int | float | bool)

    assert all(plain(matrix.settings(experiment, cell)) for cell in matrix.expand(experiment))
