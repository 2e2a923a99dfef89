"""Choose the search algorithm for given settings and run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError
from dragoman.search.decoding_protocol import StartDecoding
from dragoman.search.greedy import decode_rows
from dragoman.search.hypothesis import Hypothesis, SearchInput, SearchOptions

if TYPE_CHECKING:
    from dragoman.search.beam.algorithms import BeamAlgorithm


def search(
    start: StartDecoding,
    sentences: Sequence[SearchInput],
    settings: SearchSettings,
    *,
    longest: int | None = None,
    **options: Unpack[SearchOptions],
) -> list[list[Hypothesis]]:
    """Translate sentences as one batch. For each sentence: its translations, the best first."""
    if not sentences:
        return []
    has_phrases = any(sentence.phrases for sentence in sentences)
    if not has_phrases and (settings.sample or (settings.beam == 1 and options.get("trace") is None)):
        return decode_rows(start, sentences, settings, longest=longest, **options)
    from dragoman.search.beam.algorithms import DiverseBeam, StandardBeam  # noqa: PLC0415 -- many models search greedily
    from dragoman.search.beam.search import beam_search  # noqa: PLC0415

    if has_phrases:
        algorithm: BeamAlgorithm = _constrained(sentences, settings, longest)
    else:
        algorithm = DiverseBeam.of(settings) if settings.groups > 1 else StandardBeam(settings.beam)
    return beam_search(start, sentences, settings, algorithm, longest=longest, **options)


def _constrained(sentences: Sequence[SearchInput], settings: SearchSettings, longest: int | None) -> BeamAlgorithm:
    if settings.sample or settings.groups > 1:
        method = "sampling" if settings.sample else "diverse beam search"
        raise ConfigError(
            f"phrases must be searched for by plain beam search, got {method}; disable it, or omit the glossary"
        )
    from dragoman.search.beam.constrained import ConstrainedBeam  # noqa: PLC0415 -- few texts have phrases

    limits = [settings.limit(len(sentence.tokens), longest, sentence.min_length) for sentence in sentences]
    return ConstrainedBeam.of(sentences, settings.beam, limits)
