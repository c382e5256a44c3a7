"""Mistakes in an experiment file are reported where they stand, with what was expected and the nearest name."""

from pathlib import Path

import pytest
from starlab.config import Data, Evaluation, Experiment, Panels, Rl, Sft, Teacher, World
from starlab.errors import StarlabError
from starlab.evaluation.run import Settings
from starlab.experiment import load
from starlab.fields import Section, per_scale, reference
from starlab.synthesis.balance import SynthesisSpec
from starlab.synthesis.rejection import TeachingSpec
from starlab.training.rl import RlSpec
from starlab.training.sft import SftSpec
from starlab.travel.miniature import MiniatureSpec

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
        ("seeds: [0, 0]\n", "preset.yaml:1: seeds: each seed once; got 0, 0"),
        (
            "data: {days: []}\n",
            "preset.yaml:1: data.days: tuple should have at least 1 item after validation, not 0; got []",
        ),
        ("data: {days: [3, 3]}\n", "preset.yaml:1: data.days: each length once; got 3, 3"),
        (
            "rl:\n  minibatches: 3\n",
            "preset.yaml:2: rl.minibatches: expected a divisor of prompts x group = 64; got 3",
        ),
        (
            "rl: {max_tokens: 50}\n",
            "preset.yaml:1: rl.max_tokens: expected more than the 256 tokens that one turn may have; got 50",
        ),
        ("world: {hotels: 60}\n", "preset.yaml:1: world.hotels: expected at most 48, as many as have names; got 60"),
        ("world: {dates: 30}\n", "preset.yaml:1: world.dates: expected at most 18, as many as have names; got 30"),
        (
            "world: {cities_per_state: 7}\n",
            "preset.yaml:1: world.cities_per_state: there are names for 60 cities; got 10 states x 7",
        ),
        (
            "findings: {scales: {s: xs}}\n",
            "preset.yaml:1: findings.scales.s: no scale is called 'xs'; did you mean 's'?",
        ),
        (
            "rl: {backend: vllm_server}\nmatrix:\n  axes:\n    - {axis: a, algorithm: arpo}\n",
            "preset.yaml:4: matrix.axes[0].algorithm: arpo branch, which vLLM cannot; take `rl.backend: engine`",
        ),
        (
            "matrix:\n  overrides:\n    m-macro-sftlong-mixed1000-noise0: {steps: 9}\n",
            "preset.yaml:3: matrix.overrides.m-macro-sftlong-mixed1000-noise0.steps:"
            " its length is in epochs (`pivot.sft_epochs`)",
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


@pytest.mark.parametrize(
    ("section", "spec"),
    [
        (Rl(), RlSpec(seed=0)),
        (Sft(), SftSpec(seed=0)),
        (Teacher(), TeachingSpec()),
        (Data(), SynthesisSpec()),
        (Panels(), SynthesisSpec()),
        (World(), MiniatureSpec()),
        (Evaluation(), Settings()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_default_is_the_same_in_the_file_and_in_the_code(section: Section, spec: object) -> None:
    shared = [name for name in type(section).model_fields if hasattr(spec, name) and name != "lora"]
    assert shared
    for name in shared:
        ours, theirs = getattr(section, name), getattr(spec, name)
        assert (per_scale(ours, "m") if name == "lr" else ours) == theirs, name


def test_every_field_has_its_sentence() -> None:
    told = {path: meaning for path, _, meaning in reference(Experiment)}
    assert all(told.values()), [path for path, meaning in told.items() if not meaning]
    wanted = ("policy.ladder.NAME.lora.rank", "matrix.axes.N.noise", "matrix.overrides.NAME.steps", "rl.dapo.refills")
    assert set(wanted) <= set(told), "also what stands in lists and under names"
