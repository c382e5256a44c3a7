"""Dialogues to token ids, with a mask that says which tokens the policy speaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..protocol import IM_END, IM_START, THINK_CLOSE, Message

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

IGNORED = -100
"""Label of a token that is not trained on."""
Encoded = tuple[list[int], list[bool]]
"""Token ids of a dialogue and, of the same length, True where an assistant speaks (its `<|im_end|>` included)."""


def _segments(messages: Sequence[Message]) -> list[tuple[str, bool]]:
    """The dialogue's text cut where the speaker changes between environment and policy."""
    segments: list[tuple[str, bool]] = []
    pending = ""
    for message in messages:
        opening = f"{IM_START}{message['role']}\n"
        if message["role"] == "assistant":
            segments.append((pending + opening, False))
            segments.append((message["content"] + IM_END, True))
            pending = "\n"
        else:
            pending += f"{opening}{message['content']}{IM_END}\n"
    return segments


def encode_dialogues(tokenizer: PreTrainedTokenizerBase, dialogues: Sequence[Sequence[Message]]) -> list[Encoded]:
    """Encode dialogues that end with an assistant's turn.

    Each stretch is encoded by itself, as a rollout does, so that the ids of SFT and RL are the same; a test holds them
    equal to the chat template's ids.
    """
    cut = [_segments(messages) for messages in dialogues]
    texts = [text for segments in cut for text, _ in segments]
    encodings = iter(tokenizer(texts, add_special_tokens=False)["input_ids"])
    encoded = []
    for segments in cut:
        ids: list[int] = []
        mask: list[bool] = []
        for _, spoken in segments:
            piece = next(encodings)
            ids += piece
            mask += [spoken] * len(piece)
        encoded.append((ids, mask))
    return encoded


def after_thoughts(tokenizer: PreTrainedTokenizerBase, encoded: Encoded) -> Encoded:
    """The same dialogue, in which only what follows the last thought counts as spoken."""
    ids, mask = encoded
    closed = max(place for place, token in enumerate(tokenizer.convert_ids_to_tokens(ids)) if THINK_CLOSE in token)
    return ids, [spoken and place > closed for place, spoken in enumerate(mask)]
