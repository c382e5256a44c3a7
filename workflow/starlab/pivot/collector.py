"""Rollouts of one training step on pivots: one turn from each stored prefix, judged by a verifier."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..protocol import FormatError
from ..rewards import RewardStatus, Scored
from ..rollout.episode import Decoding, Episode, StopReason
from ..seeds import derive
from ..tasks import Grade, Status
from ..training.collection import Collected
from ..training.groups import Group, Sample
from ..training.tally import mean, tally
from .candidates import Turn
from .turns import TurnEngine
from .verifiers import Verdict, Verifier


class CollectedTurns(Collected):
    """A step's groups of single turns."""

    def loss_masks(self) -> list[list[int]]:
        """1 on sampled tokens. A turn that a length limit cut off leaves the loss, as in whole episodes; one that ends
        with a tool call is complete."""
        return [
            [0] * len(sample.episode.mask) if _cut_off(sample.episode) else sample.episode.mask
            for sample in self.samples
        ]


@dataclass(slots=True)
class TurnCollector:
    """Collects the turns of a run. Everything random is keyed by (seed, step), so that a resumed run collects what the
    uninterrupted one would have."""

    engine: TurnEngine
    turns: Mapping[str, Turn]
    verifier: Verifier
    decoding: Decoding
    group: int
    seed: int
    _judged: dict[tuple[str, str | None], Verdict] = field(default_factory=dict)

    def collect(self, ids: Sequence[str], step: int) -> CollectedTurns:
        """The groups of step `step` (from 0), whose scheduled states are `ids`."""
        started = time.perf_counter()
        occurrences: Counter[str] = Counter()
        requests = []
        for name in ids:
            # a state that is in the step twice gets other noise the second time
            requests.append((self.turns[name], self.group, occurrences[name] * self.group))
            occurrences[name] += 1
        episodes = self.engine.sample(requests, self.decoding, derive("rollout", self.seed, step, 0))
        samples = [self._sample(episode) for episode in episodes]
        groups = tuple(Group(tuple(samples[i : i + self.group])) for i in range(0, len(samples), self.group))
        numbers = _numbers(groups)
        numbers["rollout_seconds"] = time.perf_counter() - started
        return CollectedTurns(groups, numbers)

    def _sample(self, episode: Episode) -> Sample:
        turn, text = self.turns[episode.query_id], self.engine.text(episode)
        key = (turn.id, text)
        if key not in self._judged:  # verdicts are pure, and a policy often says the same
            self._judged[key] = self.verifier(turn.task, turn.candidate, text)
        status = RewardStatus.SCORED if episode.well_formed else RewardStatus.FORMAT_ERROR
        # what a turn is worth is the verdict; there is no episode to grade
        return Sample(episode, Grade(Status.UNDELIVERED, {}), Scored(self._judged[key].value, status))


def _cut_off(episode: Episode) -> bool:
    return episode.error is FormatError.TRUNCATED


def _numbers(groups: Sequence[Group]) -> dict[str, float]:
    samples = [sample for group in groups for sample in group.samples]
    episodes = [sample.episode for sample in samples]
    answers = [sample.scored.value for sample in samples if sample.episode.stop is StopReason.ANSWERED]
    calls = [sample.scored.value for sample in samples if sample.episode.stop is StopReason.TURN_LIMIT]
    numbers = {
        **tally(groups),
        "overlong": mean([_cut_off(episode) for episode in episodes]),
        "masked_episodes": sum(map(_cut_off, episodes)),
        "answers": len(answers) / len(episodes),
        "answer_reward": mean(answers),
        "call_reward": mean(calls),
        "turns": mean([episode.own_turns for episode in episodes]),
        "episodes": len(episodes),
        "generated_tokens": sum(episode.sampled_tokens for episode in episodes),
        "rollout_turns": sum(episode.own_turns for episode in episodes),
    }
    return {name: float(value) for name, value in numbers.items()}
