"""The loss that is really computed: TRL's, on our masks, scores and log-probabilities. Worked numbers from
the papers.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from starlab.policy import attention, forward
from starlab.policy.forward import Forest
from starlab.rewards import RewardStatus, Scored
from starlab.rollout.engine import Engine
from starlab.rollout.episode import Decoding, Episode, Limits, Request, StopReason
from starlab.training import checkpoints
from starlab.training.algorithms import make
from starlab.training.arguments import trainer_arguments
from starlab.training.collection import Collected
from starlab.training.groups import Group, Sample
from starlab.training.rl import RlSpec
from starlab.training.trainer import RolloutTrainer, padded_logprobs
from trl import GRPOTrainer


def build(start, folder, collect, algorithm="grpo", prompts=2, group=4, minibatches=1):
    model, tokenizer = checkpoints.load_model(start)
    spec = RlSpec(seed=0, algorithm=algorithm, prompts=prompts, group=group, minibatches=minibatches, steps=2)
    arguments = trainer_arguments(spec, make(algorithm, {}), folder)
    trainer = RolloutTrainer(
        model, arguments, [str(i) for i in range(prompts * 2)], collect, processing_class=tokenizer
    )
    trainer.current_gradient_accumulation_steps = 1
    return trainer


def episodes_with(rewards, episodes, muted=(), group=4):
    """Collected groups in which episode i has reward i."""
    samples = [
        Sample(episode, None, Scored(reward, RewardStatus.SCORED))
        for episode, reward in zip(episodes, rewards, strict=True)
    ]
    groups = [Group(tuple(samples[i : i + group]), muted=i // group in muted) for i in range(0, len(samples), group)]
    return Collected(tuple(groups), {})


def crafted(lengths, stop=StopReason.ANSWERED):
    """Episodes of given completion lengths, all sampled."""
    return [Episode(str(i), 0, [3, 4], [5] * n, [1] * n, [-1.0] * n, stop, (), 1, "a") for i, n in enumerate(lengths)]


def surrogate(trainer, logps, advantages, old=None):
    """(loss, gradient at logps [B, T]) of the trainer's own loss; NaN marks padding."""
    logps = torch.tensor(logps)
    mask = (~logps.isnan()).long()
    leaf = logps.nan_to_num(0.0).requires_grad_()
    trainer._get_per_token_logps_and_entropies = lambda *args, **kwargs: (leaf, torch.zeros_like(leaf), None)
    inputs = {
        "prompt_ids": torch.zeros(len(logps), 1, dtype=torch.long),
        "prompt_mask": torch.ones(len(logps), 1, dtype=torch.long),
        "completion_ids": torch.zeros_like(mask),
        "completion_mask": mask,
        "tool_mask": torch.ones_like(mask),
        "advantages": torch.tensor(advantages),
        "num_items_in_batch": mask.sum(),
        "old_per_token_logps": leaf.detach().clone() if old is None else torch.tensor(old),
    }
    trainer.model.train()
    loss = trainer._compute_loss(trainer.model, inputs)
    (gradient,) = torch.autograd.grad(loss, leaf)
    return loss.item(), gradient


