"""One way into every search."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.errors import ConfigError
from dragoman.search.beam import beam_search
from dragoman.search.choosers import Chooser, DiverseChooser, PlainChooser
from dragoman.search.constraints import ConstrainedChooser
from dragoman.search.greedy import greedy
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.protocol import Start, Watch
from dragoman.search.sample import sample
from dragoman.search.settings import SearchSettings
from dragoman.search.trace import Trace

__all__ = ["search"]


def search(
    start: Start,
    sentences: Sequence[Sentence],
    settings: SearchSettings,
    *,
    longest: int | None = None,
    show: bool = False,
    watch: Watch | None = None,
    trace: Trace | None = None,
) -> list[list[Hypothesis]]:
    """Translate sentences as one batch, the way the settings say. For each: its translations, the best first."""
    if not sentences:
        return []
    if any(sentence.phrases for sentence in sentences):
        chooser: Chooser = _constrained(sentences, settings, longest)
        return beam_search(start, sentences, settings, chooser, longest=longest, show=show, watch=watch, trace=trace)
    if settings.sample:
        return sample(start, sentences, settings, longest=longest, show=show, watch=watch)
    if settings.beam == 1 and trace is None:
        return greedy(start, sentences, settings, longest=longest, show=show, watch=watch)
    chooser = DiverseChooser.of(settings) if settings.groups > 1 else PlainChooser(settings.beam)
    return beam_search(start, sentences, settings, chooser, longest=longest, show=show, watch=watch, trace=trace)


def _constrained(sentences: Sequence[Sentence], settings: SearchSettings, longest: int | None) -> Chooser:
    if settings.sample or settings.groups > 1:
        way = "sampling" if settings.sample else "diverse beam search"
        raise ConfigError(f"phrases must be searched for by plain beam search, got {way}; leave it or the glossary out")
    limits = [settings.limit(len(sentence.pieces), longest, sentence.least) for sentence in sentences]
    return ConstrainedChooser.of(sentences, settings.beam, limits)
