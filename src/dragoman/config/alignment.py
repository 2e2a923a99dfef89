"""Alignment settings: choice of the attention map, extraction of links, combination of two translation directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.base import Cli, Settings, Size
from dragoman.config.validation_errors import SettingError

AttentionReading = Literal["predicted", "input", "posterior", "lexical"]
"""The step whose attention weights belong to a target word.

``predicted``: the step that predicts the word. ``input``: the next step, which has the word as its input;
Transformers align words better this way ([chen2020], section 3). ``posterior``: the step that predicts the word, with
its weights multiplied by the likelihood of the word given each source position alone ([shankar2019], section 2).
``lexical``: the same with the likelihood of the word as the translation of each source word alone, which every engine
computes in a small fraction of the time.
"""

Extraction = Literal["argmax", "threshold", "mutual"]
"""``argmax``: the source word with the largest weight for each target word. ``threshold``: all pairs with enough
weight. ``mutual``: as argmax, but only if no other target word has a larger weight for that source word."""

Symmetrization = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and", "product"]
"""``product`` multiplies the maps of both directions and links pairs that are best for both words; the others combine
the links of both directions."""

Words = Literal["usual", "spaces"]

_MAP, _LINKS = "Attention map", "Links"
_Head = Size | Literal["mean"]


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

    A target word whose largest weight is on the end of the source has no link, unless `ignore_end` is set; thresholds
    and products never count the end.
    """

    layer: Annotated[Size | None, Cli(_MAP, default="last but one")] = None
    """Layer, from 1."""
    head: Annotated[_Head, Cli(_MAP, metavar="N|mean")] = "mean"
    """Head, from 1, or the mean of all heads."""
    reading: Annotated[AttentionReading, Cli(_MAP)] = "lexical"
    """Step of a word: the step that predicts it, the step that reads it as input, or the first given the word, by its
    source position (posterior) or by its source word alone (lexical)."""
    backward_layer: Annotated[Size | None, Cli(_MAP, default="same")] = None
    """Layer of the backward model."""
    backward_head: Annotated[_Head | None, Cli(_MAP, default="same", metavar="N|mean")] = None
    """Head of the backward model."""
    backward_reading: Annotated[AttentionReading | None, Cli(_MAP, default="same")] = None
    """Reading of the backward model."""
    extraction: Annotated[Extraction, Cli(_LINKS)] = "argmax"
    """Links of a map: the largest weight of each target word, all weights above a threshold, or the largest weight of
    both words."""
    threshold: Annotated[float | None, Field(gt=0.0, le=1.0), Cli(_LINKS, metavar="WEIGHT")] = None
    """Minimum weight of a link; required by the extraction threshold."""
    symmetrization: Annotated[Symmetrization, Cli(_LINKS, metavar="NAME")] = "grow-diag-final"
    """Combination of both directions: intersection, union, grow-diag, grow-diag-final, grow-diag-final-and, product."""
    ignore_end: Annotated[bool, Cli(_LINKS)] = False
    """Link words whose largest weight is on the end of the source, too."""
    words: Annotated[Words, Cli(_LINKS, default="usual; with --gold: spaces")] = "usual"
    """Word boundaries: as in translations, or white space only, for tokenized text."""

    @property
    def choice(self) -> AttentionChoice:
        """Attention map of the forward model."""
        return AttentionChoice(self.layer, _head(self.head), self.reading)

    @property
    def backward_choice(self) -> AttentionChoice:
        """Attention map of the backward model; where it is not set, as the forward model's."""
        head = self.head if self.backward_head is None else self.backward_head
        return AttentionChoice(self.backward_layer or self.layer, _head(head), self.backward_reading or self.reading)

    @property
    def by_spaces(self) -> bool:
        """Whether words are delimited by white space only."""
        return self.words == "spaces"

    @property
    def is_usual(self) -> bool:
        """Whether every engine can provide the attention maps."""
        return {self.choice, self.backward_choice} == {USUAL_MAP} and not self.by_spaces

    def _check(self) -> None:
        if self.extraction == "threshold" and self.threshold is None:
            raise SettingError("{extraction} threshold needs {threshold}; 0.2 is a common value")
        if self.extraction != "threshold" and self.threshold is not None:
            raise SettingError(
                "{threshold} must come with {extraction} threshold, got {value}; leave it out or change the extraction",
                value=self.extraction,
            )
        if self.extraction == "threshold" and self.ignore_end:
            raise SettingError(
                "{ignore_end} cannot be combined with {extraction} threshold, which ignores the end anyway; leave it "
                "out"
            )
        if self.symmetrization == "product" and self.extraction != "argmax":
            raise SettingError(
                "{extraction} must be argmax with {symmetrization} product, got {value}; leave it out",
                value=self.extraction,
            )


def _head(head: int | str | None) -> int | None:
    return head if isinstance(head, int) else None
