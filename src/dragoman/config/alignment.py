"""Alignment settings: choice of the attention map, combination of two translation directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from dragoman.config.base import Cli, Settings, Size

AttentionReading = Literal["predicted", "input", "posterior", "lexical"]
"""The step whose attention weights belong to a target word.

``predicted``: the step that predicts the word. ``input``: the next step, which has the word as its input;
Transformers align words better this way ([chen2020], section 3). ``posterior``: the step that predicts the word, with
its weights multiplied by the likelihood of the word given each source position alone ([shankar2019], section 2).
``lexical``: the same with the likelihood of the word as the translation of each source word alone, which every engine
computes in a small fraction of the time.
"""

Symmetrization = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and", "product"]
"""``product`` multiplies the maps of both directions and links pairs that are best for both words; the others combine
the links of both directions."""

Words = Literal["usual", "spaces"]

_MAP, _LINKS = "Attention map", "Links"


@dataclass(frozen=True)
class AttentionChoice:
    """One attention map of a model. Layers and heads count from 1, the lowest layer first.

    Without a layer: the last but one, or the only one. Without a head: the mean of all heads. Without both, for a model
    with guided alignment: the first head of the last layer.
    """

    layer: int | None = None
    head: int | None = None
    reading: AttentionReading = "predicted"


USUAL_MAP = AttentionChoice(reading="lexical")
"""The map of `Translator.align`, which every engine provides."""


class AlignmentSettings(Settings):
    """How words are aligned. The defaults are those of `Translator.align`.

    Each target word is linked to the source word with the largest weight; it has no link if the end of the source has
    more.
    """

    layer: Annotated[Size | None, Cli(_MAP, default="last but one")] = None
    """Layer, from 1."""
    head: Annotated[Size | Literal["mean"], Cli(_MAP, metavar="N|mean")] = "mean"
    """Head, from 1, or the mean of all heads."""
    reading: Annotated[AttentionReading, Cli(_MAP)] = "lexical"
    """Step of a word: the step that predicts it, the step that reads it as input, or the first given the word, by its
    source position (posterior) or by its source word alone (lexical)."""
    symmetrization: Annotated[Symmetrization, Cli(_LINKS, metavar="NAME")] = "grow-diag-final"
    """Combination of both directions: intersection, union, grow-diag, grow-diag-final, grow-diag-final-and, product."""
    words: Annotated[Words, Cli(_LINKS, default="usual; with --gold: spaces")] = "usual"
    """Word boundaries: as in translations, or white space only, for tokenized text."""

    @property
    def choice(self) -> AttentionChoice:
        """Attention map of the models of both directions."""
        return AttentionChoice(self.layer, None if self.head == "mean" else self.head, self.reading)

    @property
    def by_spaces(self) -> bool:
        """Whether words are delimited by white space only."""
        return self.words == "spaces"

    @property
    def is_usual(self) -> bool:
        """Whether every engine can provide the attention maps."""
        return self.choice == USUAL_MAP and not self.by_spaces
