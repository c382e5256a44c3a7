"""Guesses of what follows, and the attention that checks them."""

from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F
from starlab.rollout import engine as engine_module
from starlab.rollout.cache import Plan, RaggedLayer, attend
from starlab.rollout.drafts import MOST, Drafts, common_length
from starlab.rollout.engine import Engine
from starlab.rollout.episode import Decoding, Limits, Request


def test_a_context_is_trusted_after_two_successors_of_one_kind():
    drafts = Drafts()
    drafts.learn((1, 2, 3), 4)
    assert drafts.guess((1, 2, 3), stop=0) == []
    drafts.learn((1, 2, 3), 4)
    assert drafts.guess((1, 2, 3), stop=0) == [4]
    drafts.learn((1, 2, 3), 5)
    assert drafts.guess((1, 2, 3), stop=0) == []


def test_guesses_chain_and_stop_at_the_end_of_a_turn():
    drafts = Drafts()
    line = [1, 2, 3, 4, 5, 6, 7, 8]
    for _ in range(2):
        for place in range(3, len(line)):
            drafts.learn(tuple(line[place - 3 : place]), line[place])
    assert drafts.guess((1, 2, 3), stop=0) == [4, 5, 6][:MOST]
    assert drafts.guess((1, 2, 3), stop=5) == [4, 5]


def test_a_pass_checks_as_many_guesses_as_half_of_the_rows_have():
    assert common_length([[], [], [1, 2]]) == 0
    assert common_length([[], [1], [1, 2]]) == 1
    assert common_length([[1, 2, 3]]) == 3


@pytest.mark.parametrize("decoding", [Decoding(0.0), Decoding(0.3)])
def test_guessing_changes_nothing_but_the_number_of_passes(model, tokenizer, tasks, monkeypatch, decoding):
    limits = Limits(turn_tokens=60, total_tokens=160)
    requests = [Request(task, 3) for task in tasks(3)]
    quick = Engine(model, tokenizer, limits)
    guessed = quick.generate(requests, decoding, seed=1)
    monkeypatch.setattr(engine_module, "common_length", lambda drafts: 0)
    slow = Engine(model, tokenizer, limits)
    assert [e.completion_ids for e in slow.generate(requests, decoding, seed=1)] == [e.completion_ids for e in guessed]
    assert quick.statistics.passes <= slow.statistics.passes


@pytest.mark.parametrize("width", [1, 3])
def test_packed_attention_equals_row_by_row(width):
    """Ragged rows with one far longer than the others, and observations to feed: dense call and stretches together."""
    rng, torch_rng = random.Random(0), torch.Generator().manual_seed(0)
    lengths = [5, 3, 900, 8, 6, 4]
    pending = [[1] * (width + rng.choice([0, 0, 4])) for _ in lengths]
    plan = Plan.build(pending, lengths, torch.float32, "cpu", width)
    layer = RaggedLayer(len(lengths), 1000)
    layer.keys, layer.values = (torch.randn(len(lengths), 1000, 2, 8, generator=torch_rng) for _ in range(2))
    query = torch.randn(len(plan.ids), 4, 8, generator=torch_rng)
    found = attend(query, layer, plan, scale=0.3)
    assert plan.reach < 900 and plan.stretches
    assert torch.equal(attend(query, layer, plan, 0.3, wanted_only=True), found[: plan.wanted])
    for token, (row, position) in enumerate(zip(plan.rows.tolist(), plan.positions.tolist(), strict=True)):
        keys, values = (b[row, : position + 1].repeat_interleave(2, 1).transpose(0, 1) for b in layer.buffers())
        expected = F.scaled_dot_product_attention(query[token][:, None], keys, values, scale=0.3)[:, 0]
        assert torch.allclose(found[token], expected, atol=1e-5)
