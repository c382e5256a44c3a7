"""Checkpoints of the Hugging Face trainer: which are whole, and putting a finished run's files in place."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from ..errors import StarlabError

SEAL = "whole.json"
"""Written last into a checkpoint: names and sizes of its files. A folder without it was cut off while it was
written.
"""


def seal(checkpoint: Path) -> None:
    """Declare a checkpoint whole, after its files have reached the disk."""
    sizes = {}
    for path in sorted(checkpoint.iterdir()):
        if path.is_file() and path.name != SEAL:
            with path.open("rb+") as handle:
                os.fsync(handle.fileno())
            sizes[path.name] = path.stat().st_size
    write_atomically(checkpoint / SEAL, json.dumps(sizes))


def is_whole(checkpoint: Path) -> bool:
    """Whether every file is there in the size it was sealed with."""
    try:
        sizes = json.loads((checkpoint / SEAL).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return all((checkpoint / n).is_file() and (checkpoint / n).stat().st_size == s for n, s in sizes.items())


def newest(folder: Path) -> Path | None:
    """The newest whole checkpoint in `folder`. Newer remains of interrupted writes are removed."""
    found = sorted(folder.glob("checkpoint-*"), key=_step, reverse=True)
    for checkpoint in found:
        if is_whole(checkpoint):
            return checkpoint
        shutil.rmtree(checkpoint, ignore_errors=True)
    return None


def prune(folder: Path) -> None:
    """Keep the newest checkpoint of a finished run: enough to write its outputs again."""
    for checkpoint in sorted(folder.glob("checkpoint-*"), key=_step)[:-1]:
        shutil.rmtree(checkpoint)


def _step(checkpoint: Path) -> int:
    suffix = checkpoint.name.rpartition("-")[2]
    return int(suffix) if suffix.isdigit() else -1


def write_atomically(path: Path, text: str) -> None:
    """Write a file that is either the old one or the whole new one."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    part.replace(path)


def save_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Put weights, config and tokenizer into `folder`, each file whole; the weights come last."""
    folder.mkdir(parents=True, exist_ok=True)
    staging = folder / ".staging"
    shutil.rmtree(staging, ignore_errors=True)
    model.save_pretrained(staging)
    tokenizer.save_pretrained(staging)
    for path in sorted(staging.iterdir(), key=lambda p: p.suffix == ".safetensors"):
        path.replace(folder / path.name)
    staging.rmdir()


def load_model(folder: Path) -> tuple[Any, Any]:
    """(model, tokenizer) of a model folder, in float32 with SDPA attention.

    The tokenizer is read from `tokenizer.json` as it stands: `AutoTokenizer` would see a Qwen2 model and put Qwen2's
    own splitting around our vocabulary, which drops line breaks without a word.
    """
    import torch
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        if not (folder / name).is_file():
            raise StarlabError(f"{folder / name}: missing; make the model that this run starts from again")
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    except Exception as error:  # safetensors, JSON and config readers each raise their own kinds
        raise StarlabError(f"{folder}: not a readable model ({error}); make it again") from error
    return model, tokenizer
