"""Episodes that branch off others after tool results (ARPO), and their control."""

from __future__ import annotations

import math
import random

import pytest
import torch
from starlab import protocol
from starlab.protocol import ToolCall
from starlab.rollout import engine as engine_module
from starlab.rollout.engine import Engine
from starlab.rollout.episode import Branching, Decoding, Limits, Request
from starlab.rollout.sampling import Choice, Noise, choose

LIMITS = Limits(turn_tokens=64, total_tokens=400, calls=9)


@pytest.fixture
def talkative(monkeypatch, tokenizer):
    """A policy of calls and answers of random lengths that follows the noise; entropies rise from turn to turn."""
    end = tokenizer.convert_tokens_to_ids(protocol.IM_END)

    def turn(number: float) -> list[int]:
        rng = random.Random(number)
        if rng.random() < 0.3:
            text = protocol.render_answer("y" * rng.randint(1, 9))
        else:
            text = protocol.render_call(ToolCall("SearchCity", {"state": "x" * rng.randint(1, 9)}))
        return [*tokenizer.encode(text), end]

    said: dict[int, list[int]] = {}  # by id of an episode's noise: what is left of its turn

    def choose(logits, decoding, noise, width=1):
        tokens = torch.zeros(len(logits), max(map(len, noise)), dtype=torch.long)
        for row, sources in enumerate(noise):
            for column, source in enumerate(sources):
                left = said.get(id(source)) or turn(source.peek(1)[0])
                tokens[row, column] = left[0]
                said[id(source)] = left[1:]
        logprobs = torch.log_softmax(logits, -1).gather(1, tokens)
        return Choice(tokens.tolist(), logprobs.tolist(), [0.5] * len(tokens))

    monkeypatch.setattr(engine_module, "choose", choose)


def generate(model, tokenizer, tasks, branching, group=6, count=3):
    engine = Engine(model, tokenizer, LIMITS, rows=12)
    requests = [Request(task, group) for task in tasks(count)]
    return engine, engine.generate(requests, Decoding(), seed=5, branching=branching)


@pytest.mark.parametrize("initial", [1, 3, 6])
def test_every_prompt_gets_exactly_its_number_of_episodes(model, tokenizer, tasks, talkative, initial):
    engine, episodes = generate(model, tokenizer, tasks, Branching(initial, probability=0.7))
    assert [(e.query_id, e.index) for e in episodes] == [(t.id, i) for t in tasks(3) for i in range(6)]
    by_prompt = [episodes[i : i + 6] for i in range(0, 18, 6)]
    assert all(sum(e.parent is not None for e in group) <= 6 - initial for group in by_prompt)
    assert engine.statistics.branches == sum(e.parent is not None for e in episodes)
    assert bool(engine.statistics.branches) is (initial < 6)


def test_branches_share_their_parents_prefix(model, tokenizer, tasks, talkative):
    _, episodes = generate(model, tokenizer, tasks, Branching(2, probability=1.0))
    found = {(e.query_id, e.index): e for e in episodes}
    branches = [e for e in episodes if e.parent is not None]
    assert branches
    for child in branches:
        parent = found[child.query_id, child.parent]
        end = child.inherited
        assert end > 0 and child.mask[end - 1] == 0  # right behind a tool result
        for name in ("completion_ids", "mask", "logprobs", "entropies"):
            assert getattr(child, name)[:end] == getattr(parent, name)[:end]
        calls = child.inherited_turns
        assert child.calls[:calls] == parent.calls[:calls]
        assert child.turns > calls
        assert child.own_tokens == child.sampled_tokens - sum(parent.mask[:end])


def test_logprobs_of_branches_equal_a_plain_forward(model, tokenizer, tasks, talkative):
    _, episodes = generate(model, tokenizer, tasks, Branching(1, probability=1.0), count=1)
    assert any(e.parent is not None for e in episodes)
    for episode in episodes:
        ids = torch.tensor([episode.prompt_ids + episode.completion_ids])
        with torch.no_grad():
            table = torch.log_softmax(model(input_ids=ids).logits[0], -1)
        start = len(episode.prompt_ids)
        plain = [table[start + i - 1, t].item() for i, t in enumerate(episode.completion_ids)]
        wanted = [p if spoken else 0.0 for p, spoken in zip(plain, episode.mask, strict=True)]
        assert episode.logprobs == pytest.approx(wanted, abs=1e-4)


def test_all_initial_is_an_ordinary_rollout(model, tokenizer, tasks):
    """N = M: nothing is left to branch."""
    limits = Limits(turn_tokens=30, total_tokens=120)
    requests = [Request(task, 3) for task in tasks(3)]
    plain, branched = (
        Engine(model, tokenizer, limits).generate(requests, Decoding(), 3, branching=branching)
        for branching in (None, Branching(3))
    )
    assert [e.completion_ids for e in plain] == [e.completion_ids for e in branched]
    assert all(e.parent is None for e in branched)


def test_without_tool_results_the_rest_starts_at_the_prompt(model, tokenizer, tasks):
    """A policy that never calls a tool leaves no place to branch at."""
    limits = Limits(turn_tokens=10, total_tokens=100)
    episodes = Engine(model, tokenizer, limits).generate(
        [Request(tasks(1)[0], 4)], Decoding(), 0, branching=Branching(1, probability=1.0)
    )
    assert [(e.index, e.parent) for e in episodes] == [(i, None) for i in range(4)]


def test_branching_does_not_depend_on_company(model, tokenizer, tasks, talkative):
    branching = Branching(2, probability=0.5)
    _, together = generate(model, tokenizer, tasks, branching)
    alone = []
    for task in tasks(3):
        alone += Engine(model, tokenizer, LIMITS).generate([Request(task, 6)], Decoding(), 5, branching=branching)
    assert [(e.completion_ids, e.parent) for e in together] == [(e.completion_ids, e.parent) for e in alone]


def test_chance_of_a_split():
    """a = .5, b = .2: rises of -3, -1, 0, .5, 1 and 2.5 nats give 0, .3, .5, .6, .7 and 1."""
    branching = Branching(1, probability=0.5, weight=0.2)
    chances = [branching.chance(rise) for rise in (-3, -1, 0, 0.5, 1, 2.5, 4)]
    assert chances == pytest.approx([0, 0.3, 0.5, 0.6, 0.7, 1, 1])
    draws = random.Random(0)
    assert sum(draws.random() < branching.chance(0.5) for _ in range(100_000)) / 1e5 == pytest.approx(0.6, abs=0.01)


def test_control_does_not_look_at_entropy():
    assert {Branching(1, probability=0.5, weight=0.0).chance(rise) for rise in (-9.0, 0.0, 9.0)} == {0.5}


def test_entropy_in_units_of_the_vocabulary():
    """Uniform over 4: 1.386294 nats, .133638 of ln 32000; over the whole vocabulary: 1. A certain token: 0."""
    four = torch.full((1, 32000), float("-inf"))
    four[0, :4] = 0.0
    one = torch.full((1, 32000), -1e4)
    one[0, 7] = 1e4
    for logits, share in ((four.clamp(min=-1e4), 0.133638), (torch.zeros(1, 32000), 1.0), (one, 0.0)):
        entropy = choose(logits, Decoding(), [[Noise(0, "q", 0)]]).entropies[0]
        assert entropy / math.log(32000) == pytest.approx(share, abs=1e-5)
