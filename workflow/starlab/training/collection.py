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
from ..rollout.engine import Engine
from ..rollout.episode import Decoding, Episode, Request
from ..rollout.vllm import VllmEngine
from ..seeds import derive
from ..tasks import Task
from ..travel.faults import PAPER, Faults
from .algorithms import Algorithm, Selection
from .groups import Group, Sample
from .schedule import reserve
from .tally import mean, tally


@dataclass(frozen=True, slots=True)
class Collected:
    """A step's groups, ready for the loss, and numbers about everything that was generated for it."""

    groups: tuple[Group, ...]
    numbers: dict[str, float]
    shaping: tuple[float, ...] = ()
    """What the algorithm adds to the reward of each sample; empty: nothing."""

    @property
    def samples(self) -> list[Sample]:
        return [sample for group in self.groups for sample in group.samples]

    def rewards(self) -> list[float]:
        """What advantages are made of: raw rewards, shaped."""
        values = [sample.scored.value for sample in self.samples]
        return [value + added for value, added in zip(values, self.shaping, strict=True)] if self.shaping else values

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

    engine: Engine | VllmEngine
    tasks: Mapping[str, Task]
    algorithm: Algorithm
    reward: rewards.Reward
    decoding: Decoding
    group: int
    steps: int
    seed: int
    fault_probability: float = 0.0
    fault_kind: str = PAPER
    signals: list[float] = field(default_factory=list)
    """`success_spread` of the finished steps, for rewards that look back; a resumed run starts with those on record."""
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
        self.engine.drain()
        numbers = self._numbers(first, selection)
        self.signals[step:] = [numbers["success_spread"]]
        numbers["rollout_seconds"] = time.perf_counter() - started
        limit = self.engine.limits.total_tokens
        episodes = [sample.episode for group in selection.groups for sample in group.samples]
        lengths = [len(episode.prompt_ids) + len(episode.completion_ids) for episode in episodes]
        shaping = tuple(self.algorithm.shaping(length, limit) for length in lengths)
        return Collected(selection.groups, numbers, shaping)

    def _generate(self, ids: Sequence[str], step: int, round_: int) -> list[Group]:
        occurrences: Counter[str] = Counter()
        requests = []
        for name in ids:
            # a prompt that is in the step twice gets other noise the second time
            requests.append(Request(self.tasks[name], self.group, occurrences[name] * self.group))
            occurrences[name] += 1
        faults = None
        if self.fault_probability:
            key = derive("training-faults", self.seed, step)
            faults = Faults(self.fault_probability, key, self.fault_kind)
        seed = derive("rollout", self.seed, step, round_)
        branching = self.algorithm.branching(self.group)
        episodes = self.engine.generate(requests, self.decoding, seed, faults, branching)
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
        progress = rewards.Progress(step, self.steps, self.signals[:step])
        return Sample(episode, grade, rewards.score(self.reward, grade, episode.well_formed, progress))

    def _numbers(self, first: Sequence[Group], selection: Selection) -> dict[str, float]:
        """Means over the scheduled prompts' episodes, so that algorithms that select stay comparable; costs
        over all.
        """
        samples = [sample for group in first for sample in group.samples]
        episodes = [sample.episode for sample in samples]
        everything = [sample.episode for group in self.generated for sample in group.samples]
        calls = [call for episode in episodes for call in episode.calls]
        numbers = {
            **tally(first),
            "success_spread": mean([_differs(group, "success") for group in first]),
            "unparseable": mean([s.scored.status is rewards.RewardStatus.UNPARSEABLE for s in samples]),
            "overlong": mean([episode.overlong for episode in episodes]),
            "undelivered": mean([s.scored.status is rewards.RewardStatus.UNDELIVERED for s in samples]),
            "calls": mean([len(episode.calls) for episode in episodes]),
            "call_failures": mean([call.failed for call in calls]),
            "turns": mean([episode.turns for episode in episodes]),
            "sampled_tokens_max": max(episode.sampled_tokens for episode in episodes),
            "masked_episodes": sum(
                group.muted or sample.episode.overlong for group in selection.groups for sample in group.samples
            ),
            "discarded_groups": selection.discarded,
            "refill_rounds": selection.rounds,
            "unfilled_groups": selection.unfilled,
            "episodes": len(everything),
            "generated_tokens": sum(episode.own_tokens for episode in everything),
            "rollout_turns": sum(episode.own_turns for episode in everything),
            "branches": sum(episode.parent is not None for episode in everything),
        }
        for name in ("delivered", "cs_micro", "cs_macro", "hard_micro", "hard_macro", "success"):
            numbers[name] = mean([sample.grade.metrics.get(name, 0.0) for sample in samples])
        return {name: float(value) for name, value in numbers.items()}


def _differs(group: Group, metric: str) -> bool:
    """Whether the episodes of a group differ in a metric of their grades."""
    return len({sample.grade.metrics.get(metric, 0.0) for sample in group.samples}) > 1
