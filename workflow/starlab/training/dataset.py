"""What SFT trains on: the teacher's dialogues mixed with general tool use, as token ids with labels.

Dialogues are encoded by us, stretch by stretch as in a rollout: chat-template tokenisation inside a trainer
would depend on its version, and `datasets` merges the arguments of different tools into one structure.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StarlabError
from ..files import MEND, json_lines
from ..policy.encoding import IGNORED, Encoded, encode_dialogues
from ..protocol import Message
from ..seeds import generator

WINDOW = 8
"""Batches whose examples are sorted by length together, so that little of a batch is padding."""


@dataclass(frozen=True, slots=True)
class Example:
    """Token ids of a dialogue and, of the same length, labels: the id where the assistant speaks, `IGNORED`
    elsewhere.
    """

    input_ids: list[int]
    labels: list[int]

    @staticmethod
    def of(encoded: Encoded) -> Example:
        ids, mask = encoded
        return Example(ids, [token if spoken else IGNORED for token, spoken in zip(ids, mask, strict=True)])


def trajectory_rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """(file:line, row) of a trajectories file: JSON lines with a field `messages` that ends with an assistant's
    turn. StarlabError naming file and line else.
    """
    if not path.is_file():
        raise StarlabError(f"{path}: missing; make the teacher's trajectories first")
    rows = list(json_lines(path, MEND))
    for place, row in rows:
        try:
            speaks_last = row["messages"][-1]["role"] == "assistant"
        except (KeyError, IndexError, TypeError) as error:
            raise StarlabError(f"{place}: not a trajectory ({error!r}); {MEND}") from error
        if not speaks_last:
            raise StarlabError(f"{place}: `messages` does not end with an assistant's turn; {MEND}")
    if not rows:
        raise StarlabError(f"{path}: no trajectories; raise the teacher's skill or the number of SFT queries")
    return rows


def read_trajectories(path: Path) -> list[list[Message]]:
    """The dialogues of a trajectories file."""
    return [row["messages"] for _, row in trajectory_rows(path)]


def mixture(
    tokenizer: Any,
    dialogues: Sequence[Sequence[Message]],
    *,
    replay: float,
    epochs: float,
    batch: int,
    seed: int,
    skills: Mapping[str, Any] | None = None,
) -> list[Example]:
    """All examples of a run in the order of training: `epochs` permutations of the dialogues, each mixed with
    replay.

    `replay` is the share of general tool-use dialogues; they are drawn afresh (by `policy.skills.skills` in the shares
    of pretraining, or by `skills` in equal shares) and never repeat.
    """
    if not 0.0 <= replay < 1.0:
        raise StarlabError(f"sft.replay: {replay} is not in [0, 1)")
    shares: Mapping[str, float] = dict.fromkeys(skills or (), 1.0)
    if skills is None:
        from ..policy.bases import WEIGHTS
        from ..policy.skills import skills as every

        skills, shares = every(), WEIGHTS
    rng = generator("sft-order", seed)
    documents = _replay(skills, shares, generator("sft-replay", seed))
    encoded = encode_dialogues(tokenizer, dialogues)
    ordered: list[Example] = []
    remaining = round(epochs * len(dialogues))
    while remaining > 0:
        pool = rng.sample(encoded, min(remaining, len(encoded)))
        remaining -= len(pool)
        fresh = [next(documents) for _ in range(round(len(pool) * replay / (1.0 - replay)))]
        if fresh:
            pool += encode_dialogues(tokenizer, fresh)
        rng.shuffle(pool)
        ordered += _bucketed([Example.of(pair) for pair in pool], batch, rng)
    return ordered


def _replay(
    skills: Mapping[str, Any], shares: Mapping[str, float], rng: random.Random
) -> Iterator[list[Message]]:
    names = list(skills)
    weights = [shares[name] for name in names]
    while True:
        yield skills[rng.choices(names, weights)[0]](rng)


def _bucketed(examples: list[Example], batch: int, rng: random.Random) -> list[Example]:
    """Group examples of like length into batches inside windows, and shuffle the batches; a short batch comes
    last.
    """
    batches: list[list[Example]] = []
    for start in range(0, len(examples), batch * WINDOW):
        window = sorted(examples[start : start + batch * WINDOW], key=lambda e: len(e.input_ids))
        batches += [window[i : i + batch] for i in range(0, len(window), batch)]
    rng.shuffle(batches)
    batches.sort(key=lambda group: len(group) < batch)
    return [example for group in batches for example in group]
