"""Reorder the vocabulary of a source model: Dragoman's special tokens first, then the others in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.errors import BundleError
from dragoman.importing.file_formats.weight_table import Array
from dragoman.text import BOS_ID, EOS_ID, PAD_ID, SPECIALS, UNK_ID

_NO_ROW = -1
_NEVER = np.float32(-100.0)
"""Output bias of tokens that no translation contains. It is finite, so that label smoothing remains finite."""


@dataclass(frozen=True)
class TokenOrder:
    """`tokens` of the bundle by id, and for each the `rows` of the source model; −1 is no row."""

    tokens: tuple[str, ...]
    rows: tuple[int, ...]

    @classmethod
    def of(
        cls, tokens: Sequence[str], *, unk: int, eos: int, start: int | None, hidden: Sequence[int] = ()
    ) -> TokenOrder:
        """The order for source tokens by id. `start` is the row that decoding starts with; None is a zero vector.

        `hidden` are rows, such as padding, that neither a text nor a translation can contain.
        """
        for name, row in (("<unk>", unk), ("</s>", eos), ("the start", start)):
            if row is not None and not 0 <= row < len(tokens):
                raise BundleError(
                    f"the vocabulary must hold {name}, got {len(tokens):,} tokens without it; get the model again"
                )
        special = {PAD_ID: _NO_ROW, UNK_ID: unk, BOS_ID: _NO_ROW if start is None else start, EOS_ID: eos}
        left_out = {*special.values(), *hidden}
        others = [row for row in range(len(tokens)) if row not in left_out]
        names = [f"{tokens[row]}#{row}" if tokens[row] in SPECIALS else tokens[row] for row in others]
        return cls((*SPECIALS, *names), (*(special[number] for number in range(len(SPECIALS))), *others))

    def vectors(self, weight: Array) -> Array:
        """Reorder rows of an embedding or output matrix. Shapes: [source tokens, dim] -> [tokens, dim]."""
        ordered = weight[list(self.rows)]
        ordered[[number for number, row in enumerate(self.rows) if row == _NO_ROW]] = 0.0
        return ordered

    def biases(self, bias: Array) -> Array:
        """Reorder output biases; padding and the start are never predicted. Shapes: [source tokens] -> [tokens]."""
        ordered = bias[list(self.rows)]
        ordered[[PAD_ID, BOS_ID]] = _NEVER
        return ordered
