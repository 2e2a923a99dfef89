"""CTranslate2, the fast engine of Transformers. Imports no torch.

Its search is CTranslate2's own, made to mean what ours means (docs/decisions/0012):

- Lengths count the end: CTranslate2 is asked to give back the end mark, and then counts it.
- It ranks by log p / length^alpha. Where we rank by something else (GNMT's penalty), the
  translations that it found are ranked again; the beam itself knows no penalties, here or there.
- It knows one greatest length a call. Sentences whose search went beyond their own are searched again with theirs, so
  that no sentence depends on its company.
- Where it forbids words or forces a prefix, its log p is not the model's: such translations are scored once more. Its
  beam follows its own log p, though, and ends right behind a prefix only where that is the likeliest: these are the
  cases where it may find another translation than our search.
- It leaves out how words are aligned with the source's end: that column is what is missing to a sum of one.
- With a beam, the first row of its alignments is that of another sentence of the batch: it is asked for by itself.
- It does not read an empty source: the translation is then the prefix, and its log p the model's.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Self

from dragoman.bundle import Bundle
from dragoman.engines.ctranslate2_calls import Calls
from dragoman.engines.ctranslate2_export import (
    FORMAT,
    PACKAGES,
    export_ctranslate2,
    longest_sentence,
    vocabulary_of,
)
from dragoman.engines.ctranslate2_package import import_ctranslate2
from dragoman.engines.ctranslate2_results import hypothesis
from dragoman.engines.ctranslate2_search import Job
from dragoman.engines.exports import Precision, export_of
from dragoman.environment import usable_cores
from dragoman.errors import ConfigError, DataError
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.penalties import Penalties
from dragoman.search.protocol import Watch
from dragoman.search.settings import SearchSettings
from dragoman.search.trace import Trace

__all__ = ["CTranslate2Engine"]


class CTranslate2Engine:
    """A Transformer on CTranslate2, which works on as many calls at once as there are `lanes`."""

    name = "ctranslate2"

    def __init__(
        self, calls: Calls, *, precision: Precision, longest: int, lanes: int, note: str, has_new_export: bool = False
    ) -> None:
        self.precision = precision
        self.lanes = lanes
        self.longest = longest
        self.note = note
        self.has_new_export = has_new_export
        self._calls = calls

    @classmethod
    def open(cls, bundle: Bundle, *, precision: Precision = "float32", threads: int | None = None) -> Self:
        """The model of a bundle, from its export; that is made if there is no good one (`note` says so).

        Each thread works on a batch of its own: all threads at one would wait for each other at every small product,
        and translate even a sentence by itself more slowly than one does.
        """
        threads = threads or usable_cores()
        longest = longest_sentence(bundle.config)
        make = functools.partial(export_ctranslate2, bundle, precision=precision)
        export = export_of(bundle, "ctranslate2", precision, make, format_number=FORMAT, packages=PACKAGES)
        translator = import_ctranslate2().Translator(
            str(export.folder),
            device="cpu",
            compute_type=precision,
            inter_threads=threads,
            intra_threads=1,
            files=dict(export.files),  # not those that are in the folder by now
        )
        source, target = (vocabulary_of(bundle.tokenizers()[side]) for side in ("source", "target"))
        calls = Calls(translator, source, target)
        return cls(
            calls,
            precision=precision,
            longest=longest,
            lanes=threads,
            note=export.note,
            has_new_export=export.is_new,
        )

    @staticmethod
    def lacks(settings: SearchSettings, *, phrases: bool = False, trace: bool = False) -> str | None:
        lacking = {
            "sampling that depends on the sentence alone": settings.sample,
            "diverse beam search": settings.groups > 1,
            "a coverage penalty": settings.coverage_penalty > 0,
            "beam search without patience": settings.patience is None and settings.beam > 1,
            "phrases that a translation must hold": phrases,
            "the search tree": trace,
        }
        return next((what for what, is_asked in lacking.items() if is_asked), None)

    def search(
        self,
        sentences: Sequence[Sentence],
        settings: SearchSettings,
        *,
        show: bool = False,
        watch: Watch | None = None,
        trace: Trace | None = None,
    ) -> list[list[Hypothesis]]:
        phrases = any(sentence.phrases for sentence in sentences)
        if lack := self.lacks(settings, phrases=phrases, trace=trace is not None):
            raise ConfigError(f"the engine must be able to do {lack}, got ctranslate2, which is not; use torch")
        self._check_lengths(sentence.pieces for sentence in sentences)
        job = Job(self._calls, self.longest, sentences, settings, show, watch)
        results: list[list[Hypothesis]] = [[] for _ in sentences]
        for batch in job.batches():
            for number, found in job.run(batch).items():
                results[number] = found
        return results

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, show: bool = False
    ) -> list[Hypothesis]:
        if not sources:
            return []
        self._check_lengths(sources)
        self._check_lengths(targets)
        penalties = Penalties(SearchSettings())
        maps = self._calls.forced_maps(sources, targets) if show else [None] * len(sources)
        return [
            hypothesis(list(target), sum(gained), weights, penalties, is_finished=True)
            for target, gained, weights in zip(targets, self._calls.gains(sources, targets), maps, strict=True)
        ]

    def _check_lengths(self, sentences: Iterable[Sequence[int]]) -> None:
        longest = max((len(sentence) + 1 for sentence in sentences), default=0)
        if longest > self.longest:
            raise DataError(
                f"a sentence must be at most {self.longest - 1} pieces long for CTranslate2, got {longest - 1}; "
                "split it, or use the engine torch"
            )
