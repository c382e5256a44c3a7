"""The engine against the slowest correct thing: one episode at a time through a plain forward."""

from __future__ import annotations

import random

import pytest
import torch
from starlab import protocol
from starlab.protocol import FormatError, ToolCall
from starlab.rollout import engine as engine_module
from starlab.rollout import paths as paths_module
from starlab.rollout.decoders import HuggingFaceDecoder, LeanDecoder
from starlab.rollout.engine import Engine
from starlab.rollout.episode import Decoding, Limits, Request, StopReason
from starlab.rollout.sampling import Choice
from starlab.travel.faults import Faults

LIMITS = Limits(turn_tokens=64, total_tokens=300, calls=4)


def script(tokenizer, task_id: str, index: int) -> list[int]:
    """What a scripted policy says in one episode: between no and four calls, then an answer."""
    rng = random.Random(f"{task_id}/{index}")
    turns = [
        protocol.render_call(ToolCall("SearchCity", {"state": "x" * rng.randint(1, 9)}))
        for _ in range(rng.randint(0, 4))
    ]
    turns.append(protocol.render_answer("y" * rng.randint(1, 20)))
    return [token for turn in turns for token in tokenizer.encode(turn + protocol.IM_END)]


@pytest.fixture
def scripted(monkeypatch, tokenizer):
    """Force the tokens of `script`, keeping the log-probabilities that the engine computes for them."""

    def choose(logits, decoding, noise, width=1):
        askers = max(map(len, noise))
        tokens = torch.zeros(len(logits), askers, dtype=torch.long)
        for row, sources in enumerate(noise):
            for column, source in enumerate(sources):
                coming = torch.tensor(source.peek(width))
                tokens[row * width : row * width + len(coming), column] = coming
        logprobs = torch.log_softmax(logits / decoding.temperature, -1)
        return Choice(tokens.tolist(), logprobs.gather(1, tokens).tolist(), [0.0] * len(tokens))

    class Scripted:
        def __init__(self, seed, query_id, index):
            self.script = script(tokenizer, query_id, index)

        def peek(self, count):
            return self.script[:count]

        def drop(self, count):
            del self.script[:count]

    monkeypatch.setattr(engine_module, "choose", choose)
    monkeypatch.setattr(paths_module, "Noise", Scripted)


@pytest.fixture(params=["lean", "transformers"])
def decoder(request, monkeypatch):
    """Run a test with both decoders."""
    if request.param == "transformers":
        monkeypatch.setattr(LeanDecoder, "supports", staticmethod(lambda model: False))
    return {"lean": LeanDecoder, "transformers": HuggingFaceDecoder}[request.param]


def plain_logprobs(model, episode, temperature: float) -> list[float]:
    ids = torch.tensor([episode.prompt_ids + episode.completion_ids])
    with torch.no_grad():
        logprobs = torch.log_softmax(model(input_ids=ids).logits[0] / temperature, -1)
    start = len(episode.prompt_ids)
    return [
        logprobs[start + i - 1, token].item() if spoken else 0.0
        for i, (token, spoken) in enumerate(zip(episode.completion_ids, episode.mask, strict=True))
    ]


def test_logprobs_of_a_ragged_batch_equal_a_plain_forward(model, tokenizer, decoder, scripted, tasks):
    engine = Engine(model, tokenizer, LIMITS, rows=9)
    episodes = engine.generate([Request(task, 3) for task in tasks(6)], Decoding(0.7), seed=0)
    assert isinstance(engine.decoder(1), decoder)
    assert [(e.query_id, e.index) for e in episodes] == [(t.id, i) for t in tasks(6) for i in range(3)]
    assert len({len(e.calls) for e in episodes}) > 2
    for episode in episodes:
        assert episode.stop is StopReason.ANSWERED
        assert episode.logprobs == pytest.approx(plain_logprobs(model, episode, 0.7), abs=1e-4)


def test_ids_equal_the_chat_template(model, tokenizer, scripted, tasks):
    engine = Engine(model, tokenizer, LIMITS)
    for episode, task in zip(engine.generate([Request(t) for t in tasks(6)], Decoding(), 0), tasks(6), strict=True):
        messages = task.prompt()
        for call in episode.calls:
            turn = protocol.render_call(ToolCall(call.name, call.arguments))
            messages.append({"role": "assistant", "content": turn})
            messages.append({"role": "user", "content": protocol.render_response(call.response)})
        messages.append({"role": "assistant", "content": protocol.render_answer(episode.answer)})
        template = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False)
        # a finished dialogue ends with its <|im_end|>, without the line break that would open the next
        # message
        assert episode.prompt_ids + episode.completion_ids == template[:-1]


def test_mask_is_one_exactly_where_the_policy_spoke(model, tokenizer, scripted, tasks):
    engine = Engine(model, tokenizer, LIMITS)
    for episode in engine.generate([Request(task, 2) for task in tasks(4)], Decoding(), seed=0):
        spoken = [t for t, m in zip(episode.completion_ids, episode.mask, strict=True) if m]
        assert spoken == script(tokenizer, episode.query_id, episode.index)
        assert all(p == 0.0 for p, m in zip(episode.logprobs, episode.mask, strict=True) if not m)
        assert len(episode.mask) == len(episode.logprobs) == len(episode.completion_ids)


