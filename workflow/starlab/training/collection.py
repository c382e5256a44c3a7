"""Rollouts of one training step: episodes, grades, rewards, the algorithm's selection, and what is reported
of them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .. import rewards
from ..errors import StarlabError
from ..protocol import FormatError
from ..rollout.engine import Engine
from ..rollout.episode import Decoding, Episode, Request
from ..seeds import derive
from ..tasks import Task
from ..travel.faults import Faults
from .algorithms import Algorithm, Selection
from .groups import Group, Sample
from .schedule import reserve


@dataclass(frozen=True, slots=True)
class Collected:
    """A step's groups, ready for the loss, and numbers about everything that was generated for it."""

    groups: tuple[Group, ...]
    numbers: dict[str, float]

    @property
    def samples(self) -> list[Sample]:
        return [sample for group in self.groups for sample in group.samples]

    def loss_masks(self) -> list[list[int]]:
        """1 where a token is trained on: sampled, in an episode that no limit cut off, in a group that is not
        muted.
        """
        return [
            [0] * len(sample.episode.mask) if group.muted or sample.episode.overlong else sample.episode.mask
            for group in self.groups
            for sample in group.samples
        ]


@dataclass(slots=True)
class Collector:
    """Collects the episodes of a run. Everything random is keyed by (seed, step, round), never by a running
    state, so that a resumed run collects what the uninterrupted one would have."""

    engine: Engine
    tasks: Mapping[str, Task]
    algorithm: Algorithm
    reward: rewards.Reward
    decoding: Decoding
    group: int
    steps: int
    seed: int
    fault_probability: float = 0.0
    generated: list[Group] = field(default_factory=list)

    def collect(self, ids: Sequence[str], step: int) -> Collected:
        """The groups of step `step` (from 0), whose scheduled prompts are `ids`."""
        started = time.perf_counter()
        self.generated = []
        spare = reserve(list(self.tasks), ids, self.seed, step)

        def draw(round_: int, count: int) -> list[Group]:
            drawn = [name for name, _ in zip(spare, range(count), strict=False)]
            return self._generate(drawn, step, round_ + 1) if drawn else []

        first = self._generate(ids, step, 0)
        selection = self.algorithm.select(first, draw)
        numbers = self._numbers(first, selection)
        numbers["rollout_seconds"] = time.perf_counter() - started
        return Collected(selection.groups, numbers)

    def _generate(self, ids: Sequence[str], step: int, round_: int) -> list[Group]:
        occurrences: Counter[str] = Counter()
        requests = []
        for name in ids:
            # a prompt that is in the step twice gets other noise the second time
            requests.append(Request(self.tasks[name], self.group, occurrences[name] * self.group))
            occurrences[name] += 1
        faults = None
        if self.fault_probability:
            faults = Faults(self.fault_probability, derive("training-faults", self.seed, step))
        seed = derive("rollout", self.seed, step, round_)
        episodes = self.engine.generate(requests, self.decoding, seed, faults)
        samples = [self._sample(episode, step) for episode in episodes]
        groups = [Group(tuple(samples[i : i + self.group])) for i in range(0, len(samples), self.group)]
        self.generated.extend(groups)
        return groups

    def _sample(self, episode: Episode, step: int) -> Sample:
        if not episode.completion_ids:
            raise StarlabError(
                f"rl.max_tokens: {self.engine.limits.total_tokens} leaves no room after the"
                f" {len(episode.prompt_ids)} tokens of query {episode.query_id}'s prompt; raise it"
            )
        grade = self.tasks[episode.query_id].grade(episode.answer)
        return Sample(episode, grade, rewards.score(self.reward, grade, episode.well_formed, step, self.steps))

    def _numbers(self, first: Sequence[Group], selection: Selection) -> dict[str, float]:
        """Means over the scheduled prompts' episodes, so that algorithms that select stay comparable; costs
        over all.
        """
        samples = [sample for group in first for sample in group.samples]
        episodes = [sample.episode for sample in samples]
        everything = [sample.episode for group in self.generated for sample in group.samples]
        calls = [call for episode in episodes for call in episode.calls]
        numbers = {
            "reward": _mean([sample.scored.value for sample in samples]),
            "reward_spread": _mean([max(group.rewards) - min(group.rewards) for group in first]),
            "zero_spread": _mean([not group.has_spread for group in first]),
            "format_errors": _mean([not episode.well_formed for episode in episodes]),
            "unparseable": _mean([s.scored.status is rewards.RewardStatus.UNPARSEABLE for s in samples]),
            "overlong": _mean([episode.overlong for episode in episodes]),
            "calls": _mean([len(episode.calls) for episode in episodes]),
            "call_failures": _mean([call.failed for call in calls]),
            "turns": _mean([episode.turns for episode in episodes]),
            "entropy": sum(sum(e.entropies) for e in episodes) / max(1, sum(e.sampled_tokens for e in episodes)),
            "sampled_tokens": _mean([episode.sampled_tokens for episode in episodes]),
            "episode_tokens": _mean([len(e.prompt_ids) + len(e.completion_ids) for e in episodes]),
            "masked_episodes": sum(
                group.muted or sample.episode.overlong for group in selection.groups for sample in group.samples
            ),
            "discarded_groups": selection.discarded,
            "refill_rounds": selection.rounds,
            "unfilled_groups": selection.unfilled,
            "episodes": len(everything),
            "generated_tokens": sum(episode.sampled_tokens for episode in everything),
            "rollout_turns": sum(sampled_turns(episode) for episode in everything),
        }
        for name in ("delivered", "cs_micro", "cs_macro", "hard_micro", "hard_macro", "success"):
            numbers[name] = _mean([sample.grade.metrics.get(name, 0.0) for sample in samples])
        kinds = Counter(episode.error for episode in episodes)
        for error in FormatError:
            numbers[f"format_error/{error.name.lower()}"] = kinds[error] / len(episodes)
        return {name: float(value) for name, value in numbers.items()}


def sampled_turns(episode: Episode) -> int:
    """Assistant turns that were sampled, one that a limit cut off included: the unit of PivotRL's accounting."""
    return episode.turns + (episode.error is FormatError.TRUNCATED)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
