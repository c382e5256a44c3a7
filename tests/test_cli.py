"""The command line: what the matrix is, what differs, why a plan fails; fast, and with one message when wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from starlab.cli import main
from starlab.runs import Run, cell_folder

ROOT = Path(__file__).parents[1]
CELL = "m-macro-grpo-mixed1000-noise5"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder of its own, with the default experiment and no results."""
    (tmp_path / "config.yaml").write_bytes((ROOT / "config.yaml").read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cells(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    assert main(["cells", "--json"]) == 0
    return {record["cell"]: record for record in json.loads(capsys.readouterr().out)}


def test_cells_are_listed_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    found = cells(capsys)
    assert len(found) == 33
    assert found[CELL] == {
        "cell": CELL,
        "scale": "m",
        "reward": "macro",
        "algorithm": "grpo",
        "mix": "mixed",
        "size": 1000,
        "noise": 5,
        "axes": ["noise"],
        "state": "missing",
        "seeds": [0, 1, 2],
        "seeds_done": [],
    }


def test_a_cell_s_state_follows_its_runs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [cell_folder(project / "results", CELL, seed) for seed in (0, 1, 2)]
    folders[0].claim(Run(CELL, "rl", 0, {}))
    assert cells(capsys)[CELL]["state"] == "running"
    for folder in folders:
        folder.path.mkdir(parents=True, exist_ok=True)
        assert cells(capsys)[CELL]["state"] != "done"
        (folder.path / "evaluation.json").write_text("{}")
    assert cells(capsys)[CELL]["state"] == "done"
    assert cells(capsys)[CELL]["seeds_done"] == [0, 1, 2]


def test_cells_are_listed_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cells"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 35 and lines[-1].startswith("33 cells x 3 seeds:")


def test_a_preset_is_laid_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cells", "--configfile", str(ROOT / "presets/smoke.yaml")]) == 0
    assert "cells x 1 seeds" in capsys.readouterr().out


def test_every_setting_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 0
    told = capsys.readouterr().out
    assert "rl:\n" in told and "  steps: 80\n      # Gradient steps, the same for every cell.\n" in told


def test_what_differs_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "m-macro-grpo-mixed1000-noise0", CELL]) == 0
    assert capsys.readouterr().out == "noise: 0.0 -> 0.05\nfactors that differ: noise\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["diff", CELL, CELL + "0"], f"did you mean '{CELL}'?"),
        (["cells", "--configfile", "nowhere.yaml"], "nowhere.yaml: no such configuration file"),
        (["ui"], "is not there yet; it is made by the first run"),
        (
            ["explain", "nowhere.json", "--query", "q.json", "--database", "d"],
            "nowhere.json: cannot read the plan",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_message(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 1
    told = capsys.readouterr().err
    assert told.startswith("starlab: ") and message in told and told.count("\n") == 1


def test_outside_a_project_the_way_in_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert main(["cells"]) == 1
    assert "run starlab in the folder of the project" in capsys.readouterr().err


def test_power_tells_that_nothing_was_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "workflow").symlink_to(ROOT / "workflow")
    assert main(["power"]) == 0
    told = capsys.readouterr().out
    assert told.count("not run") == 11 and "no contrast waits for more seeds" in told


def test_a_plan_is_explained(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from starlab.synthesis.balance import Synthesis, SynthesisSpec
    from starlab.travel.miniature import MiniatureSpec, generate
    from starlab.travel.plan import render

    world = generate(3, "training", MiniatureSpec(states=4, cities_per_state=4, dates=8))
    (solved, *_) = Synthesis(world, world, SynthesisSpec(test=1)).make("test").queries
    world.save(project / "world")
    (project / "query.json").write_text(json.dumps(solved.query.to_dict()))
    (project / "plan.json").write_text(render(solved.witness))
    words = ["explain", "plan.json", "--query", "query.json", "--database", "world"]
    assert main(words) == 0
    good = capsys.readouterr().out
    (project / "plan.json").write_text("no plan")
    assert main(words) == 0
    bad = capsys.readouterr().out
    assert solved.query.id in good and "FAILS" not in good and good != bad


def test_the_command_starts_without_torch_mlflow_or_pandas() -> None:
    code = "import sys; from starlab.cli import main; main(['cells']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"torch", "transformers", "mlflow", "pandas", "matplotlib"} & set(done.stderr.split())
