"""Pretrain a base model of the ladder on atomic skills, and measure them.

Paid once: the repository ships the weights, `snakemake base_models` makes them again. The recipe follows what was
measured (docs/tuning.md): plain initialisation, a first stretch of repetition and associative recall until copying
works, then all skills at once in short dialogues, at the end in long ones; on worlds drawn afresh for every dialogue.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from ..errors import StarlabError
from ..provenance import file_sha256
from ..seeds import derive, generator
from .encoding import Encoded, after_thoughts, encode_dialogues
from .ladder import Architecture, build_model
from .skills import AFTER_THOUGHTS, CHEAP_SHARE, MEASURED, skills

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase, Qwen2ForCausalLM

COPYING = ("repeat", "recall", "filter", "rows")
CHUNK = 256
CHECK = 100
GIVE_UP = 4
"""Copying that has not formed after this many times its least number of steps will not."""


@dataclass(frozen=True, slots=True)
class PretrainingSpec:
    """How a base model is made."""

    architecture: Architecture
    weights: Mapping[str, float]
    """Share of every skill, up to a factor, once copying works."""
    steps: int
    """Steps on that mixture in short dialogues."""
    decay_steps: int
    """Steps, the last ones, over which the rate falls to nothing."""
    copying_steps: int
    """Least number of steps, before the mixture, on repetition, recall and filtering of bare rows alone."""
    copied: float = 0.8
    """Mastery of recall that ends them, looked at every `CHECK` steps."""
    long_steps: int = 0
    """Steps on the same mixture in long dialogues, at the end."""
    cheap: float = CHEAP_SHARE
    """Share of stays and rows that ask for the cheapest."""
    tokens_per_step: int = 2048
    """Tokens a step, padding not counted."""
    copying_rate: float = 0.015
    """Rate of Muon (for the matrices of the decoder layers) before the mixture."""
    rate: float = 0.006
    """Rate of Muon on the mixture."""
    long_rate: float = 0.004
    """Rate of Muon at the start of the long dialogues, with new momenta; it falls in a line to nothing."""
    embedding_rate: float = 0.2
    """Rate of AdamW (for embeddings, norms and biases) as a share of Muon's."""
    warmup: int = 100
    seed: int = 0

    def rate_at(self, step: int, left: int | None) -> float:
        """Muon's rate at `step` (from 1); `left`: how many more follow on the mixture, None before it."""
        if left is None:
            return self.copying_rate * min(1.0, step / self.warmup)
        return self.rate * min(1.0, max(0.02, left / self.decay_steps))

    def long_rate_at(self, step: int) -> float:
        """Muon's rate at `step` (from 1) of the long dialogues."""
        return self.long_rate * min(1.0, step / self.warmup, max(0.02, 1.0 - step / self.long_steps))


@dataclass(slots=True)
class Stream:
    """Endless batches of about `tokens_per_step` tokens, dialogues of like length together."""

    tokenizer: PreTrainedTokenizerBase
    spec: PretrainingSpec
    long: bool = False
    """Whether dialogues are long ones."""
    copying: bool = False
    """Whether the next dialogues are drawn from `COPYING` or from the mixture."""

    def __iter__(self) -> Iterator[list[Encoded]]:
        rng = generator("long" if self.long else "pretraining", self.spec.seed)
        sample = skills(self.long, self.spec.cheap)
        while True:
            weights = dict.fromkeys(COPYING, 1.0) if self.copying else self.spec.weights
            names = rng.choices(tuple(weights), tuple(weights.values()), k=CHUNK)
            drawn = encode_dialogues(self.tokenizer, [sample[name](rng) for name in names])
            groups = _group(sorted(drawn, key=lambda item: len(item[0])), self.spec.tokens_per_step)
            rng.shuffle(groups)
            yield from groups


def _group(dialogues: Sequence[Encoded], tokens: int) -> list[list[Encoded]]:
    """Cut a list into stretches of at most `tokens` tokens, at least one dialogue each."""
    groups: list[list[Encoded]] = [[]]
    size = 0
    for dialogue in dialogues:
        if size + len(dialogue[0]) > tokens and groups[-1]:
            groups.append([])
            size = 0
        groups[-1].append(dialogue)
        size += len(dialogue[0])
    return groups


def _rows(dialogues: Sequence[Encoded]) -> tuple[list[list[int]], list[list[int]]]:
    """Token ids, and the places where the policy speaks, dialogue by dialogue."""
    return (
        [ids for ids, _ in dialogues],
        [[place for place, said in enumerate(mask) if said and place] for _, mask in dialogues],
    )


def measure(
    model: Qwen2ForCausalLM,
    tokenizer: PreTrainedTokenizerBase,
    seed: int,
    count: int,
    names: Sequence[str] = tuple(MEASURED),
) -> dict[str, float]:
    """Share of fresh dialogues of every skill in which each spoken token is the model's first choice."""
    import torch

    from . import forward

    mastery = {}
    model.eval()
    for name in names:
        rng = generator("skills", seed, name)
        encoded = encode_dialogues(tokenizer, [MEASURED[name](rng) for _ in range(count)])
        if name in AFTER_THOUGHTS:
            encoded = [after_thoughts(tokenizer, dialogue) for dialogue in encoded]
        rows, spoken = _rows(encoded)
        with torch.no_grad():
            _, first = forward.score(model, rows, spoken)
        mastery[name] = fmean(hits.all().item() for hits in first.split([len(places) for places in spoken]))
    model.train()
    return mastery


