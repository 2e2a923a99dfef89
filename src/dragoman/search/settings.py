"""How to search, and the rules that settings must keep."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.closed import Closed, NotNegative, Positive, Size
from dragoman.errors import ConfigError

__all__ = ["SearchSettings"]


class SearchSettings(Closed):
    """Beam search unless `sample` is true; a beam of one is greedy search."""

    beam: Size = 5
    """How many translations are kept at each step."""
    nbest: Size = 1
    """How many translations of a sentence come back."""
    length_penalty: Literal["average", "gnmt", "none"] = "average"
    """What log p is divided by: length^alpha, ((5 + length) / 6)^alpha, or nothing."""
    alpha: NotNegative = 1.0
    """The exponent of the length penalty."""
    coverage_penalty: NotNegative = 0.0
    """How much a translation loses for source words that it did not look at; 0 is nothing."""
    patience: Positive | None = 1.0
    """A sentence is done once patience × beam translations have ended; without, once none could do better."""
    min_length: Annotated[int, Field(ge=0)] = 0
    """The fewest pieces of a translation."""
    max_length: Size | None = None
    """The most pieces of a translation, its end among them; twice the source's and 20 more if not given."""
    no_repeat_ngram: Annotated[int, Field(ge=0)] = 0
    """No run of so many pieces is written twice; 0 allows all."""
    groups: Size = 1
    """Diverse beam search: groups that the beam is divided into, each avoiding the words of those before it."""
    diversity: NotNegative = 0.5
    """What a word costs a group for each time an earlier group has written it at the same step."""
    sample: bool = False
    """Draw translations at random instead of looking for the likeliest; `nbest` of them."""
    temperature: Positive = 1.0
    """Below 1 sampling keeps closer to what is likely, above it strays farther."""
    top_k: Annotated[int, Field(ge=0)] = 0
    """Draw from the likeliest pieces only, so many of them; 0 is all."""
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Draw from the fewest pieces that together are this likely."""
    seed: Annotated[int, Field(ge=0)] = 1
    """What the draws are a function of, together with the number of the sentence."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if not self.sample and self.nbest > self.beam:
            raise ConfigError(
                f"nbest must be at most the beam, {self.beam}, got {self.nbest}; widen the beam to see more"
            )
        if self.max_length is not None and self.min_length >= self.max_length:
            raise ConfigError(
                f"min_length must be less than max_length, {self.max_length}, which counts the end, "
                f"got {self.min_length}; lower it"
            )
        if self.beam % self.groups:
            raise ConfigError(f"groups must divide the beam, {self.beam}, got {self.groups}; change one of them")
        return self

    def limit(self, source: int, longest: int | None, least: int = 1) -> int:
        """The most pieces, end included, of a translation of so many pieces by a model that can write `longest`.

        What the translation must hold has `least` pieces: there is room for it in any case.
        """
        limit = max(self.max_length or 2 * source + 20, least)
        return limit if longest is None else min(limit, longest)
