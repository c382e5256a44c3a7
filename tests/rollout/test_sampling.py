"""Token choice."""

from __future__ import annotations

import pytest
import torch
from starlab.rollout.episode import Decoding
from starlab.rollout.sampling import Noise, choose


def test_frequencies_follow_the_tempered_distribution():
    logits = torch.tensor([0.0, 1.0, 2.0, -1.0]).expand(20_000, 4)
    noise = [Noise(0, "q", i) for i in range(200)] * 100
    tokens, logprobs, _ = choose(logits, Decoding(0.7), noise)
    expected = torch.softmax(logits[0] / 0.7, -1)
    seen = torch.bincount(torch.tensor(tokens), minlength=4) / len(tokens)
    assert torch.allclose(seen, expected, atol=0.012)
    assert logprobs[0] == pytest.approx(expected[tokens[0]].log().item(), abs=1e-6)


def test_top_p_keeps_the_smallest_sufficient_set():
    logits = torch.log(torch.tensor([[0.2, 0.5, 0.05, 0.25]])).expand(3000, 4)
    tokens, logprobs, _ = choose(logits, Decoding(1.0, top_p=0.7), [Noise(0, "q", i) for i in range(3000)])
    assert set(tokens) == {1, 3}
    # the reported log-probability is that of the whole distribution
    assert {round(p, 4) for p in logprobs} == {round(torch.tensor(p).log().item(), 4) for p in (0.5, 0.25)}


def test_the_largest_noise_never_picks_an_impossible_token():
    class One:
        def next(self):
            return 1.0 - 2.0**-53

    logits = torch.tensor([[0.0, 1.0, float("-inf"), float("-inf")]])
    assert choose(logits, Decoding(), [One()])[0] == [1]


def test_greedy_takes_the_best_and_reports_temperature_one():
    tokens, logprobs, _ = choose(torch.tensor([[0.0, 3.0, 1.0]]), Decoding(0.0), [])
    assert tokens == [1]
    assert logprobs[0] == pytest.approx(torch.log_softmax(torch.tensor([0.0, 3.0, 1.0]), -1)[1].item())


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_entropy_of_the_distribution(temperature):
    uniform, certain = torch.zeros(1, 4), torch.tensor([[0.0, 100.0, 0.0, 0.0]])
    entropies = choose(torch.cat([uniform, certain]), Decoding(temperature), [Noise(0, "q", i) for i in range(2)])[2]
    assert entropies == pytest.approx([1.386294, 0.0], abs=1e-6)


def test_noise_depends_on_seed_query_and_index_only():
    def first(*args):
        source = Noise(*args)
        return [source.next() for _ in range(300)]

    assert first(1, "q", 0) == first(1, "q", 0)
    assert len({tuple(first(*args)) for args in ((1, "q", 0), (2, "q", 0), (1, "p", 0), (1, "q", 1))}) == 4
