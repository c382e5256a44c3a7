"""Token choice."""

from __future__ import annotations

import pytest
import torch
from starlab.rollout.episode import Decoding
from starlab.rollout.sampling import Noise, choose


def one_each(logits, decoding, noise):
    """Tokens and log-probabilities for rows that one episode each draws from."""
    tokens, logprobs, _ = choose(logits, decoding, [[source] for source in noise])
    return [token for (token,) in tokens], [logprob for (logprob,) in logprobs]


def test_peeked_numbers_stay_until_they_are_dropped():
    source, same = Noise(0, "q", 0), Noise(0, "q", 0)
    numbers = same.peek(300)
    assert source.peek(2) == numbers[:2]
    source.drop(2)
    assert source.peek(298) == numbers[2:]


def test_lines_and_askers_draw_independently_of_their_company():
    """Two rows of two lines; the first has two askers. Each gets what it would get alone, line by line."""
    logits = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    noise = [[Noise(0, "q", 0), Noise(0, "q", 1)], [Noise(0, "p", 0)]]
    tokens, logprobs, entropies = choose(logits, Decoding(), noise, width=2)
    for row, column, name in ((0, 0, ("q", 0)), (0, 1, ("q", 1)), (1, 0, ("p", 0))):
        source = Noise(0, *name)
        for line in (2 * row, 2 * row + 1):
            alone = choose(logits[line : line + 1], Decoding(), [[source]])
            source.drop(1)
            assert tokens[line][column] == alone.tokens[0][0]
            assert logprobs[line][column] == pytest.approx(alone.logprobs[0][0])
            assert entropies[line] == pytest.approx(alone.entropies[0])


def test_frequencies_follow_the_tempered_distribution():
    logits = torch.tensor([0.0, 1.0, 2.0, -1.0]).expand(20_000, 4)
    noise = [Noise(0, "q", i) for i in range(20_000)]
    tokens, logprobs = one_each(logits, Decoding(0.7), noise)
    expected = torch.softmax(logits[0] / 0.7, -1)
    seen = torch.bincount(torch.tensor(tokens), minlength=4) / len(tokens)
    assert torch.allclose(seen, expected, atol=0.012)
    assert logprobs[0] == pytest.approx(expected[tokens[0]].log().item(), abs=1e-6)


def test_top_p_keeps_the_smallest_sufficient_set():
    logits = torch.log(torch.tensor([[0.2, 0.5, 0.05, 0.25]])).expand(3000, 4)
    tokens, logprobs = one_each(logits, Decoding(1.0, top_p=0.7), [Noise(0, "q", i) for i in range(3000)])
    assert set(tokens) == {1, 3}
    # the reported log-probability is that of the whole distribution
    assert {round(p, 4) for p in logprobs} == {round(torch.tensor(p).log().item(), 4) for p in (0.5, 0.25)}


def test_the_largest_noise_never_picks_an_impossible_token():
    class One:
        def peek(self, count):
            return [1.0 - 2.0**-53] * count

    logits = torch.tensor([[0.0, 1.0, float("-inf"), float("-inf")]])
    assert one_each(logits, Decoding(), [One()])[0] == [1]


def test_greedy_takes_the_best_and_reports_temperature_one():
    tokens, logprobs = one_each(torch.tensor([[0.0, 3.0, 1.0]]), Decoding(0.0), [Noise(0, "q", 0)])
    assert tokens == [1]
    assert logprobs[0] == pytest.approx(torch.log_softmax(torch.tensor([0.0, 3.0, 1.0]), -1)[1].item())


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_entropy_of_the_distribution(temperature):
    uniform, certain = torch.zeros(1, 4), torch.tensor([[0.0, 100.0, 0.0, 0.0]])
    noise = [[Noise(0, "q", i)] for i in range(2)]
    entropies = choose(torch.cat([uniform, certain]), Decoding(temperature), noise).entropies
    assert entropies == pytest.approx([1.386294, 0.0], abs=1e-6)


def test_noise_depends_on_seed_query_and_index_only():
    def first(*args):
        return Noise(*args).peek(300)

    assert first(1, "q", 0) == first(1, "q", 0)
    assert len({tuple(first(*args)) for args in ((1, "q", 0), (2, "q", 0), (1, "p", 0), (1, "q", 1))}) == 4
