"""Notes for the user on a tokenizer: a vocabulary larger than the setting, and words split into too many tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.data.token_pairs import SIDES

__all__ = ["KEEP_OR_EXTEND", "MAX_TOKENS_PER_WORD", "grown_note", "has_too_many_tokens", "tokenizer_notes"]

MAX_TOKENS_PER_WORD = 3.0
"""With more tokens per word, the vocabulary is too small for the text, or was learned from other text."""


KEEP_OR_EXTEND = 'train with start.vocabulary = "same" first, then compare it with "extend"'
"""Advice for a text that the tokenizer of a bundle splits into many tokens."""


def has_too_many_tokens(kind: str, per_word: float) -> bool:
    """Return whether words are split into too many tokens; characters are many by design."""
    return kind != "character" and per_word > MAX_TOKENS_PER_WORD


def grown_note(size: int, grown: int) -> str:
    """Return the sentence for a vocabulary that is larger than the setting."""
    return f"tokenizer.size: {size:,} tokens are too few for the characters of this text, so {grown:,} were learned"


def tokenizer_notes(manifest: dict[str, Any]) -> Iterator[str]:
    """Yield the notes on the tokenizer of a manifest."""
    settings = manifest["settings"].get("tokenizer")  # a bundle's tokenizer has none
    sizes = [manifest["tokenizers"][side]["tokens"] for side in SIDES]
    if settings is not None and max(sizes) > settings["size"]:
        yield grown_note(settings["size"], max(sizes))
    split = manifest["splits"]["train"]
    for side in SIDES:
        words = split.get("words", {}).get(side, 0)  # missing in manifests of earlier versions
        per_word = split["tokens"][side] / words if words else 0.0
        if has_too_many_tokens(settings["kind"] if settings else "", per_word):
            remedy = f"raise tokenizer.size, for instance to {2 * settings['size']}" if settings else KEEP_OR_EXTEND
            yield f"{per_word:.1f} tokens per word on the {side} side make training slow and inexact; {remedy}"