@pytest.mark.parametrize("decoding", [Decoding(0.0), Decoding(0.9), Decoding(1.0, top_p=0.8)])
def test_sampled_batch_equals_one_at_a_time(model, tokenizer, decoding, tasks):
    """Noise belongs to episodes, so company changes nothing: not the batch, not the order of arrival."""
    limits = Limits(turn_tokens=30, total_tokens=120)
    together = Engine(model, tokenizer, limits, rows=64).generate(
        [Request(task, 2) for task in tasks(5)], decoding, seed=3
    )
    queued = Engine(model, tokenizer, limits, rows=2).generate(
        [Request(task, 2) for task in tasks(5)], decoding, seed=3
    )
    alone = [
        episode
        for task in tasks(5)
        for index in range(2)
        for episode in Engine(model, tokenizer, limits).generate([Request(task, 1, index)], decoding, seed=3)
    ]
    ids = [episode.completion_ids for episode in alone]
    assert [episode.completion_ids for episode in together] == ids
    assert [episode.completion_ids for episode in queued] == ids
    if decoding.temperature:
        assert ids[0] != ids[1]


def test_same_seed_same_episodes_and_another_seed_others(model, tokenizer, tasks):
    limits = Limits(turn_tokens=30, total_tokens=120)
    engine = Engine(model, tokenizer, limits)
    first, second, other = (engine.generate([Request(tasks(1)[0], 4)], Decoding(), seed) for seed in (1, 1, 2))
    assert first == second
    assert [e.completion_ids for e in first] != [e.completion_ids for e in other]


def test_turn_limit(model, tokenizer, monkeypatch, scripted, tasks):
    turn = tokenizer.encode(protocol.render_call(ToolCall("SearchCity", {"state": "x"})) + protocol.IM_END)
    monkeypatch.setitem(globals(), "script", lambda *_: turn * 10)
    (episode,) = Engine(model, tokenizer, LIMITS).generate([Request(tasks(1)[0])], Decoding(), seed=0)
    assert episode.stop is StopReason.TURN_LIMIT
    assert len(episode.calls) == LIMITS.calls
    assert episode.turns == LIMITS.calls + 1
    assert episode.overlong and episode.well_formed and episode.answer is None


def test_malformed_turn_ends_the_episode(model, tokenizer, monkeypatch, scripted, tasks):
    monkeypatch.setitem(globals(), "script", lambda t, *_: t.encode("hello" + protocol.IM_END))
    (episode,) = Engine(model, tokenizer, LIMITS).generate([Request(tasks(1)[0])], Decoding(), seed=0)
    assert episode.stop is StopReason.MALFORMED
    assert episode.error is FormatError.EMPTY
    assert not episode.well_formed and not episode.overlong


@pytest.mark.parametrize(
    ("limits", "tokens"),
    [(Limits(turn_tokens=5, total_tokens=300), 5), (Limits(turn_tokens=500, total_tokens=90), None)],
)
def test_token_limits(model, tokenizer, monkeypatch, scripted, limits, tokens, tasks):
    monkeypatch.setitem(globals(), "script", lambda t, *_: t.encode("a" * 400))
    (episode,) = Engine(model, tokenizer, limits).generate([Request(tasks(1)[0])], Decoding(), seed=0)
    assert episode.stop is StopReason.TOKEN_LIMIT
    assert episode.error is FormatError.TRUNCATED
    total = len(episode.prompt_ids) + len(episode.completion_ids)
    assert len(episode.completion_ids) == tokens if tokens else total == limits.total_tokens


def test_a_prompt_beyond_the_limit_is_data(model, tokenizer, tasks):
    (episode,) = Engine(model, tokenizer, Limits(total_tokens=4)).generate([Request(tasks(1)[0])], Decoding(), 0)
    assert episode.stop is StopReason.TOKEN_LIMIT and episode.completion_ids == []


def test_faults_replace_results_and_are_recorded(model, tokenizer, scripted, tasks):
    engine = Engine(model, tokenizer, LIMITS)
    requests = [Request(task, 2) for task in tasks(5)]
    episodes = engine.generate(requests, Decoding(), seed=0, faults=Faults(1.0, seed=1))
    calls = [call for episode in episodes for call in episode.calls]
    assert calls and all(call.failed for call in calls)
    assert all(call.response == "Error: Current tool SearchCity is not available." for call in calls)
    assert not any(c.failed for e in engine.generate(requests, Decoding(), seed=0) for c in e.calls)


def test_generate_leaves_the_model_as_it_was(model, tokenizer, tasks):
    implementation = model.config._attn_implementation
    model.train()
    Engine(model, tokenizer, Limits(10, 90)).generate([Request(tasks(1)[0])], Decoding(), seed=0)
    assert model.training and model.config._attn_implementation == implementation
    model.eval()


def test_weights_are_read_afresh(tokenizer, tasks):
    from starlab.policy.ladder import Architecture, build_model

    policy = build_model(
        Architecture(hidden=16, layers=1, heads=2, kv_heads=2, head_dim=8, intermediate=32), tokenizer, seed=0
    )
    engine = Engine(policy, tokenizer, Limits(10, 90))
    before = engine.generate([Request(tasks(1)[0])], Decoding(), seed=0)
    with torch.no_grad():
        policy.model.layers[0].mlp.down_proj.weight.add_(3.0)
    assert engine.generate([Request(tasks(1)[0])], Decoding(), seed=0)[0].logprobs != before[0].logprobs
