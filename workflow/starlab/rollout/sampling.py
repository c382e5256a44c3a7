"""Choosing tokens: greedy, or by inverse transform with noise that belongs to the episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..seeds import derive
from .episode import Decoding

_BLOCK = 128


class Noise:
    """Uniform numbers of one episode, from (seed, query, episode index) alone: what an episode samples does
    not depend on which other episodes share its batch."""

    def __init__(self, seed: int, query_id: str, index: int) -> None:
        self._generator = torch.Generator().manual_seed(derive("rollout-noise", seed, query_id, index))
        self._block: list[float] = []
        self._used = 0

    def peek(self, count: int) -> list[float]:
        """The next `count` numbers in [0, 1); they stay."""
        while len(self._block) < self._used + count:
            self._block.extend(torch.rand(_BLOCK, generator=self._generator, dtype=torch.float64).tolist())
        return self._block[self._used : self._used + count]

    def drop(self, count: int) -> None:
        """Forget the next `count` numbers: they have been used."""
        self._used += count


class Choice(NamedTuple):
    """What each asker of each line of logits gets; entropies belong to lines."""

    tokens: list[list[int]]
    logprobs: list[list[float]]
    entropies: list[float]
    """Of the distribution that `logprobs` are from, in nats."""

    def lines(self, first: int, count: int) -> Choice:
        """Those of `count` lines from `first` on."""
        part = slice(first, first + count)
        return Choice(self.tokens[part], self.logprobs[part], self.entropies[part])


def choose(logits: Tensor, decoding: Decoding, noise: Sequence[Sequence[Noise]], width: int = 1) -> Choice:
    """Choose from logits [n * width, vocabulary] (float32): `width` lines in a row for each of n rows.

    Every source in `noise[row]` asks each of the row's lines for a token, line by line with its coming numbers, which
    it keeps: the caller drops those that it has used. The log-probability is that of softmax(logits / temperature)
    before top-p truncation, at temperature 1 when greedy: the number that a training forward at the same temperature
    recomputes.
    """
    greedy = decoding.temperature == 0.0
    logprobs = torch.log_softmax(logits if greedy else logits / decoding.temperature, dim=-1)
    weights = logprobs.exp()
    entropies = -torch.linalg.vecdot(weights, logprobs)
    askers = max(map(len, noise))
    if greedy:
        tokens = logprobs.argmax(dim=-1, keepdim=True).expand(-1, askers)
    else:
        numbers = [_columns(sources, width, askers) for sources in noise]
        drawn = torch.tensor(numbers, dtype=torch.float64, device=logits.device).view(len(logits), askers)
        tokens = _draw(weights, decoding.top_p, drawn)
    return Choice(tokens.tolist(), logprobs.gather(1, tokens).tolist(), entropies.tolist())


def _columns(sources: Sequence[Noise], width: int, askers: int) -> list[list[float]]:
    """[width][askers] coming numbers of a row's sources; places without one are filled up."""
    numbers = [source.peek(width) for source in sources]
    numbers.extend([[0.0] * width] * (askers - len(sources)))
    return [list(line) for line in zip(*numbers, strict=True)]


def _draw(weights: Tensor, top_p: float, uniform: Tensor) -> Tensor:
    """Tokens [n, m] for uniform numbers [n, m], with probabilities proportional to weights [n, vocabulary]."""
    if top_p < 1.0:
        weights = _nucleus(weights, top_p)
    cumulative = weights.cumsum(dim=-1, dtype=torch.float64)
    total = cumulative[:, -1:]
    # rounding may lift the product to the total itself, where no token would be left
    drawn = torch.minimum(uniform * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulative, drawn, right=True)


def _nucleus(weights: Tensor, top_p: float) -> Tensor:
    """Zero the tokens outside the smallest set, by falling probability, whose mass reaches `top_p`."""
    ordered, order = weights.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered
    return torch.zeros_like(weights).scatter(1, order, ordered.masked_fill(before >= top_p, 0.0))
