"""Choose the search algorithm for given settings and run it."""

from collections.abc import Sequence

from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError
from dragoman.search.beam.algorithms import BeamAlgorithm, DiverseBeam, StandardBeam
from dragoman.search.beam.constrained import ConstrainedBeam
from dragoman.search.beam.search import beam_search
from dragoman.search.decoding_protocol import SearchMonitor, StartDecoding
from dragoman.search.greedy import greedy, sample
from dragoman.search.hypothesis import Hypothesis, SearchInput, SearchTrace


def search(
    start: StartDecoding,
    sentences: Sequence[SearchInput],
    settings: SearchSettings,
    *,
    longest: int | None = None,
    return_attention: bool = False,
    monitor: SearchMonitor | None = None,
    trace: SearchTrace | None = None,
) -> list[list[Hypothesis]]:
    """Translate sentences as one batch. For each sentence: its translations, the best first."""
    if not sentences:
        return []
    if any(sentence.phrases for sentence in sentences):
        algorithm: BeamAlgorithm = _constrained(sentences, settings, longest)
        return beam_search(
            start,
            sentences,
            settings,
            algorithm,
            longest=longest,
            return_attention=return_attention,
            monitor=monitor,
            trace=trace,
        )
    if settings.sample:
        return sample(start, sentences, settings, longest=longest, return_attention=return_attention, monitor=monitor)
    if settings.beam == 1 and trace is None:
        return greedy(start, sentences, settings, longest=longest, return_attention=return_attention, monitor=monitor)
    algorithm = DiverseBeam.of(settings) if settings.groups > 1 else StandardBeam(settings.beam)
    return beam_search(
        start,
        sentences,
        settings,
        algorithm,
        longest=longest,
        return_attention=return_attention,
        monitor=monitor,
        trace=trace,
    )


def _constrained(sentences: Sequence[SearchInput], settings: SearchSettings, longest: int | None) -> BeamAlgorithm:
    if settings.sample or settings.groups > 1:
        method = "sampling" if settings.sample else "diverse beam search"
        raise ConfigError(
            f"phrases must be searched for by plain beam search, got {method}; disable it, or omit the glossary"
        )
    limits = [settings.limit(len(sentence.tokens), longest, sentence.min_length) for sentence in sentences]
    return ConstrainedBeam.of(sentences, settings.beam, limits)
