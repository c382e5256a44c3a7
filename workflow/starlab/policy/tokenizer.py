"""The tiny tokenizer: longest-match pieces over single characters, in `transformers` format."""

from __future__ import annotations

from tokenizers import AddedToken, Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from .. import protocol
from . import vocabulary


def build_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer whose encoding of a text is the leftmost-longest split into `vocabulary.pieces()` and characters.

    Decoding joins the pieces, so `decode(encode(text)) == text` for printable ASCII and line breaks; any other
    character becomes `<|unk|>`. `<|im_end|>` ends a turn; padding is a token of its own.
    """
    characters = {symbol: index for index, symbol in enumerate((vocabulary.UNKNOWN, *vocabulary.CHARACTERS))}
    tokenizer = Tokenizer(models.BPE(vocab=characters, merges=[], unk_token=vocabulary.UNKNOWN, fuse_unk=False))
    tokenizer.decoder = decoders.Fuse()
    special = (vocabulary.PAD, protocol.IM_START, protocol.IM_END)
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in vocabulary.pieces() if piece not in special])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=vocabulary.UNKNOWN,
        pad_token=vocabulary.PAD,
        eos_token=protocol.IM_END,
        clean_up_tokenization_spaces=False,
        model_max_length=4096,
        padding_side="right",
    )
    fast.chat_template = protocol.CHAT_TEMPLATE
    return fast