@pytest.fixture(scope="module")
def trainers(start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trainers")
    return {name: build(start, folder, None, name) for name in ("grpo", "dapo")}


NAN = float("nan")


def test_aggregation_grpo_is_per_sequence_dapo_per_token(trainers):
    """Two sequences at ratio 1: A = +1 with 2 tokens, A = -1 with 8. Objectives 0 and -0.6."""
    logps = [[0.0] * 2 + [NAN] * 6, [0.0] * 8]
    loss, gradient = surrogate(trainers["grpo"], logps, [1.0, -1.0])
    assert loss == pytest.approx(0.0, abs=1e-6)
    assert gradient[0, 0] == pytest.approx(-1 / 4) and gradient[1, 0] == pytest.approx(1 / 16)
    loss, gradient = surrogate(trainers["dapo"], logps, [1.0, -1.0])
    assert loss == pytest.approx(0.6)
    assert gradient[0, 0] == pytest.approx(-1 / 10) and gradient[1, 0] == pytest.approx(1 / 10)


@pytest.mark.parametrize("name", ["grpo", "dapo"])
@pytest.mark.parametrize(
    ("ratio", "advantage", "value", "passes"),
    [(1.25, 1.0, 1.25, True), (1.30, 1.0, 1.28, False), (0.7, -1.0, -0.8, False), (1.30, -1.0, -1.30, True)],
)
def test_clip_higher(trainers, name, ratio, advantage, value, passes):
    loss, gradient = surrogate(trainers[name], [[0.0]], [advantage], old=[[-torch.tensor(ratio).log().item()]])
    assert -loss == pytest.approx(value, rel=1e-5)
    assert bool(gradient.abs() > 1e-6) is passes


def test_doubling_a_wrong_answer_halves_its_token_weight_in_grpo_only(trainers):
    weights = {}
    for name, trainer in trainers.items():
        for length in (4, 8):
            _, gradient = surrogate(trainer, [[0.0] * length], [-1.0])
            # alone in its batch, dapo's normaliser is the length: undo it to see the token's own weight
            weights.setdefault(name, []).append(gradient[0, 0].item() * (length if name == "dapo" else 1))
    assert weights["grpo"][0] == pytest.approx(2 * weights["grpo"][1])
    assert weights["dapo"][0] == pytest.approx(weights["dapo"][1])


def prepared(trainer):
    """What TRL makes of one collection."""
    trainer.model.train()
    rows = [{"prompt": str(i // 4)} for i in range(8)]
    return trainer._generate_and_score_completions(rows)


def test_advantages_are_normalised_in_the_group_by_the_sample_deviation(start, tmp_path):
    collected = episodes_with([1, 0, 0, 0, 2, 2, 2, 2], crafted([3] * 8))
    batch = prepared(build(start, tmp_path, lambda ids, step: collected))
    expected = [1.5, -0.5, -0.5, -0.5, 0, 0, 0, 0]
    assert batch["advantages"].tolist() == pytest.approx(expected, abs=1e-3)
    # invariant under a positive affine map of the rewards, up to the small constant in the denominator
    collected = episodes_with([5, 2, 2, 2, 9, 9, 9, 9], crafted([3] * 8))
    batch = prepared(build(start, tmp_path, lambda ids, step: collected))
    assert batch["advantages"].tolist() == pytest.approx(expected, abs=1e-3)


def test_overlong_episodes_leave_the_loss_and_stay_in_the_statistics(start, tmp_path):
    episodes = crafted([3, 3, 3]) + crafted([3], StopReason.TOKEN_LIMIT) + crafted([3] * 4)
    collected = episodes_with([1, 1, 1, 0, 0, 1, 0, 1], episodes)
    batch = prepared(build(start, tmp_path, lambda ids, step: collected))
    assert batch["tool_mask"].sum(1).tolist() == [3, 3, 3, 0, 3, 3, 3, 3]
    assert batch["num_items_in_batch"] == 21
    assert batch["advantages"][:4].tolist() == pytest.approx([0.5, 0.5, 0.5, -1.5], abs=1e-3)


def test_muted_groups_leave_the_loss_and_its_normaliser(start, tmp_path):
    collected = episodes_with([1, 0, 0, 0, 0, 0, 0, 0], crafted([3] * 8), muted={1})
    batch = prepared(build(start, tmp_path, lambda ids, step: collected, "dapo"))
    assert batch["tool_mask"].sum(1).tolist() == [3, 3, 3, 3, 0, 0, 0, 0]
    assert batch["num_items_in_batch"] == 12


def real_batch(start, tmp_path, tasks, **changes):
    """A trainer with episodes that its own policy sampled, and what TRL makes of them."""
    model, tokenizer = checkpoints.load_model(start)
    episodes = Engine(model, tokenizer, Limits(30, 120)).generate(
        [Request(task, 4) for task in tasks[:2]], Decoding(0.7), seed=0
    )
    collected = episodes_with([1, 0, 0, 0, 0, 1, 1, 0], episodes)
    trainer = build(start, tmp_path, lambda ids, step: collected, **changes)
    return trainer, prepared(trainer), episodes


def test_our_forward_equals_the_stock_one(start, tmp_path, tasks):
    trainer, batch, _ = real_batch(start, tmp_path, tasks)
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
    attention = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
    mask = (batch["completion_mask"] * batch["tool_mask"]).bool()
    width = mask.shape[1]
    stock, _, _ = GRPOTrainer._get_per_token_logps_and_entropies(
        trainer, trainer.model, ids, attention, width, compute_entropy=True
    )
    trainer._loss_mask = mask
    ours, _, _ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, attention, width)
    assert torch.allclose(ours[mask], stock[mask], atol=1e-5)
    gradients = [torch.autograd.grad((logps * mask).sum(), list(trainer.model.parameters())) for logps in (ours, stock)]
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-4)


def test_sampling_logprobs_serve_as_those_of_the_old_policy(start, tmp_path, tasks):
    """With two updates a step TRL needs the old policy: what was recorded is what it would compute."""
    trainer, batch, _ = real_batch(start, tmp_path, tasks, minibatches=2)
    mask = (batch["completion_mask"] * batch["tool_mask"]).bool()
    trainer._loss_mask = mask
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
    attention = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
    now, _, _ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, attention, mask.shape[1])
    assert torch.allclose(batch["old_per_token_logps"][mask], now[mask], atol=1e-4)


def test_episodes_without_advantage_are_skipped_to_the_same_gradient(start, tmp_path, tasks, monkeypatch):
    """Half the rows pull; skipping the others changes neither loss nor gradient of the stock computation."""
    trainer, batch, _ = real_batch(start, tmp_path, tasks)
    batch["advantages"] = torch.tensor([1.5, -0.5, -0.5, -0.5, 0.0, 0.0, 0.0, 0.0])
    scored = []
    original = RolloutTrainer._score
    monkeypatch.setattr(RolloutTrainer, "_score", lambda *a: scored.append(a[-1].any(1).sum()) or original(*a))
    results = []
    for method in (RolloutTrainer._get_per_token_logps_and_entropies, GRPOTrainer._get_per_token_logps_and_entropies):
        monkeypatch.setattr(RolloutTrainer, "_get_per_token_logps_and_entropies", method)
        loss = trainer._compute_loss(trainer.model, dict(batch))
        results.append((loss.detach(), torch.autograd.grad(loss, list(trainer.model.parameters()))))
    assert scored == [4]
    assert torch.allclose(results[0][0], results[1][0], atol=1e-6)
    for one, other in zip(results[0][1], results[1][1], strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-5)


def test_zero_spread_gives_exactly_zero_gradient(start, tmp_path, tasks):
    trainer, batch, _ = real_batch(start, tmp_path, tasks)
    batch["advantages"] = torch.zeros(8)
    loss = trainer._compute_loss(trainer.model, batch)
    loss.backward()
    assert all(p.grad is None or p.grad.abs().max() == 0 for p in trainer.model.parameters())


def test_environment_tokens_have_no_gradient(start, tmp_path, tasks):
    """The mask reaches the loss as it came from the engine, row by row."""
    _, batch, episodes = real_batch(start, tmp_path, tasks)
    assert any(0 in episode.mask for episode in episodes)
    for row, episode in enumerate(episodes):
        assert batch["tool_mask"][row, : len(episode.mask)].tolist() == episode.mask
        spoken = batch["completion_ids"][row, : len(episode.mask)].tolist()
        assert spoken == episode.completion_ids


def test_no_reference_model_is_loaded(trainers):
    """beta = 0: there is nothing to stay close to."""
    assert all(trainer.ref_model is None and trainer.beta == 0.0 for trainer in trainers.values())


def branched():
    """Two groups of four; 1 and 2 branched off 0 behind its second token."""
    episodes = crafted([4] * 8)
    for row, episode in enumerate(episodes):
        parent, inherited = (0, 2) if row in (1, 2) else (None, 0)
        episodes[row] = replace(episode, index=row % 4, parent=parent, inherited=inherited)
    return episodes_with([1, 0, 0, 1, 0, 0, 0, 0], episodes)


@pytest.mark.parametrize("attribution", ["soft", "hard"])
def test_attribution_of_shared_tokens(start, tmp_path, attribution):
    """Sample deviation: A = [a, -a, -a, a] with a = .866. The prefix shared by 0, 1 and 2 gets -a/3 if hard."""
    trainer = build(start, tmp_path, lambda ids, step: branched(), "arpo")
    trainer._attribution = attribution
    advantages = prepared(trainer)["advantages"]
    a = 0.75**0.5
    if attribution == "soft":
        assert advantages[:4].tolist() == pytest.approx([a, -a, -a, a], abs=1e-3)
    else:
        assert advantages[0].tolist() == pytest.approx([-a / 3, -a / 3, a, a], abs=1e-3)
        assert advantages[1].tolist() == pytest.approx([-a / 3, -a / 3, -a, -a], abs=1e-3)
        assert advantages[3].tolist() == pytest.approx([a] * 4, abs=1e-3)


def test_soft_and_hard_attribution_agree_under_a_token_mean_before_clipping(start, tmp_path):
    gradients = []
    for attribution in ("soft", "hard"):
        trainer = build(start, tmp_path, lambda ids, step: branched(), "arpo")
        trainer._attribution = attribution
        loss = trainer._compute_loss(trainer.model, prepared(trainer))
        gradients.append(torch.autograd.grad(loss, list(trainer.model.parameters())))
    for soft, hard in zip(*gradients, strict=True):
        assert torch.allclose(soft, hard, rtol=1e-3, atol=1e-6)


def test_what_siblings_share_is_computed_once():
    """Three rows of nine tokens, five in all of them and eight in two: 9 + 1 + 4 nodes, each owned by one row."""
    rows = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 16, 17, 18, 19], [1, 2, 3, 4, 5, 6, 7, 8, 10]]
    forest = Forest.build([*rows, rows[1]])
    assert len(forest.ids) == 9 + 1 + 4
    for row, path in zip(rows, forest.paths, strict=False):
        assert forest.ids[path].tolist() == row
        assert forest.positions[path].tolist() == list(range(9))
    assert [[node for ends in path for node in range(*ends)] for path in forest.stretches] == [
        forest.paths[0], forest.paths[2], forest.paths[1]
    ]  # fmt: skip
    assert [path[-1] for path in forest.stretches] == [(0, 9), (9, 10), (10, 14)]


