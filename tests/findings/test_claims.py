"""claims.yaml: what it says, that it agrees with the paper's tables, and how mistakes in it are reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from starlab import matrix
from starlab.errors import StarlabError
from starlab.experiment import load
from starlab.findings.claims import CLAIMS, load_claims
from starlab.findings.contrast import CELL, Contrast, Kind, factors_of, label_difference, renamed
from starlab.findings.paper import load_paper

CONTRASTS = [
    pytest.param(contrast, id=f"{finding.id}.{contrast.id}")
    for finding in load_claims().findings
    for contrast in finding.contrasts
]


def test_seven_findings_and_four_of_pivotrl_each_with_a_primary_contrast() -> None:
    findings = load_claims().findings
    assert [finding.id for finding in findings] == [f"T{n}" for n in range(1, 8)] + [f"P{n}" for n in range(1, 5)]
    assert {finding.system for finding in findings[:7]} == {"Agent-STAR"}
    assert {finding.system for finding in findings[7:]} == {"PivotRL"}
    assert all(finding.primaries for finding in findings)


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_the_stated_paper_value_follows_from_its_tables(contrast: Contrast) -> None:
    computed = load_paper().contrast(contrast, contrast.metric)
    assert computed == (None if contrast.paper is None else pytest.approx(contrast.paper, abs=1e-9))


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_the_paper_would_support_its_own_claims(contrast: Contrast) -> None:
    if contrast.paper is None:
        assert contrast.paper_note
    elif contrast.kind is Kind.EQUIVALENCE:
        assert abs(contrast.paper) < contrast.margin
    else:
        assert contrast.paper > contrast.threshold


def test_trend_weights_are_a_slope_per_step() -> None:
    (contrast,) = (c for c in load_claims().findings[2].contrasts if c.id == "scale_helps")
    assert [weight for _, weight in contrast.groups[0][0].weights] == [-0.5, 0.5]


def test_labels_name_what_differs() -> None:
    pair = label_difference("m-curriculum-grpo-mixed1000-noise0", "m-curriculum-grpo-easy1000-noise0")
    assert str(pair) == "mixed − easy (m)"


def edited(tmp_path: Path, edit: Callable[[dict], None]) -> Path:
    document = yaml.safe_load(CLAIMS.read_text())
    edit(document)
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def first(document: dict) -> dict:
    return document["findings"][3]["contrasts"][0]  # T4.more_data_helps


def rename(document: dict, name: str) -> None:
    first(document)["weights"] = {name: 1, "m-curriculum-grpo-mixed100-noise0": -1}


MISTAKES: list[tuple[Callable[[dict], None], str]] = [
    (
        lambda d: rename(d, "m-curiculum-grpo-mixed1000-noise0"),
        "T4.more_data_helps.weights.*'curiculum'.*'curriculum'",
    ),
    (
        lambda d: rename(d, "m-curriculum-grpo-mixed10000-noise0"),
        "size of .*'10000' is not known; did you mean '1000'",
    ),
    (lambda d: rename(d, "sft-xl"), "scale of 'sft-xl'"),
    (lambda d: rename(d, "best one"), "'best one' is not a cell name"),
    (lambda d: first(d).update(kind="diference"), "T4.more_data_helps.kind: 'diference'.*'difference'"),
    (lambda d: first(d).update(metric="test.greedy"), "T4.more_data_helps.metric"),
    (lambda d: first(d).update(metric="test.gredy.success"), "'gredy'.*'greedy'"),
    (lambda d: first(d).update(margin="two"), "T4.more_data_helps.margin: expected a number"),
    (lambda d: first(d).update(margin=-1), "T4.more_data_helps.margin"),
    (lambda d: first(d).update(marginn=1), "unknown field 'marginn'; did you mean 'margin'"),
    (lambda d: first(d).pop("reason"), "T4.more_data_helps: field 'reason' is missing"),
    (lambda d: first(d).update(primary="yes"), "primary: expected true or false"),
    (lambda d: first(d)["weights"].update({"sft-m": 1}), "weights must sum to zero"),
    (lambda d: first(d).update(kind="ordering", form="chain"), "needs the field 'groups'"),
    (lambda d: first(d).update(id="plateau"), "two entries are called 'plateau'"),
    (
        lambda d: d["findings"][3].update(contrasts=[{**first(d), "primary": False}]),
        "T4: no contrast is primary",
    ),
    (lambda d: d.pop("factors"), "field 'factors' is missing"),
]


@pytest.mark.parametrize(("edit", "message"), MISTAKES)
def test_a_mistake_is_reported_with_claim_field_and_nearest_name(
    tmp_path: Path, edit: Callable[[dict], None], message: str
) -> None:
    with pytest.raises(StarlabError, match=message):
        load_claims(edited(tmp_path, edit))


def test_every_claim_is_about_cells_of_the_default_matrix() -> None:
    """All but the 20 % tool failures, which go beyond the paper and are said to be not run."""
    matrix_cells = {cell.name for cell in matrix.expand(load(Path(__file__).parents[2] / "config.yaml"))}
    named = {cell for cell in load_claims().cells if CELL.fullmatch(cell)}
    assert {cell for cell in named - matrix_cells if not cell.endswith("noise20")} == set()
    assert matrix_cells <= named


def test_cells_outside_a_known_matrix_are_refused() -> None:
    known = {cell for cell in load_claims().cells if CELL.fullmatch(cell)}
    load_claims(known_cells=known)
    with pytest.raises(StarlabError, match="is not a cell of the matrix; did you mean"):
        load_claims(known_cells=known - {"m-macro-grpo-mixed1000-noise5"})


def test_an_experiment_may_call_the_scales_otherwise() -> None:
    scales = {"s": "1.5b", "m": "3b", "l": "7b"}
    claims, plain = load_claims(scales=scales), load_claims()
    assert claims.cells[:3] == tuple(renamed(cell, scales) for cell in plain.cells[:3])
    assert {factors_of(cell)["scale"] for cell in claims.cells} == {"1.5b", "3b", "7b"}
    assert claims.sha256 == plain.sha256
    score = load_paper().renamed(scales).score("7b-sum-grpo-mixed1000-noise0", claims.findings[0].contrasts[0].metric)
    assert score == pytest.approx(0.628)
    assert renamed("sft-m", scales) == "sft-3b" and renamed("sft-m", {}) == "sft-m"
    with pytest.raises(StarlabError, match=r"findings\.scales of the experiment: 'x' is not known"):
        load_claims(scales={"x": "3b"})


def test_unreadable_files_are_one_message(tmp_path: Path) -> None:
    with pytest.raises(StarlabError, match="cannot be read"):
        load_claims(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("findings: [")
    with pytest.raises(StarlabError, match="not valid YAML"):
        load_claims(tmp_path / "bad.yaml")
