"""CTranslate2 inference engine for Transformer models. Imports no torch.

The search is that of CTranslate2, adapted to give the results of our search (docs/decisions/0012):

- Lengths include the end: CTranslate2 returns the end token, and then counts it.
- It ranks by log p / length^alpha. For other penalties (GNMT) the translations are ranked again; neither beam uses
  penalties during the search.
- It has one maximum length per call. Sentences that exceed their own limit are searched again with that limit, so that
  no result depends on the batch.
- If it forbids words or forces a prefix, its log p is not that of the model: such translations are scored again. Its
  beam still follows its own log p, and ends directly after a prefix only if that is most likely: in these cases it can
  find another translation than our search.
- It omits the attention to the end of the source: that column is the difference from a sum of one.
- With a beam, the first row of its attention belongs to another sentence of the batch: it is computed separately.
- It does not accept an empty source: the translation is then the prefix, with the log p of the model.
- It cannot be constrained at every step. Required phrases are forced as parts of prefixes, in several searches.
"""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.config.search import SearchSettings
from dragoman.engines.ctranslate2.adapted_search import BatchSearch, search_phrases
from dragoman.engines.ctranslate2.export import FORMAT, PACKAGES, export_ctranslate2, longest_sentence, vocabulary_of
from dragoman.engines.ctranslate2.token_id_client import (
    CancellationOnly,
    TranslatorClient,
    hypothesis,
    import_ctranslate2,
)
from dragoman.engines.export_cache import Precision, cached_export
from dragoman.engines.protocol import Device
from dragoman.environment import default_threads
from dragoman.errors import ConfigError, DataError
from dragoman.search.decoding_protocol import SearchMonitor
from dragoman.search.hypothesis import Hypothesis, Penalties, SearchInput, SearchOptions


@dataclass(eq=False)
class CTranslate2Engine:
    """A Transformer on CTranslate2, which processes `concurrency` calls in parallel."""

    name: ClassVar = "ctranslate2"

    _calls: TranslatorClient
    precision: Precision
    longest: int
    concurrency: int
    note: str
    has_new_export: bool = False
    export_bytes: int = 0

    @staticmethod
    def has_cuda() -> bool:
        """Whether the package finds a CUDA device."""
        return bool(import_ctranslate2().get_cuda_device_count())

    @classmethod
    def open(
        cls, bundle: Bundle, *, precision: Precision = "float32", threads: int | None = None, device: Device = "cpu"
    ) -> Self:
        """Open the model from its export. Each thread has its own batch: threads that share one mostly wait."""
        threads = (threads or default_threads()) if device == "cpu" else 1  # one batch fills a GPU
        longest = longest_sentence(bundle.config)
        make = functools.partial(export_ctranslate2, bundle, precision=precision)
        export = cached_export(bundle, "ctranslate2", precision, make, format_number=FORMAT, packages=PACKAGES)
        translator = import_ctranslate2().Translator(
            str(export.folder),
            device=device,
            compute_type=precision,
            inter_threads=threads,
            intra_threads=1,
            files=dict(export.files),  # the verified content, not that of the folder
        )
        source, target = (vocabulary_of(bundle.tokenizers()[side]) for side in ("source", "target"))
        calls = TranslatorClient(translator, source, target)
        return cls(
            calls,
            precision=precision,
            longest=longest,
            concurrency=threads,
            note=export.note,
            has_new_export=export.is_new,
            export_bytes=sum(map(len, export.files.values())),
        )

    @staticmethod
    def unsupported(settings: SearchSettings, *, phrases: bool = False, trace: bool = False) -> str | None:
        features = {
            "sampling that depends on the sentence alone": settings.sample,
            "diverse beam search": settings.groups > 1,
            "a coverage penalty": settings.coverage_penalty > 0,
            "beam search without patience": settings.patience is None and settings.beam > 1,
            "the search tree": trace,
        }
        return next((what for what, is_required in features.items() if is_required), None)

    def search(
        self, sentences: Sequence[SearchInput], settings: SearchSettings, **options: Unpack[SearchOptions]
    ) -> list[list[Hypothesis]]:
        if missing := self.unsupported(settings, trace=options.get("trace") is not None):
            raise ConfigError(f"the engine ctranslate2 does not support {missing}; use the engine torch")
        self._check_lengths(sentence.tokens for sentence in sentences)
        search = self._search_phrases if any(sentence.phrases for sentence in sentences) else self._search
        return search(sentences, settings, options.get("return_attention", False), options.get("monitor"))

    def _search(
        self,
        sentences: Sequence[SearchInput],
        settings: SearchSettings,
        return_attention: bool,
        monitor: SearchMonitor | None,
    ) -> list[list[Hypothesis]]:
        search = BatchSearch(self._calls, self.longest, sentences, settings, return_attention, monitor)
        results: list[list[Hypothesis]] = [[] for _ in sentences]
        for batch in search.batches():
            for number, found in search.run(batch).items():
                results[number] = found
        return results

    def _search_phrases(
        self,
        sentences: Sequence[SearchInput],
        settings: SearchSettings,
        return_attention: bool,
        monitor: SearchMonitor | None,
    ) -> list[list[Hypothesis]]:
        """Search with required phrases, by forced prefixes: see `phrase_search`."""

        def search(places: Sequence[int], some: Sequence[SearchInput]) -> list[list[Hypothesis]]:
            inner = None if monitor is None else CancellationOnly(monitor, places)
            return self._search(some, settings, True, inner)

        def next_tokens(sentence: SearchInput) -> list[int]:
            return self._calls.next_tokens(sentence.tokens, sentence.prefix)

        found = search_phrases(sentences, search, next_tokens)
        for place, hypotheses in enumerate(found):
            if monitor is not None and hypotheses:
                monitor.on_tokens(place, hypotheses[0].tokens)
        if return_attention:
            return found
        return [[replace(each, alignment=None) for each in hypotheses] for hypotheses in found]

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, return_attention: bool = False
    ) -> list[Hypothesis]:
        if not sources:
            return []
        self._check_lengths(sources)
        self._check_lengths(targets)
        penalties = Penalties(SearchSettings())
        maps = self._calls.forced_maps(sources, targets) if return_attention else [None] * len(sources)
        return [
            hypothesis(list(target), sum(gained), weights, penalties, is_finished=True)
            for target, gained, weights in zip(targets, self._calls.gains(sources, targets), maps, strict=True)
        ]

    def first_token_log_probs(
        self, sources: Sequence[Sequence[int]], prefix: Sequence[int] = ()
    ) -> NDArray[np.float32]:
        self._check_lengths(sources)
        return self._calls.first_token_log_probs(sources, prefix)

    def _check_lengths(self, sentences: Iterable[Sequence[int]]) -> None:
        longest = max((len(sentence) + 1 for sentence in sentences), default=0)
        if longest > self.longest:
            raise DataError(
                f"a sentence must be at most {self.longest - 1} tokens long for CTranslate2, got {longest - 1}; "
                "split it, or use the engine torch"
            )
