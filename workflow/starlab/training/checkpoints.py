"""Checkpoints of the Hugging Face trainer: which are whole; and what a finished training leaves, whole as well.

A kill may come between any two operations on files, so nothing counts before it is sealed, and nothing older is removed
before it counts.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from ..errors import StarlabError, disk_full
from ..files import write_atomically

KEPT = 2
"""Whole checkpoints that are kept while a run trains."""
TRAINED = "trained"
"""Folder beside the checkpoints with what training made, until the run starts again."""
WEIGHTS = "model.safetensors"
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


class WholeCheckpoints:
    """Mix into a trainer, before it: its checkpoints are sealed, and one that cannot be written leaves the older ones.

    The trainer must not rotate checkpoints itself (`save_total_limit=None`): it would do so before the seal.
    """

    args: Any
    state: Any

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        folder = Path(str(self.args.output_dir))
        checkpoint = folder / f"checkpoint-{self.state.global_step}"
        shutil.rmtree(checkpoint, ignore_errors=True)
        try:
            super()._save_checkpoint(model, trial)  # type: ignore[misc]  # the trainer's
            if not self.args.should_save:
                return  # another process writes the files
            seal(checkpoint)
        except Exception as error:
            shutil.rmtree(checkpoint, ignore_errors=True)
            if not disk_full(error, folder):
                raise
            kept = newest(folder)
            left = f"{kept.name} is kept" if kept else "there is no earlier one"
            raise StarlabError(
                f"{checkpoint}: the disk is full, {left}; make room and run the same command again to go on"
            ) from error
        for old in sorted(folder.glob("checkpoint-*"), key=_step)[:-KEPT]:
            shutil.rmtree(old)


def _step(checkpoint: Path) -> int:
    suffix = checkpoint.name.rpartition("-")[2]
    return int(suffix) if suffix.isdigit() else -1


def save_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Put weights, config and tokenizer into `folder`, each file whole; the weights come last."""
    folder.mkdir(parents=True, exist_ok=True)
    staging = folder / ".staging"
    shutil.rmtree(staging, ignore_errors=True)
    model.save_pretrained(staging, max_shard_size="1TB")  # one file, whatever the size: it is what rules declare
    tokenizer.save_pretrained(staging)
    for path in _weights_last(staging):
        path.replace(folder / path.name)
    staging.rmdir()


def conclude(folder: Path, model: Any, tokenizer: Any, metrics: Path, name: str, summary: dict[str, Any]) -> None:
    """Keep what training made in `folder`: the model, its `metrics.jsonl`, and `summary` as the JSON file `name`.

    From then on the checkpoints beside it are not needed.
    """
    trained = folder / TRAINED
    shutil.rmtree(trained, ignore_errors=True)
    save_model(model, tokenizer, trained)
    shutil.copyfile(metrics, trained / "metrics.jsonl")
    write_atomically(trained / name, json.dumps(summary, indent=1) + "\n")
    seal(trained)
    for checkpoint in folder.glob("checkpoint-*"):
        shutil.rmtree(checkpoint)


def concluded(folder: Path, name: str, spec: dict[str, Any]) -> dict[str, Any] | None:
    """The summary `name` of the training that `folder` has concluded; None if it has not, or with another spec."""
    if not is_whole(folder / TRAINED):
        return None
    summary: dict[str, Any] = json.loads((folder / TRAINED / name).read_text(encoding="utf-8"))
    return summary if summary["spec"] == json.loads(json.dumps(spec)) else None


def publish(folder: Path, out: Path) -> None:
    """Put what `folder` keeps of a concluded training into `out`, each file whole; the weights come last.

    The files are shared where the disk can do that (hard links), so they take no room. They get the time of now, as if
    just made: whoever compares dates finds them newer than what they were made from.
    """
    out.mkdir(parents=True, exist_ok=True)
    for path in _weights_last(folder / TRAINED):
        if path.name == SEAL:
            continue
        part = out / f"{path.name}.part"
        part.unlink(missing_ok=True)
        try:
            os.link(path, part)
        except OSError:  # no hard links here
            shutil.copyfile(path, part)
        os.utime(part)
        part.replace(out / path.name)
        part.unlink(missing_ok=True)  # replacing a file by itself leaves both names


def _weights_last(folder: Path) -> list[Path]:
    return sorted(folder.iterdir(), key=lambda path: (path.suffix == ".safetensors", path.name))


def weights(folder: Path) -> list[Path]:
    """The files with the weights of a model folder: `model.safetensors`, or the parts that a large one comes in."""
    return sorted(folder.glob("*.safetensors"))


def load_model(folder: Path) -> tuple[Any, Any]:
    """(model, tokenizer) of a model folder, in float32 with SDPA attention.

    The tokenizer is read from `tokenizer.json` as it stands: `AutoTokenizer` would see a Qwen2 model and put Qwen2's
    own splitting around our vocabulary, which drops line breaks without a word.
    """
    import torch
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    for name in ("config.json", WEIGHTS, "tokenizer.json"):
        there = weights(folder) if name == WEIGHTS else (folder / name).is_file()
        if not there:
            raise StarlabError(f"{folder / name}: missing; make the model that this run starts from again")
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="sdpa", output_loading_info=True
        )
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    except Exception as error:  # safetensors, JSON and config readers each raise their own kinds
        raise StarlabError(f"{folder}: not a readable model ({error}); make it again") from error
    model, loading = loaded
    for kind in ("missing", "unexpected", "mismatched"):
        if loading[f"{kind}_keys"]:
            names = sorted(map(str, loading[f"{kind}_keys"]))
            listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            raise StarlabError(
                f"{folder / WEIGHTS}: {kind} weights for the model of {folder / 'config.json'}: {listed};"
                " the two do not belong together, make the model again"
            )
    return model, tokenizer
