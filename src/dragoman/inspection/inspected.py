"""One translation, opened: what a page, a picture or a terminal shows of it. Plain values; needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Candidate", "END", "Inspected", "TreeNode", "WhatIf", "coverage", "entropy"]

END = "⟨end⟩"
"""How an end is shown: that of the source as a column, that of the translation as a row, a step and a node."""


@dataclass(frozen=True)
class Candidate:
    """A piece that might have been written at a step, and its probability.

    `text` is the piece as its tokenizer spells it, ``▁`` for a space and ``<0x21>`` for a byte; `readable_piece` is for
    people.
    """

    text: str
    probability: float


@dataclass(frozen=True)
class TreeNode:
    """A piece that the beam kept: `parent` is the number of the node before it, -1 for none.

    `log_prob` is that of all up to it; `rank` its place in the beam, 0 the best, and -1 for an end, which has left it.
    `is_best` marks the way to the translation that was chosen.
    """

    parent: int
    text: str
    step: int
    rank: int
    log_prob: float
    is_end: bool
    is_best: bool


@dataclass(frozen=True)
class WhatIf:
    """Another word at one place of the translation, and how the model goes on from it.

    `word` is the place of the target word that is replaced; one more than the last is the end. `forced` is what was
    forced there (empty: the end), `translation` the whole that comes of it, and `score` its mean log-probability.
    """

    word: int
    forced: str
    probability: float
    translation: str
    score: float


@dataclass(frozen=True)
class Inspected:
    """A translation with all that was seen while it was written.

    `source_words` and `target_words` are words without the ends; maps have the end of the source as their last column,
    and `predicted` that of the translation as its last row. `predicted` reads a step as the look of the word it writes,
    `given` as that of the word it was given; `steps` is the look of each piece, where words are means of theirs.
    `default_layer`, counted from 0, is the last but one, or the only one.

    Shapes: predicted [layers, heads, tgt + 1, src + 1], given [layers, heads, tgt, src + 1], steps [layers, heads,
    tgt pieces + 1, src + 1], all empty (no layers) where the model has no attention.
    """

    source: str
    translation: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    pieces: tuple[str, ...]
    piece_words: tuple[int, ...]
    """For each piece of the translation the target word it belongs to; its end is not among them."""
    candidates: tuple[tuple[Candidate, ...], ...]
    """For each piece, and for the end, the likeliest that might have been written there, the likeliest first."""
    predicted: NDArray[np.float64]
    given: NDArray[np.float64]
    steps: NDArray[np.float64]
    default_layer: int
    score: float
    tree: tuple[TreeNode, ...] = ()
    what_ifs: tuple[WhatIf, ...] = ()
    flags: tuple[str, ...] = ()
    model: str = ""
    """What it was written with, in a line: family, size, engine, search."""

    @property
    def has_attention(self) -> bool:
        """Whether there is any map to show."""
        return bool(self.predicted.shape[0])


def entropy(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """How widely each target word looks around, in bits: 0 at one place only. Shapes: [tgt, src] -> [tgt].

    Weights that do not sum to one, as those of local attention, count by their shares.
    """
    shares = weights / np.maximum(weights.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
    bits: NDArray[np.float64] = -(shares * np.log2(np.maximum(shares, np.finfo(np.float64).tiny))).sum(-1)
    return np.maximum(bits, 0.0)


def coverage(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much each source word was looked at, by all words together: about 1 a word. Shapes: [tgt, src] -> [src].

    Only words count: leave out the row of the end, which translates nothing.
    """
    looked: NDArray[np.float64] = weights.sum(-2)
    return looked
