"""Rollouts through vLLM, against a stand-in that says what a script says."""

from __future__ import annotations

import threading

import pytest
from starlab import protocol
from starlab.errors import StarlabError
from starlab.protocol import ToolCall
from starlab.rollout.episode import Branching, Decoding, Limits, Request, StopReason
from starlab.rollout.vllm import VllmEngine
from starlab.travel.faults import Faults

LIMITS = Limits(turn_tokens=64, total_tokens=300, calls=4)


class FakeVllm:
    """Calls a tool `calls(prompt length)` times, then answers; counts calls and prompts."""

    def __init__(self, tokenizer, calls=2, say=None):
        self.tokenizer, self.calls, self.say = tokenizer, calls, say
        self.sizes = []
        self.temperature = self.top_p = self.max_completion_length = None

    def generate(self, prompts, images, num_generations):
        assert images is None and num_generations == 1
        self.sizes.append(len(prompts))
        turns = [self.turn(self.tokenizer.decode(prompt)) for prompt in prompts]
        return prompts, turns, [[[-0.25] for _ in turn] for turn in turns], None

    def turn(self, context):
        if self.say:
            return self.tokenizer.encode(self.say)[: self.max_completion_length]
        done = context.count(protocol.RESPONSE_OPEN)
        text = protocol.render_answer("yes")
        if done < self.calls:
            text = protocol.render_call(ToolCall("SearchCity", {"state": "x" * (done + 1)}))
        return self.tokenizer.encode(text + protocol.IM_END)


def test_ids_equal_the_chat_template(tokenizer, tasks):
    engine = VllmEngine(FakeVllm(tokenizer), tokenizer, LIMITS)
    episodes = engine.generate([Request(task, 2) for task in tasks(3)], Decoding(0.7, 0.9), seed=0)
    assert [(e.query_id, e.index) for e in episodes] == [(t.id, i) for t in tasks(3) for i in range(2)]
    assert (engine.generation.temperature, engine.generation.top_p) == (0.7, 0.9)
    for episode, task in zip(episodes[::2], tasks(3), strict=True):
        messages = task.prompt()
        for call in episode.calls:
            messages.append({"role": "assistant", "content": protocol.render_call(ToolCall(call.name, call.arguments))})
            messages.append({"role": "user", "content": protocol.render_response(call.response)})
        messages.append({"role": "assistant", "content": protocol.render_answer(episode.answer)})
        template = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False)
        assert episode.prompt_ids + episode.completion_ids == template[:-1]
        assert len(episode.mask) == len(episode.logprobs) == len(episode.entropies) == len(episode.completion_ids)
        assert {p for p, m in zip(episode.logprobs, episode.mask, strict=True) if m} == {-0.25}
        assert {p for p, m in zip(episode.logprobs, episode.mask, strict=True) if not m} == {0.0}


@pytest.mark.parametrize(
    ("options", "stop"),
    [
        ({"calls": 9}, StopReason.TURN_LIMIT),
        ({"say": "hello" + protocol.IM_END}, StopReason.MALFORMED),
        ({"say": "a" * 90}, StopReason.TOKEN_LIMIT),
    ],
)
def test_episodes_end_as_in_the_engine(tokenizer, tasks, options, stop):
    engine = VllmEngine(FakeVllm(tokenizer, **options), tokenizer, LIMITS)
    (episode,) = engine.generate([Request(tasks(1)[0])], Decoding(), seed=0)
    assert episode.stop is stop


def test_faults_replace_results(tokenizer, tasks):
    engine = VllmEngine(FakeVllm(tokenizer), tokenizer, LIMITS)
    (episode,) = engine.generate([Request(tasks(1)[0])], Decoding(), seed=0, faults=Faults(1.0, seed=1))
    assert episode.calls and all(call.failed for call in episode.calls)


def test_branching_is_refused(tokenizer, tasks):
    with pytest.raises(StarlabError, match="no entropies"):
        VllmEngine(FakeVllm(tokenizer), tokenizer, LIMITS).generate([], Decoding(), 0, branching=Branching(1))


def test_a_turn_without_an_end_is_an_error_that_says_so(tokenizer, tasks):
    engine = VllmEngine(FakeVllm(tokenizer, say="hello"), tokenizer, LIMITS)
    with pytest.raises(StarlabError, match="eos token"):
        engine.generate([Request(tasks(1)[0])], Decoding(), seed=0)


def test_processes_make_equal_calls_whatever_their_episodes_take(tokenizer, tasks):
    """One process has 2 prompts of 1 turn in one round, the other 1 prompt of 4 turns and then a second round."""
    states, lock, barrier = {}, threading.Lock(), threading.Barrier(2, timeout=20)

    def exchange_of(rank):
        def exchange(state):
            with lock:
                states[rank] = state
            barrier.wait()
            seen = [states[0], states[1]]
            barrier.wait()
            return seen

        return exchange

    generations = [FakeVllm(tokenizer, calls=0), FakeVllm(tokenizer, calls=3)]
    work = [[2], [1, 1]]  # prompts of each round
    heard: dict[int, list[int]] = {}

    def process(rank):
        engine = VllmEngine(generations[rank], tokenizer, LIMITS, exchange_of(rank))
        heard[rank] = [len(engine.generate([Request(t) for t in tasks(n)], Decoding(), 0)) for n in work[rank]]
        engine.drain()

    threads = [threading.Thread(target=process, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert heard == {0: [2], 1: [1, 1]}
    assert generations[0].sizes == generations[1].sizes == [2] + [1] * 7
