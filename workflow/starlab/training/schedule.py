"""Which prompts a run sees, in which order: a function of the seed and the list of prompts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..seeds import generator


def schedule(ids: Sequence[str], steps: int, prompts: int, seed: int) -> list[str]:
    """`steps * prompts` ids: one seeded permutation after another, so that any data size gives the same
    number of steps.

    Within a step an id repeats only if there are fewer ids than prompts.
    """
    order: list[str] = []
    epoch = 0
    while len(order) < steps * prompts:
        shuffled = list(ids)
        generator("prompt-order", seed, epoch).shuffle(shuffled)
        opened = len(order) % prompts
        if opened and len(ids) >= prompts:
            # a step that spans two permutations: what it has seen already moves behind what it takes next
            seen = set(order[-opened:])
            shuffled.sort(key=lambda name: name in seen)
        order.extend(shuffled)
        epoch += 1
    return order[: steps * prompts]


def reserve(ids: Sequence[str], taken: Sequence[str], seed: int, step: int) -> Iterator[str]:
    """Prompts to draw in place of discarded ones: those not in the step yet, in an order keyed by (seed,
    step).
    """
    busy = set(taken)
    shuffled = [name for name in ids if name not in busy]
    generator("reserve", seed, step).shuffle(shuffled)
    return iter(shuffled)
