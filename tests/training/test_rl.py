"""Runs from end to end: learning, determinism, resuming, adapters."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from starlab.errors import StarlabError
from starlab.training import metrics
from starlab.training.arguments import trainer_arguments
from starlab.training.progress import COSTS, NOTHING_BEFORE
from starlab.training.rl import LoraSpec, RlSpec, train_rl
from starlab.training.sft import continue_sft, train_sft

RL = RlSpec(
    seed=3,
    reward="success",
    steps=5,
    prompts=3,
    group=4,
    lr=3e-3,
    max_tokens=120,
    max_turn_tokens=30,
    save_every=2,
)


def weights(folder) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


class Kill(KeyboardInterrupt):
    pass


def killed_after(step: int):
    def log(now, numbers):
        if now == step:
            raise Kill

    return log


@pytest.fixture(scope="module")
def finished(start, tasks, tmp_path_factory):
    """An uninterrupted run, and what its log heard."""
    folder, heard = tmp_path_factory.mktemp("rl"), []
    train_rl(RL, tasks, start, folder, lambda step, numbers: heard.append((step, numbers)))
    return folder, heard


def test_the_policy_learns(start, tasks, tmp_path):
    train_rl(replace(RL, steps=15, prompts=4, group=8, lr=5e-3), tasks, start, tmp_path)
    success = [row["success"] for row in lines(tmp_path)]
    assert 0.2 < success[0] < 0.8
    assert sum(success[-4:]) / 4 > 0.85


def test_artifacts_and_metrics(finished):
    folder, heard = finished
    rows = lines(folder)
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
    assert set(rows[0]) == {"step", *metrics.RL}
    assert heard == [(row.pop("step"), row) for row in lines(folder)]
    assert rows[-1]["total_episodes"] == 60 and rows[0]["episodes"] == 12
    assert all(row["reward"] == row["success"] for row in rows)
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        assert (folder / name).is_file()
    summary = json.loads((folder / "train.json").read_text())
    assert summary["step"] == 5 and summary["spec"]["reward"] == "success"


@pytest.mark.parametrize("step", [1, 4, 5])
def test_a_killed_run_resumes_to_the_same_bytes(finished, start, tasks, tmp_path, step):
    """Killed before the first checkpoint, between two, and after the last step."""
    with pytest.raises(Kill):
        train_rl(RL, tasks, start, tmp_path, killed_after(step))
    assert not (tmp_path / "model.safetensors").exists()
    summary = train_rl(RL, tasks, start, tmp_path)
    assert summary["resumed_at"] == {1: 0, 4: 2, 5: 4}[step]
    assert weights(tmp_path) == weights(finished[0])
    timeless = [{k: v for k, v in row.items() if not k.endswith("seconds")} for row in lines(tmp_path)]
    assert timeless == [{k: v for k, v in row.items() if not k.endswith("seconds")} for row in lines(finished[0])]


def test_a_finished_run_writes_its_outputs_again(finished, start, tasks):
    folder, _ = finished
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for name in before:
        (folder / name).unlink()
    now = time.time()
    train_rl(RL, tasks, start, folder, alarm=None)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    assert all((folder / name).stat().st_mtime >= now - 1 for name in before), "newer than what they were made from"


def test_the_rate_falls_over_the_share_of_the_steps_that_is_asked_for(finished, start, tasks, tmp_path):
    assert {row["lr"] for row in lines(finished[0])} == {RL.lr}, "constant by default"
    train_rl(replace(RL, decay=0.4, steps=10, prompts=1), tasks, start, tmp_path)
    # two updates a step: the last 8 of 20 fall by an eighth each, and a row tells the rate of its last update
    eighths = [8, 8, 8, 8, 8, 8, 7, 5, 3, 1]
    assert [row["lr"] for row in lines(tmp_path)] == pytest.approx([RL.lr * share / 8 for share in eighths])


def test_another_seed_is_another_run(finished, start, tasks, tmp_path):
    train_rl(replace(RL, seed=4), tasks, start, tmp_path)
    assert weights(tmp_path) != weights(finished[0])


def test_dapo_draws_again_and_resumes(start, tasks, tmp_path):
    spec = replace(RL, algorithm="dapo", settings={"refills": 2}, steps=3, save_every=1, group=2)
    train_rl(spec, tasks, start, tmp_path / "whole")
    rows = lines(tmp_path / "whole")
    assert sum(row["discarded_groups"] for row in rows) > 0
    assert all(row["episodes"] == 2 * (3 + row["discarded_groups"]) or row["unfilled_groups"] for row in rows)
    with pytest.raises(Kill):
        train_rl(spec, tasks, start, tmp_path / "killed", killed_after(2))
    train_rl(spec, tasks, start, tmp_path / "killed")
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")


def test_faults_are_injected_and_counted(start, tasks, tmp_path):
    train_rl(replace(RL, steps=1, noise=1.0), tasks, start, tmp_path)
    assert lines(tmp_path)[0]["call_failures"] == 1.0


def test_adapters_are_trained_and_merged(start, tasks, tmp_path):
    from starlab.training.checkpoints import load_model

    train_rl(replace(RL, steps=2, lr=1e-2, lora=LoraSpec(rank=4)), tasks, start, tmp_path)
    model, _ = load_model(tmp_path)
    before, _ = load_model(start)
    assert set(model.state_dict()) == set(before.state_dict())
    changed = {n for n, p in model.named_parameters() if not p.equal(before.get_parameter(n))}
    assert "model.layers.0.self_attn.q_proj.weight" in changed
    assert "model.embed_tokens.weight" not in changed


def test_settings_are_checked_before_anything_runs(start, tasks, tmp_path):
    with pytest.raises(StarlabError, match="does not divide"):
        replace(RL, minibatches=5)
    with pytest.raises(StarlabError, match="unknown 'sucess'"):
        replace(RL, reward="sucess")
    with pytest.raises(StarlabError, match="no training queries"):
        train_rl(RL, [], start, tmp_path)


def test_sft_teaches_the_protocol_and_resumes_to_the_same_bytes(start, base, trajectories, sft_spec, tmp_path):
    rows = lines(start)
    assert set(rows[0]) == {"step", *metrics.SFT}
    assert rows[-1]["loss"] < 0.5 < rows[0]["loss"]
    with pytest.raises(Kill):
        train_sft(sft_spec, trajectories, base, tmp_path, killed_after(30))
    assert train_sft(sft_spec, trajectories, base, tmp_path)["resumed_at"] == 20
    assert weights(tmp_path) == weights(start)


def test_more_sft_as_a_cell_counts_its_cost_as_a_run_does(start, trajectories, sft_spec, tmp_path):
    continue_sft(replace(sft_spec, epochs=2.0), trajectories, start, tmp_path)
    compute = json.loads((tmp_path / "train.json").read_text())["compute"]
    assert compute.keys() == {*COSTS, *NOTHING_BEFORE}
    assert compute["train_processor_seconds"] > 0 and compute["train_turns"] == 0, "nothing was sampled"
    assert (tmp_path / "progress.jsonl").read_text() == "", "and nothing measured on the way"


@pytest.mark.parametrize("algorithm", ["arpo", "arpo_random"])
def test_arpo_runs_and_counts_its_branches(start, tasks, tmp_path, algorithm):
    spec = replace(RL, algorithm=algorithm, settings={"attribution": "hard", "branch_probability": 1.0}, steps=2)
    train_rl(spec, tasks, start, tmp_path)
    for row in lines(tmp_path):
        assert row["episodes"] == 12
        assert 0 < row["branches"] <= 6
        assert row["generated_tokens"] < row["sampled_tokens"] * 12


def test_vllm_is_asked_for_through_the_trainer(tmp_path):
    spec = replace(RL, backend="vllm_server")
    arguments = trainer_arguments(spec, spec.build_algorithm(), tmp_path)
    assert (arguments.use_vllm, arguments.vllm_mode, arguments.vllm_max_model_length) == (True, "server", 120)
    assert not trainer_arguments(RL, RL.build_algorithm(), tmp_path).use_vllm
    with pytest.raises(StarlabError, match=r"rl\.backend: unknown 'vlm_server'; did you mean 'vllm_server'"):
        replace(RL, backend="vlm_server")
    with pytest.raises(StarlabError, match=r"rl\.backend: arpo branches"):
        replace(RL, algorithm="arpo", backend="vllm_server")
