"""Seeds named for what they control.

Every random draw of an experiment comes from `derive(name, ...)`: the name says what is drawn ("world", "rollout",
"faults", ...) and the parts say for whom (run seed, query id, step). Draws of different names never share a stream, so
that changing one leaves the others as they were.
"""

from __future__ import annotations

import hashlib
import random


def derive(name: str, *parts: object) -> int:
    """A 63-bit seed that depends on nothing but its arguments (SHA-256 of their text, stable across processes)."""
    text = "\x1f".join([name, *(str(part) for part in parts)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(name: str, *parts: object) -> random.Random:
    """A Python generator seeded by `derive(name, *parts)`."""
    return random.Random(derive(name, *parts))