@pytest.mark.parametrize("remembered", [0, 2**20])
def test_attention_equals_that_of_every_row_by_itself(remembered, monkeypatch):
    """Rows of more than a block and some that share a prefix; queries of every node and of every third."""
    monkeypatch.setattr(attention, "BLOCK", 4)
    monkeypatch.setattr(attention, "REMEMBERED", remembered)
    rows = [list(range(11)), [*range(6), *range(20, 33)], [*range(6), 20, 21, 40], [50]]
    forest = Forest.build(rows)
    count = len(forest.ids)
    torch.manual_seed(0)
    states = [torch.randn(count, heads, 8, requires_grad=True) for heads in (4, 2, 2)]
    for chosen in (list(range(count)), list(range(0, count, 3))):
        plan = attention.plan(forest.stretches, chosen, "cpu")
        found = attention.attend(states[0][chosen], states[1], states[2], plan)
        expected = by_row(states, forest)[chosen]
        assert torch.allclose(found, expected, atol=1e-5)
        pull = torch.randn_like(found)
        gradients = [torch.autograd.grad(result, states, pull) for result in (found, expected)]
        for one, other in zip(*gradients, strict=True):
            assert torch.allclose(one, other, atol=1e-5)


def by_row(states, forest):
    """Attention [N, heads * width] of a forest's nodes, each in the last row that has it."""
    mixed = torch.zeros(len(forest.ids), states[0][0].numel())
    for path in forest.paths:
        q, k, v = (part[path].transpose(0, 1)[None] for part in states)
        row = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        mixed = mixed.index_copy(0, torch.tensor(path), row[0].transpose(0, 1).flatten(1))
    return mixed


@pytest.mark.parametrize("padded", [False, True])
def test_both_forward_passes_equal_the_model_s_own(start, padded, monkeypatch):
    model, _ = checkpoints.load_model(start)
    rows = [[3, 4, 5, 6, 7], [3, 4, 5, 8, 9, 10, 11], [3, 4, 5, 6, 7]]
    trained = [[2, 4], [3, 6], [2, 4]]
    found = (padded_logprobs if padded else forward.logprobs)(model, rows, trained, 0.7)
    expected = []
    for row, places in zip(rows, trained, strict=True):
        table = torch.log_softmax(model(input_ids=torch.tensor([row])).logits[0] / 0.7, -1)
        expected += [table[place - 1, row[place]] for place in places]
    assert torch.allclose(found, torch.stack(expected), atol=1e-4)
    weights = [torch.autograd.grad(total, list(model.parameters())) for total in (found.sum(), sum(expected))]
    for one, other in zip(*weights, strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-4)
