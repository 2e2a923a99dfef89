"""Translate text with a saved model (bundle) or with an ensemble of several."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Self, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from dragoman.api.notebook.stage_display import shown_progress
from dragoman.api.translation.attention import AttentionMaps, weigh_by_likelihoods, with_likelihoods
from dragoman.api.translation.batching import search_all
from dragoman.api.translation.forced_decoding import ForcedDecoder
from dragoman.api.translation.glossary_constraints import CheckedGlossaries
from dragoman.api.translation.markup import translate_guarded
from dragoman.api.translation.options import (
    Cancellation,
    TranslateKeywords,
    TranslateOptions,
    TranslationCancelled,
    search_settings,
)
from dragoman.api.translation.postprocessor import Postprocessor, TokenizedTarget
from dragoman.api.translation.prepared_text import Chunk, PreparedText
from dragoman.api.translation.preprocessor import Preprocessor, check_pairs, check_prefixes, check_texts
from dragoman.api.translation.streaming import IncrementalDetokenizer, StreamMonitor, stream
from dragoman.api.translation.text_translator import ClosedEngine, TextTranslator
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.word_alignment import repaired, require_attention
from dragoman.bundle import Bundle
from dragoman.bundle.bundle import check_compatible, max_source_tokens
from dragoman.bundle.locate import open_located
from dragoman.config import Config
from dragoman.config.corpus import Direction
from dragoman.config.engine import DeviceName, EngineName, PrecisionName
from dragoman.config.schema import aligns_input, has_guided_alignment
from dragoman.config.search import SearchSettings, candidate_search, search_for_model
from dragoman.engines.directions import choose_direction, directed_parts, list_directions, only_direction
from dragoman.engines.lexical_likelihoods import LexicalLikelihoods
from dragoman.engines.protocol import Engine
from dragoman.engines.select import open_engine
from dragoman.environment import check_process
from dragoman.errors import ConfigError
from dragoman.evaluation.word_alignment import Links
from dragoman.markup.placeholders.guarded_unit import guard_text
from dragoman.progress import Progress
from dragoman.search.decoding_protocol import SearchMonitor
from dragoman.search.hypothesis import Hypothesis, SearchTrace
from dragoman.storage.memory_reader import MemoryReader
from dragoman.text import Normalizer, Tokenizer
from dragoman.text.glossary import Glossary, GlossaryTerm

_BATCH_TOKENS = 4096
_MAX_TOKENS = 512  # per search: the memory of attention grows with their square


class Translator(TextTranslator):
    """Translates texts with a bundle, or with an ensemble of bundles that have the same tokenizers::

        translator = Translator.open("bundle")
        print(translator.translate("A man is sleeping."))

    Thread-safe. The translation of a text does not depend on the texts that are translated together with it. A text
    without letters is returned unchanged.

    `engine_reason` names the engine and why it was chosen; `search_settings` and `glossary` apply to every call that
    has none of its own. `directions` are those that were trained; `shared_engine` is the engine of all of them.
    """

    def __init__(
        self,
        engine: Engine,
        config: Config,
        tokenizers: dict[str, Tokenizer],
        *,
        engine_reason: str = "",
        search: SearchSettings | None = None,
        glossary: Glossary | None = None,
        batch_tokens: int | None = None,
        bundles: Sequence[Bundle] = (),
    ) -> None:
        """Create a translator from an open engine; `open` opens one."""
        self.engine_reason, self.shared_engine = engine_reason, engine
        self._config, self._tokenizers = config, tokenizers
        self._by_direction: dict[Direction, Self] = {}
        self.bundles: tuple[Bundle, ...] = tuple(bundles)  # their end deletes the files of unpacked archives
        self._search, self.glossary = search or SearchSettings(), glossary
        self.search_settings = search_for_model(self._search, config.inference)
        self.batch_tokens = batch_tokens or _BATCH_TOKENS
        if self.batch_tokens < 1:
            raise ConfigError(f"batch_tokens must be at least 1, got {batch_tokens}; leave it out")
        self.directions: tuple[Direction, ...] = () if config.data is None else tuple(config.data.all_directions())
        self._count = max(1, len(self.directions))
        self._set_up(*only_direction(config, engine, tokenizers))
        self._lock, self._process = threading.Lock(), os.getpid()
        if glossary is not None:
            self._glossaries.check(glossary)

    def _set_up(self, engine: Engine, tokenizers: dict[str, Tokenizer]) -> None:
        """Create the parts that depend on the direction."""
        self.engine, self.languages = engine, self.directions[0] if self.directions else ("", "")
        normalize = Normalizer(form=self._config.tokenizer.normal_form)
        limit, source = max_source_tokens(self._config), tokenizers["source"]
        known = self.bundles[0].calibrations().get("-".join(self.languages)) if len(self.bundles) == 1 else None
        self.postprocessor = Postprocessor(tokenizers["target"], normalize, source, self.languages[0], known)
        most = min(_MAX_TOKENS, limit or _MAX_TOKENS)
        self._preprocessor = Preprocessor(source, normalize, self.languages, most, self.postprocessor)
        self.unreadable = self._preprocessor.unreadable
        self._glossaries = CheckedGlossaries(tokenizers["target"], normalize)
        self._forced = ForcedDecoder(engine, limit, aligns_input=aligns_input(self._config.model))
        self._lexical = LexicalLikelihoods(engine, source, tokenizers["target"], translators=self._count)

    def __repr__(self) -> str:
        """Return the languages and the engine."""
        return f"Translator({list_directions(self.directions)}; {self.engine_reason or self.engine.name})"

    @classmethod
    def open(  # noqa: PLR0913 -- one keyword per option
        cls,
        *bundles: Bundle | Path | str,
        engine: EngineName = "auto",
        precision: PrecisionName = "auto",
        device: DeviceName = "cpu",
        threads: int | None = None,
        search: SearchSettings | None = None,
        glossary: Glossary | None = None,
        batch_tokens: int | None = None,
        search_tree: bool = False,
        incremental: bool = False,
        shortlist: bool = True,
        source_language: str | None = None,
        target_language: str | None = None,
        memory: str | MemoryReader | None = None,
    ) -> Self:
        """Open a bundle, or several as an ensemble, on the fastest engine that supports what is required.

        A path is a bundle, a run or a project folder, whose best bundle is opened, or the name of a stored model, such
        as ``"en-pt"``. A run that is not finished is opened at its best checkpoint, with a warning.
        `search` and `glossary` are the defaults of every call; a term that the model cannot write is a `DataError`.
        `search_tree` selects an engine that records search trees. `incremental` selects an engine that runs one step
        at a time, torch or ONNX Runtime: with a beam, CTranslate2, though faster, returns complete sentences only, and
        cannot be cancelled within them. `batch_tokens` is the number of source tokens per batch, padding included, at a
        beam of 5; wider beams, more samples and glossary terms make batches smaller. With `shortlist` the ONNX engine
        chooses among the tokens of a model's lexical shortlist, if it has one. `device` "auto" is cuda if the engine
        finds such a device. `source_language` and `target_language` choose one direction of a model with several.
        Exact matches of `memory`, a name or opened, replace translations; `Translation.matches` has similar ones.
        """
        opened = [bundle if isinstance(bundle, Bundle) else open_located(bundle) for bundle in bundles]
        with ThreadPoolExecutor(1) as thread:  # most of the time to read tokenizers and engines is outside of Python
            reading = thread.submit(check_compatible, opened)
            if len(opened) > 1:
                reading.result()
            chosen = open_engine(
                opened,
                engine=engine,
                precision=precision,
                device=device,
                threads=threads,
                settings=search and candidate_search(search_settings(search)),
                phrases=glossary is not None,
                trace=search_tree,
                incremental=incremental,
                shortlist=shortlist,
            )
            config, tokenizers = reading.result()
        if len({each.config.inference for each in opened}) > 1:  # members were made for different searches
            config = config.model_copy(update={"inference": None})
        translator = cls(
            chosen.engine,
            config,
            tokenizers,
            engine_reason=chosen.description,
            search=search,
            glossary=glossary,
            batch_tokens=batch_tokens,
            bundles=opened,
        )
        translator.memory = MemoryReader.open(memory) if isinstance(memory, str) else memory
        is_chosen = source_language or target_language
        return translator.direction(source_language, target_language) if is_chosen else translator

    @property
    def preprocessor(self) -> Preprocessor:
        """The preprocessor of sources; a model with several directions needs one."""
        self.direction()
        return self._preprocessor

    def direction(self, source: str | None = None, target: str | None = None) -> Self:
        """Return the translator of one direction of the model, which shares the engine; itself if there is only one.

        A pair of languages that were trained in other directions only is accepted too (zero-shot).
        """
        self._check_open()
        is_one, given = len(self.directions) < 2, (source, target)
        if not is_one and given in self._by_direction:
            return self._by_direction[given]
        chosen = self.languages if is_one and given == (None, None) else choose_direction(self.directions, *given)
        if is_one:
            return self
        with self._lock:
            if chosen not in self._by_direction:
                self._by_direction[chosen] = found = copy.copy(self)
                found.directions, found._by_direction = (chosen,), {}  # noqa: SLF001 -- a cycle would not be freed
                found._threads = None  # noqa: SLF001 -- those of one translator end with it
                found._set_up(*directed_parts(self._config, chosen, self.engine, self._tokenizers))  # noqa: SLF001
            return self._by_direction[chosen]

    @overload
    def translate(self, text: str, **options: Unpack[TranslateKeywords]) -> Translation: ...  # type: ignore[overload-overlap]

    @overload
    def translate(self, text: Sequence[str], **options: Unpack[TranslateKeywords]) -> list[Translation]: ...

    def translate(  # noqa: PLR0913 -- one keyword per option
        self,
        text: str | Sequence[str],
        *,
        source: str | None = None,
        target: str | None = None,
        prefix: str | Sequence[str] = "",
        split_sentences: bool = True,
        max_sentence_tokens: int | None = None,
        search: SearchSettings | None = None,
        beam: int | None = None,
        nbest: int | None = None,
        alignment: bool = False,
        attention: bool = False,
        posterior: bool = False,
        flags: bool = False,
        search_tree: bool = False,
        glossary: Glossary | None = None,
        protect: bool = True,
        first: int = 0,
        cancelled: Cancellation | None = None,
        progress: Progress | None = None,
    ) -> Translation | list[Translation]:
        """Translate a text, or each of several; a list of texts gives a list of translations, in the same order.

        Args:
            text: One text or several.
            source: Language of the text; needed for a model with several directions to the target language.
            target: Language of the translation; needed for a model with several directions.
            prefix: Text that the translation must begin with: one for all texts, or one per text.
            split_sentences: Translate sentence by sentence, and keep the line breaks between sentences. Otherwise each
                text is one sentence, and its translation is one line.
            max_sentence_tokens: Maximum number of source tokens per search; longer sentences are translated in chunks.
            search: Search settings; those of the translator if not given.
            beam: Width of the beam, in place of that of `search`.
            nbest: Number of translations of each sentence, in place of that of `search`.
            alignment: Return words, and the links between them.
            attention: Return the attention weights between words.
            posterior: Links and weights given the target words: attention weights are multiplied by the likelihood of
                each target word as the translation of each source word alone. Links are better this way.
            flags: Return quality flags.
            search_tree: Return the search tree.
            glossary: Required translations of terms, in place of the glossary of the translator.
            protect: Keep placeholders, tags and addresses. A text whose placeholders cannot be kept is returned
                unchanged, with the flag `placeholders`; one below `min_confidence` with `unsure`.
            first: Index of the first text. Samples depend on the seed and on the index of the text.
            cancelled: Flag that ends the search with `TranslationCancelled`. Torch and ONNX Runtime read it at every
                step, and so does CTranslate2 with a beam of 1; with a wider beam CTranslate2 reads it every 16
                sentences.
            progress: Receives the progress; by default a notebook shows it where translation takes long.
        """
        self = self.direction(source, target)  # noqa: PLW0642 -- the translator of the direction has all the rest
        options = self._complete(
            TranslateOptions(
                split_sentences=split_sentences,
                max_sentence_tokens=max_sentence_tokens,
                search=search_settings(search or self._search, beam=beam, nbest=nbest),
                alignment=alignment,
                attention=attention,
                posterior=posterior,
                flags=flags,
                search_tree=search_tree,
                glossary=glossary,
                protect=protect,
            )
        )
        texts = [text] if isinstance(text, str) else check_texts(text)
        prefixes = [prefix] * len(texts) if isinstance(prefix, str) else prefix
        with shown_progress(progress, unit="sentence", is_quiet=True) as shown:

            def run(
                texts: Sequence[str], options: TranslateOptions, prefixes: Sequence[str], numbers: Sequence[int]
            ) -> list[Translation]:
                prepared = self.preprocessor.prepare(texts, options, prefixes, numbers)
                search_all(self, [chunk for each in prepared for chunk in each.pending], options, cancelled, shown)
                return [self.assemble(each) for each in prepared]

            starts, known = check_prefixes(prefixes, texts), self._known_matches(texts) if protect else None
            done = translate_guarded(texts, options, starts, first, run, self.unreadable, known)
        return repaired(self, starts, done)[0] if isinstance(text, str) else repaired(self, starts, done)

    def translate_stream(  # noqa: PLR0913 -- one keyword per option
        self,
        text: str,
        *,
        source: str | None = None,
        target: str | None = None,
        prefix: str = "",
        split_sentences: bool = True,
        max_sentence_tokens: int | None = None,
        search: SearchSettings | None = None,
        beam: int | None = None,
        glossary: Glossary | None = None,
        protect: bool = True,
        cancelled: Cancellation | None = None,
    ) -> Iterator[str]:
        """Translate a text, and yield its translation in parts as soon as they will not change any more.

        Arguments are those of `translate`, and the parts, joined, are its text. Protected placeholders and a minimum
        confidence make it one part. Torch and ONNX Runtime yield token by token, and closing the iterator ends the
        search within a step; so does CTranslate2 with a beam of 1. With a wider beam CTranslate2 yields sentence by
        sentence, and closing waits for the end of the current one; `open` with ``incremental=True`` avoids that.
        """
        self = self.direction(source, target)  # noqa: PLW0642 -- as in `translate`
        options = self._complete(
            TranslateOptions(
                split_sentences=split_sentences,
                max_sentence_tokens=max_sentence_tokens,
                search=search_settings(search or self._search, beam=beam),
                glossary=glossary,
            )
        )
        check_texts([text])
        unreadable = self.preprocessor.unreadable
        if protect and (self.memory or options.search.min_confidence or guard_text(text) or unreadable(text)):
            more: TranslateKeywords = {"prefix": prefix, "split_sentences": split_sentences, "cancelled": cancelled}
            more |= {"max_sentence_tokens": max_sentence_tokens, "search": options.search, "glossary": options.glossary}
            return (self.translate(each, **more).text for each in (text,))
        (prepared,) = self.preprocessor.prepare([text], options, [prefix])

        def search_chunk(chunk: Chunk, monitor: StreamMonitor) -> None:
            self.search([chunk], options, monitor)
            if not chunk.hypotheses:
                raise TranslationCancelled

        return stream(prepared.chunks, search_chunk, self.detokenizer(prepared), cancelled=cancelled)

    def prepare(
        self,
        texts: Sequence[str],
        options: TranslateOptions,
        *,
        prefixes: Sequence[str] | None = None,
        first: int | Sequence[int] = 0,
        terms: Sequence[Sequence[GlossaryTerm]] | None = None,
    ) -> list[PreparedText]:
        """Prepare texts for a caller that batches the searches of several texts; nothing in them is protected.

        `search`, then `postprocess`, may be called for chunks of several texts together; `assemble` comes last.
        `terms` are required translations of words of each text, in place of the terms of the glossary.
        """
        return self.preprocessor.prepare(texts, self._complete(options), prefixes, first, terms)

    def search(self, chunks: Sequence[Chunk], options: TranslateOptions, monitor: SearchMonitor | None = None) -> None:
        """Search chunks as one batch of the engine; they must have the same search settings.

        Chunks that `monitor` cancels leave the batch, and their `hypotheses` stay empty.
        """
        check_process(self._process)
        trace = SearchTrace() if options.search_tree else None
        inputs = [chunk.search_input for chunk in chunks if chunk.search_input is not None]
        show, search = options.needs_attention, candidate_search(options.search)
        found = self.engine.search(inputs, search, return_attention=show, monitor=monitor, trace=trace)
        for place, (chunk, hypotheses) in enumerate(zip(chunks, found, strict=True)):
            if hypotheses or monitor is None or not monitor.is_cancelled(place):
                chunk.hypotheses = hypotheses or [Hypothesis([], float("-inf"), score=float("-inf"), is_finished=False)]
                chunk.tree = None if trace is None else trace.trees.get(place, [])
                if options.search.search == "mbr":
                    chunk.hypotheses = self.postprocessor.rank(chunk, options.search.nbest)
        self._forced.complete_alignments(chunks, self.postprocessor.tokenizer.unk_id)
        if options.posterior:
            weigh_by_likelihoods(chunks, self._lexical)

    def postprocess(self, chunk: Chunk, options: TranslateOptions) -> Translation:
        """Return the translation of a chunk that was searched; computed once, then stored in the chunk."""
        if chunk.translation is None:
            chunk.translation = self.postprocessor.best(chunk, options)
        return chunk.translation

    def assemble(self, prepared: PreparedText) -> Translation:
        """Return the translation of a text whose chunks were all searched."""
        return prepared.join([self.postprocess(chunk, prepared.options) for chunk in prepared.chunks])

    def detokenizer(self, prepared: PreparedText) -> IncrementalDetokenizer:
        """Return a detokenizer that assembles the text of a translation during its search."""
        return IncrementalDetokenizer(prepared, self.postprocessor)

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        alignment: bool = False,
        attention: bool = False,
        posterior: bool = False,
        flags: bool = False,
    ) -> list[Translation]:
        """Score given translations: the score is the mean log-probability per token, the end token included.

        `alignment`, `attention`, `posterior` and `flags` are those of `translate`; a pair too long is a `PairError`.
        """
        options = TranslateOptions(alignment=alignment, attention=attention, posterior=posterior, flags=flags)
        chunks, given, pairs = self._pairs(sources, targets)
        found = self._forced.score(pairs, show=options.needs_attention)
        if posterior:
            found = list(map(with_likelihoods, found, self._lexical_likelihoods(chunks, given)))
        return [
            self.postprocessor.translation(chunk, hypothesis, options, given=each)
            for chunk, each, hypothesis in zip(chunks, given, found, strict=True)
        ]

    def attention(
        self, sources: Sequence[str], targets: Sequence[str], *, likelihoods: bool = False, lexical: bool = False
    ) -> list[AttentionMaps]:
        """Return the attention weights of given translations: every layer and head. Requires the torch engine.

        `likelihoods`, for the reading `posterior`, take one more decoding step per source token; `lexical` is for the
        reading of that name.
        """
        chunks, given, pairs = self._pairs(sources, targets)
        maps = self._forced.attention(pairs)
        likely = self._forced.likelihoods(pairs) if likelihoods else [None] * len(pairs)
        by_word = self._lexical_likelihoods(chunks, given) if lexical else [None] * len(pairs)
        sources_tokens = [self.preprocessor.tokenizer.tokens(chunk.normalized) for chunk in chunks]
        kind = has_guided_alignment(self._config.model), self._forced.aligns_input
        return [
            AttentionMaps(tuple(tokens), tuple(each.tokens), require_attention(weights), known, word, *kind)
            for tokens, each, weights, known, word in zip(sources_tokens, given, maps, likely, by_word, strict=True)
        ]

    def align(self, sources: Sequence[str], targets: Sequence[str]) -> list[Links]:
        """Link every target word of given translations to the most likely source word.

        Links are those of the reading `lexical`: attention weights times the likelihoods of words as translations.
        """
        found = self.score(sources, targets, alignment=True, posterior=True)
        return [require_attention(each.alignment) for each in found]

    def _lexical_likelihoods(
        self, chunks: Sequence[Chunk], given: Sequence[TokenizedTarget]
    ) -> list[NDArray[np.float32]]:
        pairs = [(chunk.normalized, chunk.ids or [], each.ids) for chunk, each in zip(chunks, given, strict=True)]
        return self._lexical.between_tokens(pairs, [each.tokens for each in given])

    def _pairs(
        self, sources: Sequence[str], targets: Sequence[str]
    ) -> tuple[list[Chunk], list[TokenizedTarget], list[tuple[list[int], list[int]]]]:
        """Tokenize sources and their given translations."""
        check_pairs(sources, targets)
        check_process(self._process)
        chunks = [self.preprocessor.sentence(source) for source in sources]
        given = [self.postprocessor.tokenize(target) for target in targets]
        pairs = [(chunk.ids or [], each.ids) for chunk, each in zip(chunks, given, strict=True)]
        self._forced.check(pairs)
        return chunks, given, pairs

    def _complete(self, options: TranslateOptions) -> TranslateOptions:
        """Add the beam of the model and the glossary where options have none; check that the engine supports all."""
        glossary = self.glossary if options.glossary is None else options.glossary
        if glossary is None:  # required phrases gain from the usual beam
            options = replace(options, search=search_for_model(options.search, self._config.inference))
        search, has_terms = candidate_search(options.search), glossary is not None
        lack = self.engine.unsupported(search, phrases=has_terms, trace=options.search_tree)
        if lack is not None:
            raise ConfigError(
                f"engine must support all options, got {self.engine.name}, which lacks {lack}; open the translator "
                "with engine='torch'"
            )
        if options.search.min_confidence:
            self.postprocessor.require_calibration()
        return options if glossary is None else replace(options, glossary=self._glossaries.check(glossary))

    def _release(self) -> None:
        directed, self._by_direction = self._by_direction, {}
        for each in directed.values():
            each.close()
        self.engine_reason, self.bundles = "closed", ()
        self.shared_engine = closed = cast("Engine", ClosedEngine())
        self._set_up(closed, self._tokenizers)
