"""How links between words are to be found: in which map, how they come out of it, and what two directions make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from dragoman.api.attention import AttentionChoice, Reading
from dragoman.errors import ConfigError

__all__ = ["AlignSettings", "Extraction", "Symmetrization"]

Extraction = Literal["argmax", "threshold", "mutual"]
"""How links come out of a map: for every target word the source word it looks at most; all pairs with enough weight;
or the first, if no other target word looks at that source word more."""

Symmetrization = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and", "product"]
"""What is made of two directions. `product` multiplies their maps and takes the pairs that are the best for both words;
the others put links together."""


@dataclass(frozen=True)
class AlignSettings:
    """How to align. The defaults are those of `Translator.align`.

    `backward_choice` is the map of the backward translator, if it is not to be the same. A `threshold` is for the
    extraction of that name. A target word that looks at the end of the source most has no link, unless `ignore_end`;
    thresholds and products of maps never count the end.
    With `by_spaces` words are what stands between white space, in every script.
    """

    choice: AttentionChoice = field(default_factory=AttentionChoice)
    backward_choice: AttentionChoice | None = None
    extraction: Extraction = "argmax"
    threshold: float | None = None
    symmetrization: Symmetrization = "grow-diag-final"
    ignore_end: bool = False
    by_spaces: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        _check_name("extraction", self.extraction, get_args(Extraction))
        _check_name("symmetrization", self.symmetrization, get_args(Symmetrization))
        for name, choice in (("reading", self.choice), ("backward reading", self.backward_choice or self.choice)):
            _check_name(name, choice.reading, get_args(Reading))
        if self.extraction == "threshold" and self.threshold is None:
            raise ConfigError("threshold must be given for the extraction threshold, got none; 0.2 is a usual one")
        if self.extraction != "threshold" and self.threshold is not None:
            raise ConfigError(
                f"threshold must come with the extraction threshold, got it with {self.extraction}; leave it out, or "
                "choose that extraction"
            )
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise ConfigError(
                f"threshold must be more than 0 and at most 1, got {self.threshold}; a word's weights sum to 1"
            )
        if self.extraction == "threshold" and self.ignore_end:
            raise ConfigError(
                "ignore_end must be left out with the extraction threshold, got both; a threshold never counts the end"
            )
        if self.symmetrization == "product" and self.extraction != "argmax":
            raise ConfigError(
                f"extraction must be argmax with the symmetrization product, got {self.extraction}; leave it out"
            )

    @property
    def is_usual(self) -> bool:
        """Whether every engine can give the maps that these settings ask for."""
        choices = {self.choice, self.backward_choice or self.choice}
        return choices == {AttentionChoice()} and not self.by_spaces


def _check_name(setting: str, value: str, legal: Sequence[str]) -> None:
    if value not in legal:
        raise ConfigError(f"{setting} must be one of {', '.join(legal)}, got {value!r}; choose one of them")
