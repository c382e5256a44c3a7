"""Whether a model folder holds a whole checkpoint, told without loading it: files, size, and the hash on its
card."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from .errors import StarlabError

FILES = ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json")


def check(folder: Path, mend: str) -> None:
    """StarlabError, ending in how to `mend` it, if a file is missing, cut off or not the one that the card
    describes."""
    for name in FILES:
        if not (folder / name).is_file():
            raise StarlabError(f"{folder / name} is missing; {mend}")
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    if len(content) != expected_size(content):
        raise StarlabError(f"{weights} is not a whole safetensors file ({len(content)} bytes); {mend}")
    card = folder / "card.json"
    if card.exists():
        promised = json.loads(card.read_text(encoding="utf-8")).get("sha256")
        found = sha256(content).hexdigest()
        if promised is not None and promised != found:
            raise StarlabError(f"{weights} has hash {found[:12]}, its card says {promised[:12]}; {mend}")


def expected_size(content: bytes) -> int:
    """The size that a safetensors file says it has: 8 bytes, a JSON header, the tensors. -1 if it says
    nothing."""
    length = int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8 : 8 + length])
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return -1
    return 8 + length + max(ends, default=0)
