"""Everything that a model looked at while it wrote a translation: every layer, every head, both readings of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.api.word_alignment import WordAlignment, word_alignment
from dragoman.errors import ConfigError

__all__ = ["Attention", "AttentionChoice", "Reading"]

Reading = Literal["predicted", "input"]
"""Whose look a step is: that of the word it writes, or that of the word it was given, which it wrote one step before.

Transformers align words better by the second ([chen2020], section 3).
"""


@dataclass(frozen=True)
class AttentionChoice:
    """One map of many. Layers and heads count from 1, the lowest layer first.

    Without a layer it is the last but one, or the only one; without a head, the mean over all of them.
    """

    layer: int | None = None
    head: int | None = None
    reading: Reading = "predicted"


@dataclass(frozen=True)
class Attention:
    """The pieces of a source and of its translation, as they stand in the texts, and all maps between them.

    Shapes: weights [layers, heads, tgt + 1, src + 1], the ends last.
    """

    source_pieces: tuple[str, ...]
    target_pieces: tuple[str, ...]
    weights: NDArray[np.float32]

    @property
    def layers(self) -> int:
        """How many layers look at the source."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """How many heads each of them has."""
        return int(self.weights.shape[1])

    def pieces(self, choice: AttentionChoice | None = None) -> NDArray[np.float32]:
        """One map between pieces. Shapes: -> [tgt + 1, src + 1], or [tgt, src + 1] of the reading `input`.

        The last target piece is an input too: of the step that writes the end.
        """
        choice = choice or AttentionChoice()
        layer = max(self.layers - 1, 1) if choice.layer is None else _checked("layer", choice.layer, self.layers)
        heads = self.weights[layer - 1]  # [heads, tgt + 1, src + 1]
        if choice.head is not None:
            heads = heads[[_checked("head", choice.head, self.heads) - 1]]
        one: NDArray[np.float32] = heads.mean(0)
        return one if choice.reading == "predicted" else one[1:]

    def words(self, choice: AttentionChoice | None = None, *, by_spaces: bool = False) -> WordAlignment:
        """One map between words; with `by_spaces` they are what stands between white space, in every script."""
        return word_alignment(self.source_pieces, self.target_pieces, self.pieces(choice), by_spaces=by_spaces)


def _checked(name: str, number: int, most: int) -> int:
    if not 1 <= number <= most:
        raise ConfigError(
            f"{name} must be from 1 to {most} in this model, got {number}; leave it out for the usual one"
        )
    return number
