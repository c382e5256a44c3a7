"""Mistakes in an experiment file are reported where they stand, with what was expected and the nearest name."""

from pathlib import Path

import pytest
from starlab.config import Experiment
from starlab.errors import StarlabError
from starlab.experiment import load
from starlab.fields import Section

ROOT = Path(__file__).parents[1]


def complaint(tmp_path: Path, text: str) -> str:
    preset = tmp_path / "preset.yaml"
    preset.write_text(text)
    with pytest.raises(StarlabError) as caught:
        load(ROOT / "config.yaml", preset)
    return str(caught.value).replace(f"{tmp_path}/", "").replace(f"{ROOT}/", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seeds: [0]\nrl:\n  stepz: 3\n", "preset.yaml:3: rl.stepz: unknown key; did you mean 'steps'?"),
        ("sed: [1]\n", "preset.yaml:1: sed: unknown key; did you mean 'seeds'?"),
        ("rl: {dapo: {refils: 1}}\n", "preset.yaml:1: rl.dapo.refils: unknown key; did you mean 'refills'?"),
        (
            "data:\n  days: [3, 4]\n",
            "preset.yaml:2: data.days[1]: expected one of 3, 5, 7; got 4; valid: 3, 5, 7",
        ),
        ("rl: {lr: {s: -1.0}}\n", "preset.yaml:1: rl.lr.s: input should be greater than 0; got -1.0"),
        ("rl: {lr: {q: 1.0}}\n", "preset.yaml:1: rl.lr: expected a number for each of s, m, l; got s, m, l, q"),
        (
            "policy: {ladder: {s: {hub: a/b}}}\n",
            "preset.yaml:1: policy.ladder.s: expected either `folder` or `hub`",
        ),
        ("matrix: 3\n", "preset.yaml:1: matrix: expected `key: value` pairs; got 3"),
        (
            "matrix:\n  axes:\n    - {axis: a, mix: mixd}\n",
            "preset.yaml:3: matrix.axes[0].mix[0]: expected one of mixed, easy, medium, hard; got 'mixd';"
            " did you mean 'mixed'?",
        ),
        (
            "matrix: {axes: [{axis: a, reward: sums}]}\n",
            "preset.yaml:1: matrix.axes[0].reward: no reward is called 'sums'; did you mean 'sum'?",
        ),
        (
            "matrix: {overrides: {m-macro-grpo-mixed1000-noise3: {steps: 9}}}\n",
            "preset.yaml:1: matrix.overrides.m-macro-grpo-mixed1000-noise3: no cell of this matrix is called"
            " 'm-macro-grpo-mixed1000-noise3'; did you mean 'm-macro-grpo-mixed1000-noise5'?",
        ),
    ],
)
def test_a_mistake_is_told_with_place_expectation_and_nearest_name(tmp_path: Path, text: str, expected: str) -> None:
    assert complaint(tmp_path, text) == expected


def test_a_mistake_outside_the_preset_is_found_in_the_main_file(tmp_path: Path) -> None:
    told = complaint(tmp_path, "matrix: {held: {scale: xl}}\n")
    assert "config.yaml" in told and "matrix.axes[3].scale: no scale is called 'xl'" in told


@pytest.mark.parametrize("text", ["a: [", "just words\n", "- 1\n"])
def test_what_is_no_mapping_is_told_as_such(tmp_path: Path, text: str) -> None:
    assert complaint(tmp_path, text).startswith("preset.yaml: ")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(StarlabError, match="no such configuration file"):
        load(Path("nowhere.yaml"))


def test_presets_are_laid_over_the_default_key_by_key(tmp_path: Path) -> None:
    preset = tmp_path / "preset.yaml"
    preset.write_text("rl: {steps: 7}\ndata: {panels: {test: 11}}\n")
    plain, laid = load(ROOT / "config.yaml"), load(ROOT / "config.yaml", preset)
    assert (laid.rl.steps, laid.data.panels.test) == (7, 11)
    assert laid.rl.prompts == plain.rl.prompts and laid.data.panels.sft == plain.data.panels.sft


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "presets").glob("*.yaml")))
def test_every_preset_is_valid_and_has_its_own_folder(name: str) -> None:
    experiment = load(ROOT / "config.yaml", ROOT / "presets" / name)
    assert experiment.results == f"results/{name.removesuffix('.yaml')}"


def test_every_field_has_its_sentence() -> None:
    def sections(model: type[Section]) -> set[type[Section]]:
        found = {model}
        for field in model.model_fields.values():
            if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
                found |= sections(field.annotation)
        return found

    for section in sections(Experiment):
        for name, field in section.model_fields.items():
            assert field.description, f"{section.__name__}.{name}"
