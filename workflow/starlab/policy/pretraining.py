"""Pretrain a base model of the ladder on atomic skills, and measure them.

Paid once: the repository ships the weights, `snakemake base_models` makes them again. The recipe follows what was
measured (docs/tuning.md): plain initialisation, a first stretch of repetition and associative recall until copying
works, then all skills at once, on worlds drawn afresh for every dialogue.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from ..errors import StarlabError
from ..provenance import file_sha256
from ..seeds import derive, generator
from .encoding import IGNORED, Encoded, encode_dialogues
from .ladder import Architecture, build_model
from .skills import MEASURED, SKILLS

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
    """Steps on that mixture."""
    decay_steps: int
    """Steps, the last ones, over which the rate falls to nothing."""
    copying_steps: int
    """Least number of steps, before the mixture, on repetition, recall and filtering of bare rows alone."""
    copied: float = 0.8
    """Mastery of recall that ends them, looked at every `CHECK` steps."""
    tokens_per_step: int = 2048
    """Tokens a step, padding not counted."""
    copying_rate: float = 0.015
    """Rate of Muon (for the matrices of the decoder layers) before the mixture."""
    rate: float = 0.006
    """Rate of Muon on the mixture."""
    embedding_rate: float = 0.2
    """Rate of AdamW (for embeddings, norms and biases) as a share of Muon's."""
    warmup: int = 100
    seed: int = 0

    def rate_at(self, step: int, left: int | None) -> float:
        """Muon's rate at `step` (from 1); `left`: how many more follow on the mixture, None before it."""
        if left is None:
            return self.copying_rate * min(1.0, step / self.warmup)
        return self.rate * min(1.0, max(0.02, left / self.decay_steps))


@dataclass(slots=True)
class Stream:
    """Endless batches of about `tokens_per_step` tokens, dialogues of like length together."""

    tokenizer: PreTrainedTokenizerBase
    spec: PretrainingSpec
    copying: bool = True
    """Whether the next dialogues are drawn from `COPYING` or from the mixture."""

    def __iter__(self) -> Iterator[list[Encoded]]:
        rng = generator("pretraining", self.spec.seed)
        while True:
            weights = dict.fromkeys(COPYING, 1.0) if self.copying else self.spec.weights
            names = rng.choices(tuple(weights), tuple(weights.values()), k=CHUNK)
            drawn = encode_dialogues(self.tokenizer, [SKILLS[name](rng) for name in names])
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


def _tensors(group: list[Encoded], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """ids and labels, (batch, length), padded on the right; a causal model never looks at that padding."""
    import torch

    length = max(len(ids) for ids, _ in group)
    ids = torch.full((len(group), length), pad)
    labels = torch.full((len(group), length), IGNORED)
    for row, (tokens, mask) in enumerate(group):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        labels[row, : len(tokens)] = torch.where(torch.tensor(mask), torch.tensor(tokens), IGNORED)
    return ids, labels


def loss_and_hits(
    model: Qwen2ForCausalLM, ids: torch.Tensor, labels: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean cross-entropy over the spoken tokens, and which of them are the most likely token, (batch, length - 1)."""
    import torch

    hidden = model.model(input_ids=ids).last_hidden_state[:, :-1]
    targets = labels[:, 1:]
    spoken = targets != IGNORED
    logits = model.lm_head(hidden[spoken])
    loss = torch.nn.functional.cross_entropy(logits, targets[spoken])
    hits = torch.ones_like(spoken)
    hits[spoken] = logits.detach().argmax(-1) == targets[spoken]
    return loss, hits


def measure(
    model: Qwen2ForCausalLM,
    tokenizer: PreTrainedTokenizerBase,
    seed: int,
    count: int,
    names: Sequence[str] = tuple(MEASURED),
) -> dict[str, float]:
    """Share of fresh dialogues of every skill in which each spoken token is the model's first choice."""
    import torch

    mastery = {}
    model.eval()
    for name in names:
        rng = generator("skills", seed, name)
        encoded = encode_dialogues(tokenizer, [MEASURED[name](rng) for _ in range(count)])
        with torch.inference_mode():
            _, hits = loss_and_hits(model, *_tensors(encoded, tokenizer.pad_token_id))
        mastery[name] = hits.all(1).float().mean().item()
    model.train()
    return mastery


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

    from .muon import Muon

    torch.set_num_threads(threads)
    model = build_model(spec.architecture, tokenizer, derive("init", spec.seed))
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    optimizers = [
        Muon(matrices, lr=spec.rate),
        torch.optim.AdamW(others, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    out.mkdir(parents=True, exist_ok=True)
    stream = Stream(tokenizer, spec)
    losses: list[float] = []
    started = time.process_time()
    end: int | None = None  # the last step, once copying works
    with (out / "curve.jsonl").open("w") as curve:
        for step, group in enumerate(stream, start=1):
            rate = spec.rate_at(step, None if end is None else end - step)
            for optimizer, share in zip(optimizers, (1.0, spec.embedding_rate), strict=True):
                optimizer.param_groups[0]["lr"] = rate * share
            loss, _ = loss_and_hits(model, *_tensors(group, tokenizer.pad_token_id))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
            if end is None and step >= spec.copying_steps and step % CHECK == 0:
                recall = measure(model, tokenizer, spec.seed + 1, dialogues, ["recall"])["recall"]
                if recall >= spec.copied:
                    stream.copying, end = False, step + spec.steps
                elif step >= GIVE_UP * spec.copying_steps:
                    raise StarlabError(f"policy: after {step} steps recall is {recall:.2f}; try another seed or rate")
            if step % every == 0 or step == end:
                row = {"step": step, "loss": fmean(losses), "cpu_seconds": time.process_time() - started}
                losses.clear()
                mastery = measure(model, tokenizer, spec.seed + 1, dialogues)
                row |= {f"skill/{name}": value for name, value in mastery.items()}
                curve.write(json.dumps({key: round(value, 4) for key, value in row.items()}) + "\n")
                curve.flush()
            if step == end:
                break
    model.eval()
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    write_card(model, tokenizer, spec, out, time.process_time() - started, 3 * dialogues)


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
