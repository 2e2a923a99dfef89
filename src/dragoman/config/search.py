"""Search settings: beam, sampling and penalties; check which settings can be combined."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field

from dragoman.config.base import Cli, NotNegative, Positive, Settings, Share, Size
from dragoman.config.validation_errors import SettingError, validate

_SEARCH, _SAMPLING = "Search", "Sampling"

MBR_TEMPERATURE = 0.6  # of candidates, unless settings of sampling are given

Count = Annotated[int, Field(ge=0)]
Width = Annotated[int, Field(ge=1, le=1000)]  # of each step: memory grows with the width times the vocabulary


class InferenceConfig(Settings):
    """How a model was made to be used: defaults of translation, which options override."""

    beam: Size | None = None
    """Beam size; 1 is greedy search, none is the default of each command."""
    precision: Literal["float32", "int8"] = "float32"
    """Number format of weights on ONNX Runtime."""


class SearchSettings(Settings):
    """Settings of beam search, of MBR, or of sampling if `sample` is true; a beam of 1 is greedy search."""

    if not TYPE_CHECKING:  # type checkers read the fields

        def __new__(cls, **values: Any) -> Self:
            """Raise `ConfigError` where pydantic has its own error; `validate` passes no values here."""
            if values:
                validate(cls, values)
            return super().__new__(cls)

    search: Annotated[Literal["beam", "mbr"], Cli(_SEARCH)] = "beam"
    """beam, or mbr: minimum Bayes risk, the sample that agrees most with the others by chrF; slower."""
    candidates: Annotated[int, Field(ge=2, le=128), Cli(_SEARCH)] = 32
    """mbr: number of samples per sentence; time grows with it."""
    beam: Annotated[Width, Cli(_SEARCH)] = 5
    """Beam size; 1 is greedy search."""
    nbest: Annotated[Width, Cli("Lines", metavar="N")] = 1
    """Number of translations per sentence."""
    length_penalty: Annotated[Literal["average", "gnmt", "none"], Cli(_SEARCH)] = "average"
    """Divisor of log p: length^alpha, ((5 + length) / 6)^alpha, or 1."""
    alpha: Annotated[NotNegative, Cli(_SEARCH)] = 1.0
    """Exponent of the length penalty."""
    coverage_penalty: Annotated[NotNegative, Cli(_SEARCH)] = 0.0
    """Penalty for source words without attention; 0 disables it."""
    patience: Annotated[Positive | None, Cli(_SEARCH)] = 1.0
    """Stop after patience × beam finished hypotheses. In Python, None stops when no hypothesis can improve."""
    min_length: Annotated[Count, Cli(_SEARCH)] = 0
    """Minimum number of target tokens."""
    max_length: Annotated[Size | None, Cli(_SEARCH, default="2 × source + 20")] = None
    """Maximum number of target tokens, including the end of the sentence."""
    no_repeat_ngram: Annotated[Count, Cli(_SEARCH)] = 0
    """Forbid repeated n-grams of this many tokens; 0 allows them."""
    groups: Annotated[Size, Cli(_SEARCH)] = 1
    """Number of groups of diverse beam search; each avoids the words of the groups before it."""
    diversity: Annotated[NotNegative, Cli(_SEARCH)] = 0.5
    """Penalty per earlier group that has the same word at the same step; requires groups."""
    sample: Annotated[bool, Cli(_SAMPLING)] = False
    """Sample translations at random instead of searching."""
    temperature: Annotated[Positive, Cli(_SAMPLING)] = 1.0
    """Sampling temperature; lower values prefer likely tokens."""
    top_k: Annotated[Count, Cli(_SAMPLING)] = 0
    """Sample from this many most likely tokens; 0 is all."""
    top_p: Annotated[float, Field(gt=0.0, le=1.0), Cli(_SAMPLING)] = 1.0
    """Sample from the fewest tokens with this total probability."""
    seed: Annotated[Count, Cli(_SAMPLING)] = 1
    """Random seed of sampling; draws also depend on the sentence number."""
    min_confidence: Annotated[Share, Cli("Text", metavar="P")] = 0.0
    """Leave texts untranslated whose confidence is below this probability; needs a calibrated model."""

    def _check(self) -> None:
        if self.sample and self.search == "mbr":
            raise SettingError("{sample} must be left out with {search} mbr, which samples itself; leave one out")
        if self.search == "mbr" and self.nbest > self.candidates:
            raise SettingError(
                "{nbest} must be at most the candidates, {most}, got {value}; increase {candidates}",
                most=self.candidates,
                value=self.nbest,
            )
        if not self.sample and self.search == "beam" and self.nbest > self.beam:
            raise SettingError(
                "{nbest} must be at most the beam, {width}, got {value}; increase the beam",
                width=self.beam,
                value=self.nbest,
            )
        if self.max_length is not None and self.min_length >= self.max_length:
            raise SettingError(
                "{min_length} must be less than {max_length}, {limit}, which counts the end, got {value}; lower it",
                limit=self.max_length,
                value=self.min_length,
            )
        if self.beam % self.groups:
            raise SettingError(
                "{groups} must divide the beam, {width}, got {value}; change one of them",
                width=self.beam,
                value=self.groups,
            )
        self._check_unused()

    def _check_unused(self) -> None:
        """Reject settings without effect. Defaults pass, so that `model_dump()` of valid settings is valid."""
        samples = self.sample or self.search == "mbr"
        required = dict.fromkeys(("temperature", "top_k", "top_p", "seed"), "sample")
        for name, other in (required | {"diversity": "groups", "candidates": "search"}).items():
            is_used = samples if other == "sample" else other in self.model_fields_set
            if not is_used and getattr(self, name) != type(self).model_fields[name].default:
                raise SettingError(f"{{{name}}} needs {{{other}}}; add that one, or leave this out")

    def limit(self, source: int, longest: int | None, least: int = 1) -> int:
        """Return the maximum of target tokens for `source` tokens, with room for `least` of phrases."""
        limit = max(self.max_length or 2 * source + 20, least)
        return limit if longest is None else min(limit, longest)


def replace_search(search: SearchSettings, /, **changed: Any) -> SearchSettings:
    """Return valid settings with other values; a beam that was left to the model still is."""
    values = SearchSettings(**(search.model_dump() | changed)).model_dump()
    return SearchSettings.model_construct(_fields_set=search.model_fields_set | changed.keys(), **values)


@functools.lru_cache(maxsize=64)
def candidate_search(search: SearchSettings) -> SearchSettings:
    """Return the settings with which the engine searches: for MBR those of sampling, otherwise `search` itself."""
    if search.search == "beam":
        return search
    defaults = {name: field.default for name, field in SearchSettings.model_fields.items()}
    is_plain = all(getattr(search, name) == defaults[name] for name in ("temperature", "top_k", "top_p"))
    changed = {"temperature": MBR_TEMPERATURE} if is_plain else {}
    plain = {name: defaults[name] for name in ("search", "candidates")}
    return replace_search(search, sample=True, nbest=search.candidates, **plain, **changed)


def search_for_model(search: SearchSettings, own: InferenceConfig | None) -> SearchSettings:
    """Take the beam of the model, unless settings have a beam or need a wider one."""
    if own is None or own.beam is None or "beam" in search.model_fields_set or search.sample or search.search == "mbr":
        return search
    return search if search.nbest > own.beam or own.beam % search.groups else replace_search(search, beam=own.beam)
