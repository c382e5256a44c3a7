"""Runs on single turns: learning, the filter, accounting, resuming, the KL term."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from starlab.errors import StarlabError
from starlab.pivot import verifiers
from starlab.pivot.collector import TurnCollector
from starlab.pivot.profiling import Profile, load, pivots, profile, save
from starlab.pivot.training import PivotSpec, train_pivot
from starlab.pivot.turns import TurnEngine
from starlab.policy.ladder import Architecture, build_model
from starlab.protocol import IM_END
from starlab.rollout.episode import Decoding
from starlab.training import checkpoints, metrics
from starlab.training.sft import SftSpec, train_sft
from yes import YesTask, dialogue, turns, verify

SPEC = PivotSpec.of(
    "pivot", seed=3, mean_below=0.9, beta=0.0, reward="success", steps=4, prompts=3, group=4, lr=3e-3,
    max_tokens=120, max_turn_tokens=30, save_every=2,
)  # fmt: skip


def weights(folder) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def lines(folder, name="metrics.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def timeless(rows):
    return [{key: value for key, value in row.items() if not key.endswith("seconds")} for row in rows]


@pytest.fixture(scope="module", autouse=True)
def simple_verifier():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verifiers, "find", lambda name, reward: verify)
        yield


@pytest.fixture(scope="module")
def start(tokenizer, tmp_path_factory):
    """Folder of a policy that knows the protocol and guesses the answer."""
    torch.set_num_threads(1)
    base, folder = tmp_path_factory.mktemp("base"), tmp_path_factory.mktemp("sft")
    shape = Architecture(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=16, intermediate=64)
    checkpoints.save_model(build_model(shape, tokenizer, seed=0), tokenizer, base)
    path = base / "trajectories.jsonl"
    rows = [{"messages": dialogue(YesTask(str(i % 6)), str(i // 6 % 2))} for i in range(48)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    train_sft(SftSpec(seed=0, replay=0.0, epochs=25.0, lr=1e-2, batch=16, save_every=1000), path, base, folder)
    return folder


@pytest.fixture(scope="module")
def states(tokenizer):
    return turns(tokenizer)


@pytest.fixture(scope="module")
def engine(start):
    return TurnEngine(*checkpoints.load_model(start), 30, 120)


@pytest.fixture(scope="module")
def profiled(engine, states):
    return profile(engine, states, 8, Decoding(0.7), seed=3)


@pytest.fixture(scope="module")
def finished(start, states, profiled, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pivot")
    return folder, train_pivot(SPEC, states, profiled, start, folder)


def test_an_episode_is_one_turn_from_the_stored_prefix(engine, states):
    for turn, episode in zip(states, engine.sample([(turn, 1, 0) for turn in states], Decoding(0.0), 0), strict=True):
        assert tuple(episode.prompt_ids) == turn.candidate.prefix_ids
        assert len(episode.completion_ids) == len(episode.mask) == sum(episode.mask)
        assert episode.completion_ids[-1] == engine.end_id and engine.end_id not in episode.completion_ids[:-1]
        assert engine.tokenizer.decode(episode.completion_ids) == engine.text(episode) + IM_END


def test_a_turn_that_is_cut_off_has_no_text(start, states):
    engine = TurnEngine(*checkpoints.load_model(start), 2, 120)
    (episode,) = engine.sample([(states[0], 1, 0)], Decoding(0.0), 0)
    assert engine.text(episode) is None


def test_a_prefix_without_room_is_named(start, states):
    engine = TurnEngine(*checkpoints.load_model(start), 30, 4)
    with pytest.raises(StarlabError, match="max_tokens: 4 leaves no room"):
        engine.sample([(states[0], 1, 0)], Decoding(0.0), 0)


def test_a_profile_counts_k_samples_of_each_state_and_is_a_function_of_its_seed(engine, states, profiled):
    assert {sum(samples.values()) for samples in profiled.samples.values()} == {8}
    assert set(profiled.samples) == {turn.id for turn in states}
    assert profiled.turns == 8 * len(states) and profiled.tokens > profiled.turns
    assert profile(engine, states, 8, Decoding(0.7), seed=3) == profiled
    assert profile(engine, states, 8, Decoding(0.7), seed=4) != profiled


def test_a_profile_is_the_same_whatever_else_is_profiled(engine, states, profiled):
    alone = profile(engine, states[3:5], 8, Decoding(0.7), seed=3)
    assert all(profiled.samples[name] == samples for name, samples in alone.samples.items())


def test_the_filter_keeps_the_guessed_answers(states, profiled):
    """Calls always succeed, answers are right half of the time."""
    kept = pivots(states, profiled.statistics(states, verify), 0.9)
    assert kept and {turn.candidate.action for turn in kept} == {"answer"}
    with pytest.raises(StarlabError, match="mean_below: of 12 profiled turns none"):
        pivots(states, profiled.statistics(states, verify), 0.0)


def test_a_profile_is_read_as_it_was_saved(profiled, tmp_path):
    path = tmp_path / "profile.jsonl"
    cut = Profile({**profiled.samples, "q/0": {None: 3, "ü": 5}}, profiled.turns, profiled.tokens)
    save(cut, path)
    assert load(path) == cut


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "not a profile"), ("{}\n", "not a profile"), ('{"turns": 1, "tokens": 2}\n{', ":2: not JSON")],
)
def test_a_damaged_profile_is_one_message(tmp_path, text, message):
    path = tmp_path / "profile.jsonl"
    path.write_text(text)
    with pytest.raises(StarlabError, match=message):
        load(path)
    with pytest.raises(StarlabError, match="cannot be read"):
        load(tmp_path / "none.jsonl")


def test_a_state_that_was_not_profiled_is_named(states, profiled):
    with pytest.raises(StarlabError, match="is not in the profile"):
        Profile({}, 0, 0).rewards(states, verify)


def test_the_policy_learns_the_answer(start, states, profiled, tmp_path):
    spec = replace(SPEC, rl=replace(SPEC.rl, steps=12, group=8, lr=5e-3))
    train_pivot(spec, states, profiled, start, tmp_path)
    rewards = [row["reward"] for row in lines(tmp_path)]
    assert rewards[0] < 0.8 and sum(rewards[-3:]) / 3 > 0.85


def test_artifacts_metrics_and_what_it_cost(finished, profiled):
    folder, summary = finished
    rows = lines(folder)
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert set(rows[0]) <= {"step", *metrics.STEP} and "kl" not in rows[0]
    assert rows[-1]["rollout_turns"] == 12 and rows[-1]["answers"] == 1.0
    compute = summary["compute"]
    assert compute["train_turns"] == 4 * 3 * 4  # steps x states x group: one turn per rollout
    assert compute["profile_turns"] == profiled.turns and compute["profile_tokens"] == profiled.tokens
    assert compute["generated_tokens"] == sum(row["generated_tokens"] for row in rows)
    assert compute["train_seconds"] > 0 and compute["train_processor_seconds"] > 0
    assert json.loads((folder / "train.json").read_text()) == json.loads(json.dumps(summary))


def test_the_paper_s_turns_add_up():
    """64 states x 16 samples x 130 steps: one turn each."""
    assert 64 * 16 * 130 == 133_120


def test_without_the_filter_every_state_is_trained_on_and_nothing_was_profiled(start, states, tmp_path):
    spec = replace(SPEC, filtered=False, rl=replace(SPEC.rl, steps=1, prompts=12))
    summary = train_pivot(spec, states, None, start, tmp_path)
    assert lines(tmp_path)[0]["answers"] == 0.5
    assert summary["compute"]["profile_turns"] == 0


def test_the_filter_needs_a_profile(start, states, tmp_path):
    with pytest.raises(StarlabError, match="needs a profile"):
        train_pivot(SPEC, states, None, start, tmp_path)


class Kill(KeyboardInterrupt):
    pass


@pytest.mark.parametrize("step", [1, 3])
def test_a_killed_run_resumes_to_the_same_bytes(finished, start, states, profiled, tmp_path, step):
    def log(now, numbers):
        if now == step and "reward" in numbers:
            raise Kill

    spec = replace(SPEC, rl=replace(SPEC.rl, probe_every=1))
    with pytest.raises(Kill):
        train_pivot(spec, states, profiled, start, tmp_path, log, measure=lambda model, tokenizer: {})
    summary = train_pivot(spec, states, profiled, start, tmp_path, measure=lambda model, tokenizer: {})
    assert [row["step"] for row in lines(tmp_path, "progress.jsonl")] == [0, 1, 2, 3, 4]
    assert summary["resumed_at"] == {1: 0, 3: 2}[step]
    assert weights(tmp_path) == weights(finished[0])
    assert timeless(lines(tmp_path)) == timeless(lines(finished[0]))
    assert summary["compute"]["train_turns"] == finished[1]["compute"]["train_turns"]


def test_measuring_while_training_changes_nothing(finished, start, states, profiled, tmp_path):
    heard = []

    def measure(model, tokenizer):
        turn = TurnEngine(model, tokenizer, 30, 120).sample([(states[1], 1, 0)], Decoding(0.0), 0)[0]
        return {"validation/greedy/success": float("1" in tokenizer.decode(turn.completion_ids))}

    spec = replace(SPEC, rl=replace(SPEC.rl, probe_every=3))
    train_pivot(spec, states, profiled, start, tmp_path, lambda step, row: heard.append((step, row)), measure=measure)
    rows = lines(tmp_path, "progress.jsonl")
    assert [row["step"] for row in rows] == [0, 3, 4]
    assert [row["train_turns"] for row in rows] == [0, 36, 48]
    assert [step for step, row in heard if "validation/greedy/success" in row] == [0, 3, 4]
    assert weights(tmp_path) == weights(finished[0])


def certain(start, states, tmp_path, beta: float, steps: int = 1, lr: float = 3e-3):
    """Train on states whose turns all get the same reward; returns (weights before, weights after, rows)."""
    calls = [turn for turn in states if turn.candidate.action != "answer"]
    spec = PivotSpec.of(
        "pivotall", seed=3, mean_below=0.6, beta=beta, reward="success", steps=steps, prompts=3, group=4, lr=lr,
        max_tokens=120, max_turn_tokens=30, temperature=0.7,
    )  # fmt: skip
    train_pivot(spec, calls, None, start, tmp_path)
    before, after = (checkpoints.load_model(folder)[0].state_dict() for folder in (start, tmp_path))
    return before, after, lines(tmp_path)


def test_alike_rewards_move_nothing_without_a_kl_term(start, states, tmp_path):
    before, after, rows = certain(start, states, tmp_path, beta=0.0)
    assert rows[0]["zero_spread"] == 1.0 and rows[0]["grad_norm"] == 0.0
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_the_kl_term_is_to_the_policy_that_training_started_from(start, states, profiled, tmp_path):
    """At the first update the policy is pi_0: no divergence. Later there is one, and a strong term holds it down."""

    def divergence(beta: float) -> list[float]:
        folder = tmp_path / str(beta)
        spec = PivotSpec.of(
            "pivot", seed=3, mean_below=0.9, beta=beta, reward="success", steps=6, prompts=3, group=4, lr=3e-3,
            max_tokens=120, max_turn_tokens=30, minibatches=1,
        )  # fmt: skip
        train_pivot(spec, states, profiled, start, folder)
        return [row["kl"] for row in lines(folder)]

    weak, strong = divergence(1e-6), divergence(3.0)
    assert weak[0] == pytest.approx(0.0, abs=1e-6) and weak[-1] > 1e-3
    assert 0 <= strong[-1] < weak[-1] / 2


def test_with_a_kl_term_alike_rewards_still_pull_back_to_the_start(start, states, tmp_path):
    """Proposition 3.1: the reward says nothing, the KL term does, as soon as the policy has moved."""
    _, _, rows = certain(start, states, tmp_path, beta=0.5)
    assert rows[0]["zero_spread"] == 1.0 and rows[0]["kl"] == pytest.approx(0.0, abs=1e-6)


def test_the_loss_masks_only_what_was_cut_off(start, states):
    engine = TurnEngine(*checkpoints.load_model(start), 30, 120)
    collector = TurnCollector(engine, {turn.id: turn for turn in states}, verify, Decoding(0.7), group=4, seed=0)
    collected = collector.collect([states[0].id, states[1].id], 0)
    assert collected.loss_masks() == [sample.episode.mask for sample in collected.samples]
    short = TurnEngine(engine.model, engine.tokenizer, 2, 120)
    collector = TurnCollector(short, {turn.id: turn for turn in states}, verify, Decoding(0.7), group=4, seed=0)
    collected = collector.collect([states[0].id], 0)
    assert not any(map(any, collected.loss_masks())) and collected.numbers["overlong"] == 1.0


def test_a_state_twice_in_a_step_draws_other_turns(start, states):
    engine = TurnEngine(*checkpoints.load_model(start), 30, 120)
    collector = TurnCollector(engine, {turn.id: turn for turn in states}, verify, Decoding(5.0), group=4, seed=0)
    first, second = collector.collect([states[0].id] * 2, 0).groups
    assert [s.episode.completion_ids for s in first.samples] != [s.episode.completion_ids for s in second.samples]


def test_adapters_are_held_to_the_start_too(start, states, profiled, tmp_path):
    from starlab.training.lora import LoraSpec

    spec = PivotSpec.of(
        "pivot", seed=3, mean_below=0.9, beta=0.1, reward="success", steps=2, prompts=3, group=4, lr=1e-2,
        max_tokens=120, max_turn_tokens=30, minibatches=1, lora=LoraSpec(rank=4),
    )  # fmt: skip
    train_pivot(spec, states, profiled, start, tmp_path)
    first, second = (row["kl"] for row in lines(tmp_path))
    assert first == pytest.approx(0.0, abs=1e-6) and second > 1e-6


def test_every_token_counts_alike_whichever_turn_it_is_in():
    algorithm = SPEC.rl.build_algorithm()
    assert algorithm.loss_type == "dapo", "TRL's name for a mean over tokens"
    assert PivotSpec.of("pivot", seed=0, mean_below=0.6, beta=0.1).rl.build_algorithm().beta == 0.1


def test_an_unknown_algorithm_is_named():
    with pytest.raises(StarlabError, match="valid: pivot, pivotall, pivotcalls, pivotstrict"):
        PivotSpec.of("pivott", seed=0, mean_below=0.6, beta=0.0)
