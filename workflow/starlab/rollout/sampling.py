"""Choosing tokens: greedy, or by inverse transform with noise that belongs to the episode."""

from __future__ import annotations

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

    def next(self) -> float:
        """The next number in [0, 1)."""
        if not self._block:
            block = torch.rand(_BLOCK, generator=self._generator, dtype=torch.float64)
            self._block = block.flip(0).tolist()
        return self._block.pop()


class Choice(NamedTuple):
    """One token for each of n rows."""

    tokens: list[int]
    logprobs: list[float]
    entropies: list[float]
    """Of the distribution that `logprobs` are from, in nats."""


def choose(logits: Tensor, decoding: Decoding, noise: list[Noise]) -> Choice:
    """Choose from logits [n, vocabulary] (float32).

    The log-probability is that of softmax(logits / temperature) before top-p truncation, at temperature 1
    when greedy: the number that a training forward at the same temperature recomputes.
    """
    greedy = decoding.temperature == 0.0
    logprobs = torch.log_softmax(logits if greedy else logits / decoding.temperature, dim=-1)
    weights = logprobs.exp()
    entropies = -(weights * logprobs).sum(dim=-1)
    tokens = logprobs.argmax(dim=-1, keepdim=True) if greedy else _draw(weights, decoding.top_p, noise)
    return Choice(tokens[:, 0].tolist(), logprobs.gather(1, tokens)[:, 0].tolist(), entropies.tolist())


def _draw(weights: Tensor, top_p: float, noise: list[Noise]) -> Tensor:
    """[n, 1] tokens drawn with probabilities proportional to weights [n, vocabulary]."""
    if top_p < 1.0:
        weights = _nucleus(weights, top_p)
    cumulative = weights.cumsum(dim=-1, dtype=torch.float64)
    total = cumulative[:, -1]
    drawn = torch.tensor([source.next() for source in noise], dtype=torch.float64, device=weights.device) * total
    # rounding may lift the product to the total itself, where no token would be left
    drawn = torch.minimum(drawn, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulative, drawn[:, None], right=True)


def _nucleus(weights: Tensor, top_p: float) -> Tensor:
    """Zero the tokens outside the smallest set, by falling probability, whose mass reaches `top_p`."""
    ordered, order = weights.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered
    return torch.zeros_like(weights).scatter(1, order, ordered.masked_fill(before >= top_p, 0.0))
