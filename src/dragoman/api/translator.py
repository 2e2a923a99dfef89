"""The translator: text in, text out."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Self, Unpack
from weakref import WeakKeyDictionary

from dragoman.api.attention import Attention
from dragoman.api.ensemble import in_common, readable
from dragoman.api.forced_decoding import ForcedDecoder
from dragoman.api.parts import Part, Source, checked, part_batches
from dragoman.api.reading import Reader, Reading
from dragoman.api.request import Cancelled, Options, Request, refuse_ignored
from dragoman.api.streaming import Onlooker, stream
from dragoman.api.target import Target, Written
from dragoman.api.translation import Translation
from dragoman.api.unfolding import Unfolding
from dragoman.api.word_alignment import Links, attended
from dragoman.bundle import Bundle
from dragoman.config import Config
from dragoman.engines.choose import EngineName, PrecisionName, open_engine
from dragoman.engines.protocol import Engine
from dragoman.errors import ConfigError, DataError
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.protocol import Watch
from dragoman.search.settings import SearchSettings
from dragoman.search.trace import Trace
from dragoman.text import Normalizer, Tokenizer
from dragoman.text.glossary import Glossary

__all__ = ["Translator"]

_BATCH_TOKENS = 4096
_BATCH_SENTENCES = 64
_LONGEST = 512  # pieces that are translated at once: attention takes memory by their square
_UNKNOWN_LANGUAGE = "en"


class Translator:
    """Translates texts with a bundle, or with an ensemble of several that have one tokenizer.

    It can be used from several threads at once. Options, such as ``alignments=True``, are those of `Request`. What a
    text gets never depends on the texts that are translated together with it. A text without letters comes back as it
    is.
    """

    def __init__(
        self,
        engine: Engine,
        config: Config,
        tokenizers: dict[str, Tokenizer],
        *,
        why: str = "",
        settings: SearchSettings | None = None,
        glossary: Glossary | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        """Take an engine that is ready; `open` finds one."""
        self.engine, self.why = engine, why
        self.bundles: tuple[Bundle, ...] = ()
        self.settings = settings or SearchSettings()
        self.glossary = glossary
        self.batch_tokens = batch_tokens or _BATCH_TOKENS
        if self.batch_tokens < 1:
            raise ConfigError(
                f"batch_tokens must be at least 1, got {batch_tokens}; {_BATCH_TOKENS} suit most machines"
            )
        self.languages = ("", "") if config.data is None else (config.data.source, config.data.target)
        normalize = Normalizer(form=config.tokenizer.normal_form)
        language = self.languages[0] or _UNKNOWN_LANGUAGE
        self._source = Source(tokenizers["source"], normalize, language, min(_LONGEST, readable(config) or _LONGEST))
        self._target = Target(tokenizers["target"], normalize, tokenizers["source"])
        self._reader = Reader(self._source, self._target, self.languages)
        self._forced = ForcedDecoder(engine, readable(config))
        self._glossaries: WeakKeyDictionary[Glossary, Glossary] = WeakKeyDictionary()
        self._lock = threading.Lock()
        if glossary is not None:
            self._checked(glossary)

    @classmethod
    def open(
        cls,
        *bundles: Bundle | Path | str,
        engine: EngineName = "auto",
        precision: PrecisionName = "auto",
        threads: int | None = None,
        settings: SearchSettings | None = None,
        glossary: Glossary | None = None,
        batch_tokens: int | None = None,
        tree: bool = False,
        stepwise: bool = False,
    ) -> Self:
        """Open a bundle, or several as an ensemble, on the engine that suits it best; `why` says which that is.

        `settings` and `glossary` are those of every call that does not bring its own; a term that the model cannot
        write is a `DataError`. `tree` announces that search trees will be asked for. `stepwise` asks for an engine
        whose every step is open, torch or ONNX Runtime, for those who stream translations or call them off: with a
        beam, CTranslate2, though faster, tells whole sentences only, and is not to be interrupted within them.
        `batch_tokens` is how many source pieces are translated at a time, padding among them, with a beam of 5; a wider
        beam takes fewer, and so do more samples, or terms of a glossary.
        """
        opened = [bundle if isinstance(bundle, Bundle) else Bundle.open(bundle) for bundle in bundles]
        config, tokenizers = in_common(opened)
        chosen = open_engine(
            opened,
            engine=engine,
            precision=precision,
            threads=threads,
            settings=settings,
            phrases=glossary is not None,
            trace=tree,
            stepwise=stepwise,
        )
        translator = cls(
            chosen.engine,
            config,
            tokenizers,
            why=chosen.why,
            settings=settings,
            glossary=glossary,
            batch_tokens=batch_tokens,
        )
        translator.bundles = tuple(opened)  # one that was an archive is on the disk as long as somebody holds it
        return translator

    def translate(self, text: str, *, prefix: str = "", **options: Unpack[Options]) -> Translation:
        """Translate a text: its sentences one by one, put together again with the line breaks between them.

        With ``split=False`` it is one sentence. The first sentence's translation begins with `prefix`.
        """
        options = {"split": True, **options}
        if prefix:
            options["prefixes"] = [prefix]
        return self.translate_batch([text], **options)[0]

    def translate_batch(self, texts: Sequence[str], **options: Unpack[Options]) -> list[Translation]:
        """Translate texts, each of them one sentence unless ``split=True``; the results come in their order."""
        readings = self.read(texts, **options)
        if readings:
            self._search_all([part for reading in readings for part in reading.waiting], readings[0].request)
        return [self.translation(reading) for reading in readings]

    def translate_stream(self, text: str, *, prefix: str = "", **options: Unpack[Options]) -> Iterator[str]:
        """Translate a text, and yield what is certain of it as soon as it is; joined it is what `translate` gives.

        On torch and ONNX Runtime text comes piece by piece, and closing the iterator ends the search within a step; so
        it is on CTranslate2 with a beam of 1. With a wider beam CTranslate2 gives sentence by sentence, and closing
        waits for the end of the one that is being translated; `open` with ``stepwise=True`` avoids that.
        """
        request = replace(self._resolved(Request(**options), split=True), prefixes=[prefix] if prefix else None)
        request = replace(request, alignments=False, weights=False, flags=False, tree=False)
        (reading,) = self._reader.read([text], request)

        def search(part: Part, onlooker: Onlooker) -> None:
            self.search([part], request, onlooker)
            if not part.found:
                raise Cancelled

        return stream(reading.parts, search, self.unfolding(reading), cancelled=request.cancelled)

    def read(self, texts: Sequence[str], **options: Unpack[Options]) -> list[Reading]:
        """Read texts, and leave it to the caller to have their parts searched for, in whatever batches suit.

        ::

            readings = translator.read(texts, split=True)
            for reading in readings:
                translator.search(reading.waiting, reading.request)
            translations = [translator.translation(reading) for reading in readings]

        `search`, then `finish`, may be called for parts of many texts together; `translation` comes last.
        """
        return self._reader.read(texts, self._resolved(Request(**options), split=False))

    def search(self, parts: Sequence[Part], request: Request, watch: Watch | None = None) -> None:
        """Search for parts as one batch of the engine; their requests must be alike in settings, words and trees.

        Sentences that `watch` calls off leave the batch, the others go on: nothing is found for those, and
        `Part.found` stays empty.
        """
        trace = Trace() if request.tree else None
        sentences = [part.sentence for part in parts if part.sentence is not None]
        found = self.engine.search(sentences, request.search, show=request.wants_words, watch=watch, trace=trace)
        for place, (part, hypotheses) in enumerate(zip(parts, found, strict=True)):
            if hypotheses or watch is None or not watch.is_cancelled(place):
                part.found = hypotheses or [Hypothesis([], float("-inf"), score=float("-inf"), is_finished=False)]
                part.tree = None if trace is None else trace.trees.get(place, [])
        self._forced.look_up_unknown(parts, self._target.tokenizer.unk_id)

    def finish(self, part: Part, request: Request) -> Translation:
        """Make the translation of a part of what was found for it, once."""
        if part.translation is None:
            part.translation = self._target.best(part, request)
        return part.translation

    def translation(self, reading: Reading) -> Translation:
        """The translation of a text whose parts were all searched for."""
        return reading.joined([self.finish(part, reading.request) for part in reading.parts])

    def unfolding(self, reading: Reading) -> Unfolding:
        """What turns news of the parts of a text into text, for those who show translations as they are written."""
        return Unfolding(reading, self._target)

    def score(self, sources: Sequence[str], targets: Sequence[str], **options: Unpack[Options]) -> list[Translation]:
        """How likely these translations are: the score is the mean log-probability of a piece, the end among them.

        ``alignments=True``, ``weights=True`` and ``flags=True`` say more; other options are refused. What is too long
        is a `PairError`, which knows the place of the pair.
        """
        refuse_ignored(options)
        request = Request(**options)
        parts, written, pairs = self._pairs(sources, targets)
        found = self._forced.score(pairs, show=request.wants_words)
        return [
            self._target.translation(part, hypothesis, request, written=each)
            for part, each, hypothesis in zip(parts, written, found, strict=True)
        ]

    def attention(
        self, sources: Sequence[str], targets: Sequence[str], *, likelihoods: bool = False
    ) -> list[Attention]:
        """Where the model looks while it writes these translations: every layer and head. Needs the torch engine.

        `likelihoods` come too if they are asked for; they take a step for each place of the source.
        """
        parts, written, pairs = self._pairs(sources, targets)
        maps = self._forced.attention(pairs)
        known = self._forced.likelihoods(pairs) if likelihoods else [None] * len(pairs)
        return [
            Attention(tuple(self._source.tokenizer.pieces(part.normal)), tuple(each.pieces), attended(weights), likely)
            for part, each, weights, likely in zip(parts, written, maps, known, strict=True)
        ]

    def align(self, sources: Sequence[str], targets: Sequence[str]) -> list[Links]:
        """For every target word, the source word that the model looks at most while it writes it."""
        return [attended(each.alignment) for each in self.score(sources, targets, alignments=True)]

    def _pairs(
        self, sources: Sequence[str], targets: Sequence[str]
    ) -> tuple[list[Part], list[Written], list[tuple[list[int], list[int]]]]:
        """Read sources and the translations that are given for them."""
        if len(sources) != len(targets):
            raise DataError(
                f"there must be a translation for each source, got {len(sources)} sources and {len(targets)} "
                "translations; count the lines of both"
            )
        parts = [self._source.whole(source) for source in sources]
        written = [self._target.read(target) for target in targets]
        pairs = [(part.ids or [], each.ids) for part, each in zip(parts, written, strict=True)]
        self._forced.check(pairs)
        return parts, written, pairs

    def _resolved(self, request: Request, *, split: bool) -> Request:
        request = request.resolved(self.settings, self.glossary, split=split)
        lack = self.engine.lacks(request.search, phrases=request.glossary is not None, trace=request.tree)
        if lack is not None:
            raise ConfigError(
                f"engine must be able to do all that is asked for, got {self.engine.name}, which lacks {lack}; open "
                "the translator with engine='torch'"
            )
        return request if request.glossary is None else replace(request, glossary=self._checked(request.glossary))

    def _checked(self, glossary: Glossary) -> Glossary:
        """The glossary as it is found in normalised texts: made once, and kept as long as the glossary is."""
        with self._lock:
            if glossary not in self._glossaries:
                self._glossaries[glossary] = checked(glossary, self._target.tokenizer, self._source.normalize)
            return self._glossaries[glossary]

    def _search_all(self, parts: list[Part], request: Request) -> None:
        onlooker = None if request.cancelled is None else Onlooker([request.cancelled])
        lanes = self.engine.lanes
        most = min(_BATCH_SENTENCES, -(-len(parts) // lanes))

        def translate(batch: list[Part]) -> None:
            if onlooker is not None and onlooker.is_cancelled(0):
                raise Cancelled
            self.search(batch, request, onlooker)
            if not all(part.found for part in batch):
                raise Cancelled
            for part in batch:
                self.finish(part, request)

        groups = list(part_batches(parts, request.search, pieces=self.batch_tokens, sentences=max(1, most)))
        if lanes == 1 or len(groups) < 2:
            for batch in groups:
                translate(batch)
            return
        with ThreadPoolExecutor(lanes) as pool:
            for _ in pool.map(translate, groups):
                pass
