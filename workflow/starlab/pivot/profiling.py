"""Profiling: what the frozen SFT policy does in every candidate state (PivotRL, pipeline step 2).

K turns are sampled from each state and kept as texts, so that any verifier can judge them later without sampling
again: one profile serves all cells of a scale and seed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import StarlabError
from ..files import json_lines, write_atomically
from ..rollout.episode import Decoding
from ..seeds import derive
from .candidates import Turn
from .selection import Statistics, statistics
from .turns import TurnEngine
from .verifiers import Verifier

Samples = Mapping[str | None, int]
"""Sampled turns of one state: text (None: cut off) -> how often."""

CHUNK = 256
"""States that are sampled in one call of the engine; a matter of memory only."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The samples of every state, by candidate id, and what they cost."""

    samples: Mapping[str, Samples]
    turns: int
    tokens: int

    def rewards(self, turns: Sequence[Turn], verifier: Verifier) -> dict[str, list[float]]:
        """Candidate id -> rewards of its samples. StarlabError for a state that was not profiled."""
        found = {}
        for turn in turns:
            if turn.id not in self.samples:
                raise StarlabError(f"pivot: turn {turn.id} is not in the profile; make the profile again")
            found[turn.id] = [
                value
                for text, count in self.samples[turn.id].items()
                for value in [verifier(turn.task, turn.candidate, text).value] * count
            ]
        return found

    def statistics(self, turns: Sequence[Turn], verifier: Verifier) -> dict[str, Statistics]:
        """Candidate id -> mean and variance of its rewards."""
        return {name: statistics(rewards) for name, rewards in self.rewards(turns, verifier).items()}


def profile(engine: TurnEngine, turns: Sequence[Turn], samples: int, decoding: Decoding, seed: int) -> Profile:
    """Sample `samples` turns from every state. Deterministic in (weights, states, samples, decoding, seed)."""
    counted: dict[str, Counter[str | None]] = {}
    tokens = 0
    for start in range(0, len(turns), CHUNK):
        requests = [(turn, samples, 0) for turn in turns[start : start + CHUNK]]
        for episode in engine.sample(requests, decoding, derive("pivot-profile", seed)):
            counted.setdefault(episode.query_id, Counter())[engine.text(episode)] += 1
            tokens += episode.sampled_tokens
    return Profile(counted, len(turns) * samples, tokens)


def pivots(turns: Sequence[Turn], found: Mapping[str, Statistics], mean_below: float) -> list[Turn]:
    """The states that pass the filter, in order. StarlabError if none does."""
    kept = [turn for turn in turns if found[turn.id].is_pivot(mean_below)]
    if not kept:
        raise StarlabError(
            f"pivot.mean_below: of {len(turns)} profiled turns none has mixed results and a mean below {mean_below};"
            " raise it, profile more `candidates`, or raise `samples`"
        )
    return kept


def save(profile: Profile, path: Path) -> None:
    """One line a state, after a line with what profiling cost."""
    lines = [json.dumps({"turns": profile.turns, "tokens": profile.tokens})]
    for name, samples in profile.samples.items():
        counted = [[text, count] for text, count in samples.items()]
        lines.append(json.dumps({"id": name, "samples": counted}, ensure_ascii=False))
    write_atomically(path, "\n".join(lines) + "\n")


def load(path: Path) -> Profile:
    """Read a saved profile. Raises StarlabError naming file, line and field."""
    rows = [row for _, row in json_lines(path, "make the profile again")]
    try:
        head, states = rows[0], rows[1:]
        samples = {row["id"]: {text: int(count) for text, count in row["samples"]} for row in states}
        return Profile(samples, int(head["turns"]), int(head["tokens"]))
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise StarlabError(f"{path}: not a profile ({error!r}); make it again") from error