class _Learner:
    """A model and its optimizers: Muon for the matrices of the layers, AdamW for the rest."""

    def __init__(self, model: Qwen2ForCausalLM, embedding_rate: float) -> None:
        import torch

        from .muon import Muon

        matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
        chosen = {id(p) for p in matrices}
        others = [p for p in model.parameters() if id(p) not in chosen]
        self.model = model
        self.optimizers: list[tuple[torch.optim.Optimizer, float]] = [
            (Muon(matrices, lr=0.0), 1.0),
            (torch.optim.AdamW(others, betas=(0.9, 0.95), weight_decay=0.0), embedding_rate),
        ]

    def learn(self, group: Sequence[Encoded], rate: float) -> float:
        """One step on a batch; its loss."""
        import torch

        from . import forward

        loss = -forward.score(self.model, *_rows(group))[0].mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer, share in self.optimizers:
            optimizer.param_groups[0]["lr"] = rate * share
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return loss.item()


class _Curve:
    """What is written about the way: losses, and skills on `dialogues` of each kind."""

    def __init__(self, path: Path, spec: PretrainingSpec, tokenizer: PreTrainedTokenizerBase, dialogues: int) -> None:
        self.path, self.spec, self.tokenizer, self.dialogues = path, spec, tokenizer, dialogues
        self.losses: list[float] = []
        self.started = time.process_time()
        path.write_text("")

    @property
    def cpu_seconds(self) -> float:
        return time.process_time() - self.started

    def mastery(self, model: Qwen2ForCausalLM, names: Sequence[str] = tuple(MEASURED)) -> dict[str, float]:
        return measure(model, self.tokenizer, self.spec.seed + 1, self.dialogues, names)

    def add(self, step: int, model: Qwen2ForCausalLM) -> None:
        row = {"step": step, "loss": fmean(self.losses), "cpu_seconds": self.cpu_seconds}
        row |= {f"skill/{name}": value for name, value in self.mastery(model).items()}
        self.losses.clear()
        with self.path.open("a") as file:
            file.write(json.dumps({key: round(value, 4) for key, value in row.items()}) + "\n")


def pretrain(
    spec: PretrainingSpec,
    out: Path,
    tokenizer: PreTrainedTokenizerBase,
    threads: int = 1,
    every: int = 500,
    dialogues: int = 100,
) -> None:
    """Train a base model and save it with its curve (`dialogues` of each skill every `every` steps) and card."""
    import torch

    torch.set_num_threads(threads)
    model = build_model(spec.architecture, tokenizer, derive("init", spec.seed))
    out.mkdir(parents=True, exist_ok=True)
    curve = _Curve(out / "curve.jsonl", spec, tokenizer, dialogues)
    steps = _learn_short(spec, model, curve, every)
    _learn_long(spec, model, curve, every, steps)
    model.eval()
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    write_card(model, tokenizer, spec, out, curve.cpu_seconds, 3 * dialogues)


def _learn_short(spec: PretrainingSpec, model: Qwen2ForCausalLM, curve: _Curve, every: int) -> int:
    """Copying until it works, then the mixture in short dialogues; the number of steps that took."""
    learner = _Learner(model, spec.embedding_rate)
    stream = Stream(curve.tokenizer, spec, copying=True)
    end: int | None = None  # the last step, once copying works
    for step, group in enumerate(stream, start=1):
        curve.losses.append(learner.learn(group, spec.rate_at(step, None if end is None else end - step)))
        if end is None and step >= spec.copying_steps and step % CHECK == 0:
            recall = curve.mastery(model, ["recall"])["recall"]
            if recall >= spec.copied:
                stream.copying, end = False, step + spec.steps
            elif step >= GIVE_UP * spec.copying_steps:
                raise StarlabError(f"policy: after {step} steps recall is {recall:.2f}; try another seed or rate")
        if step % every == 0 or step == end:
            curve.add(step, model)
        if step == end:
            break
    return step


def _learn_long(spec: PretrainingSpec, model: Qwen2ForCausalLM, curve: _Curve, every: int, before: int) -> None:
    """The mixture in long dialogues, after `before` steps."""
    learner = _Learner(model, spec.embedding_rate)
    stream = islice(Stream(curve.tokenizer, spec, long=True), spec.long_steps)
    for step, group in enumerate(stream, start=1):
        curve.losses.append(learner.learn(group, spec.long_rate_at(step)))
        if step % every == 0 or step == spec.long_steps:
            curve.add(before + step, model)


def write_card(
    model: Qwen2ForCausalLM,
    tokenizer: PreTrainedTokenizerBase,
    spec: PretrainingSpec,
    folder: Path,
    cpu_seconds: float,
    dialogues: int,
) -> None:
    """Describe the model in `folder`: how it was made, its hash, and its skills on fresh dialogues."""
    card = {
        "spec": asdict(spec),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "cpu_seconds": round(cpu_seconds, 1),
        "sha256": file_sha256(folder / "model.safetensors"),
        "skills": {
            name: round(value, 3) for name, value in measure(model, tokenizer, spec.seed + 2, dialogues).items()
        },
    }
    (folder / "card.json").write_text(json.dumps(card, indent=2) + "\n")
