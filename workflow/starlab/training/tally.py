"""What a step's rollouts say of themselves, whether they are whole episodes or single turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..protocol import FormatError
from .groups import Group


def tally(groups: Sequence[Group]) -> dict[str, float]:
    """Means over the samples of `groups`, by the names of `training.metrics`."""
    samples = [sample for group in groups for sample in group.samples]
    episodes = [sample.episode for sample in samples]
    kinds = Counter(episode.error for episode in episodes)
    return {
        "reward": mean([sample.scored.value for sample in samples]),
        "reward_spread": mean([max(group.rewards) - min(group.rewards) for group in groups]),
        "zero_spread": mean([not group.has_spread for group in groups]),
        "format_errors": mean([not episode.well_formed for episode in episodes]),
        "entropy": sum(sum(e.entropies) for e in episodes) / max(1, sum(e.sampled_tokens for e in episodes)),
        "sampled_tokens": mean([episode.sampled_tokens for episode in episodes]),
        "episode_tokens": mean([len(e.prompt_ids) + len(e.completion_ids) for e in episodes]),
        **{f"format_error/{error.name.lower()}": kinds[error] / len(episodes) for error in FormatError},
    }


def mean(values: Sequence[float]) -> float:
    """0 of nothing."""
    return sum(values) / len(values) if values else 0.0
