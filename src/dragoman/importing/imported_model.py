"""The result of every importer, and what importers share: token orders and tables of positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dragoman.bundle.position_table import sinusoids
from dragoman.bundle.shortlist import Shortlist
from dragoman.bundle.weights import Quantization
from dragoman.config.search import InferenceConfig
from dragoman.errors import BundleError
from dragoman.importing.file_formats.weight_table import Array
from dragoman.importing.language_tokens import LanguageTokens
from dragoman.text import BOS_ID, EOS_ID, PAD_ID, SPECIALS, UNK_ID, Tokenizer

_NO_ROW = -1
_NEVER = np.float32(-100.0)
"""Output bias of tokens that no translation contains. It is finite, so that label smoothing remains finite."""


@dataclass
class ImportedModel:
    """Settings of the model section, weights by their names in Dragoman, and tokenizers.

    `languages` are source and target as far as the files name them. `languages_file` is the file whose content names
    them; it is empty if only the names of files and folders do. `target_tokens` are those of which one must begin
    each source sentence, if the model has several target languages. `language_tokens` give the directions of a model
    with several. `notes` are facts that a user should read.
    """

    model: dict[str, Any]
    weights: dict[str, Array]
    tokenizers: dict[str, Tokenizer]
    languages: tuple[str, str] = ("", "")
    languages_file: str = ""
    target_tokens: tuple[str, ...] = ()
    language_tokens: LanguageTokens | None = None
    notes: list[str] = field(default_factory=list)
    inference: InferenceConfig | None = None
    quantization: Quantization | None = None
    shortlist: Shortlist | None = None


def setting(table: Any, name: str, kind: type, default: Any = None, *, file: str = "config.json") -> Any:
    """Return an entry of a JSON object and check its type; an absent one has the default, or is an error."""
    value = table.get(name, default) if isinstance(table, dict) else None
    if isinstance(value, bool) and kind is not bool:
        value = None
    if not isinstance(value, kind):
        got = "" if value is None else f", got {ascii(value)[:60]}"
        raise BundleError(f"{name} in {file} must be {_KINDS[kind]}{got}; get the model again")
    return value


def require_values(table: Any, wanted: Sequence[tuple[str, Any, Any]], *, file: str = "config.json") -> None:
    """Require settings (name, default, only supported value) of an architecture."""
    for name, default, value in wanted:
        got = table.get(name, default)
        if got != value:
            raise BundleError(
                f"{name} in {file} must be {str(value).lower()}, got {ascii(got)[:60].lower()}; this variant of the "
                "architecture is not supported"
            )


_KINDS = {
    int: "a whole number",
    bool: "true or false",
    str: "text",
    float: "a number",
    dict: "an object",
    list: "a list",
}


LAYOUTS = ("sinusoidal", "sinusoidal-halves", "sinusoidal-tensor2tensor")
_TOLERANCE = 2e-3
_COMPARED = 512


def find_layout(table: Array) -> tuple[str, int] | None:
    """Return the setting `positions` and the offset of a table of sinusoids. Shapes: table [positions, dim]."""
    rows, dim = min(len(table), _COMPARED), table.shape[1]
    for layout in LAYOUTS:
        for offset in (0, 1, 2):
            if np.abs(table[:rows] - sinusoids(layout, offset, rows, dim)).max(initial=0.0) < _TOLERANCE:
                return layout, offset
    return None


@dataclass(frozen=True)
class TokenOrder:
    """`tokens` of the bundle by id, and for each the `rows` of the source model; −1 is no row."""

    tokens: tuple[str, ...]
    rows: tuple[int, ...]

    @classmethod
    def of(
        cls, tokens: Sequence[str], *, unk: int, eos: int, start: int | None, hidden: Sequence[int] = ()
    ) -> TokenOrder:
        """The order for source tokens by id; `start` is the row that decoding starts with, `hidden` have no text."""
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
