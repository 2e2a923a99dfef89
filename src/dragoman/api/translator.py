"""The translator: text in, text out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

from dragoman.api.parts import Part, Source, batches, phrases
from dragoman.api.request import Cancelled, Options, Request
from dragoman.api.streaming import Onlooker, stream
from dragoman.api.target import Target
from dragoman.api.translation import Translation, joined
from dragoman.api.word_alignment import Links
from dragoman.bundle import Bundle
from dragoman.config import Config
from dragoman.engines.choose import EngineName, PrecisionName, open_engine
from dragoman.engines.protocol import Engine
from dragoman.errors import ConfigError, DataError
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.settings import SearchSettings
from dragoman.search.trace import Trace
from dragoman.text import Normalizer, Tokenizer
from dragoman.text.glossary import Glossary
from dragoman.text.sentences import Joiner

__all__ = ["Translator"]

_BATCH_TOKENS = 4096
_BATCH_SENTENCES = 64
_USUAL_BEAM = 5  # a wider one has fewer sentences in a batch
_SCORED_TOKENS = 2048  # a score for each word of the vocabulary is kept for every one of them
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
        self._tokens = batch_tokens or _BATCH_TOKENS
        if self._tokens < 1:
            raise ConfigError(
                f"batch_tokens must be at least 1, got {batch_tokens}; {_BATCH_TOKENS} suit most machines"
            )
        self.languages = ("", "") if config.data is None else (config.data.source, config.data.target)
        normalize = Normalizer(form=config.tokenizer.normal_form)
        language = self.languages[0] or _UNKNOWN_LANGUAGE
        self._source = Source(tokenizers["source"], normalize, language, _longest_source(config))
        self._target = Target(tokenizers["target"], normalize, tokenizers["source"])

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
    ) -> Self:
        """Open a bundle, or several as an ensemble, on the engine that suits it best; `why` says which that is.

        `settings` and `glossary` are those of every call that does not bring its own. `tree` announces that search
        trees will be asked for. `batch_tokens` is how many source pieces are translated at a time, padding among them,
        with a beam of 5; a wider beam takes fewer.
        """
        opened = [bundle if isinstance(bundle, Bundle) else Bundle.open(bundle) for bundle in bundles]
        config, tokenizers = _in_common(opened)
        chosen = open_engine(
            opened,
            engine=engine,
            precision=precision,
            threads=threads,
            settings=settings,
            phrases=glossary is not None,
            trace=tree,
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
        request = self._resolved(Request(**options), split=False)
        read = self._read(texts, request)
        self._search([part for parts in read for part in parts if part.sentence is not None], request)
        return [self._joined(text, parts, request) for text, parts in zip(texts, read, strict=True)]

    def translate_stream(self, text: str, *, prefix: str = "", **options: Unpack[Options]) -> Iterator[str]:
        """Translate a text, and yield what is certain of it as soon as it is; joined it is what `translate` gives.

        Closing the iterator ends the search within one step.
        """
        request = replace(self._resolved(Request(**options), split=True), prefixes=[prefix] if prefix else None)
        request = replace(request, alignments=False, weights=False, flags=False, tree=False)
        (parts,) = self._read([text], request)

        def search(part: Part, onlooker: Onlooker) -> None:
            self._search_batch([part], request, onlooker)
            self._look_up_unknown([part])

        return stream(
            parts,
            search,
            certain=self._target.certain,
            written=lambda part: self._target.text(part) if part.found else part.source,
            joiner=self._joiner(),
            cancelled=request.cancelled,
        )

    def score(self, sources: Sequence[str], targets: Sequence[str], **options: Unpack[Options]) -> list[Translation]:
        """How likely these translations are: the score is the mean log-probability of a piece, the end among them.

        ``alignments=True``, ``weights=True`` and ``flags=True`` say more.
        """
        if len(sources) != len(targets):
            raise DataError(
                f"there must be a translation for each source, got {len(sources)} sources and {len(targets)} "
                "translations; count the lines of both"
            )
        request = self._resolved(Request(**options), split=False)
        parts = [self._source.whole(source) for source in sources]
        written = [self._target.read(target) for target in targets]
        pairs = [(part.ids or [], each.ids) for part, each in zip(parts, written, strict=True)]
        found = self._score(pairs, show=request.wants_words)
        return [
            self._target.translation(part, hypothesis, request, written=each)
            for part, each, hypothesis in zip(parts, written, found, strict=True)
        ]

    def align(self, sources: Sequence[str], targets: Sequence[str]) -> list[Links]:
        """For every target word, the source word that the model looks at most while it writes it."""
        links = [each.alignment for each in self.score(sources, targets, alignments=True)]
        if any(each is None for each in links):
            raise ConfigError("a model must have attention to align words, got one without; use one that has")
        return [each for each in links if each is not None]

    def _resolved(self, request: Request, *, split: bool) -> Request:
        request = request.resolved(self.settings, self.glossary, split=split)
        lack = self.engine.lacks(request.search, phrases=request.glossary is not None, trace=request.tree)
        if lack is not None:
            raise ConfigError(
                f"engine must be able to do all that is asked for, got {self.engine.name}, which lacks {lack}; open "
                "the translator with engine='torch'"
            )
        return request

    def _joiner(self) -> Joiner:
        return Joiner(*self.languages)

    def _read(self, texts: Sequence[str], request: Request) -> list[list[Part]]:
        """Cut texts into parts, and say how the translation of each must look."""
        prefixes = request.prefixes
        if prefixes is not None and len(prefixes) != len(texts):
            raise DataError(
                f"there must be a prefix for each text, got {len(prefixes)} for {len(texts)}; an empty one asks for "
                "nothing"
            )
        read = [self._source.parts(text, split=bool(request.split)) for text in texts]
        for number, parts in enumerate(read, request.first):
            prefix = prefixes[number - request.first] if prefixes else ""
            for place, part in enumerate(parts):
                if part.ids is not None:
                    part.sentence = self._sentence(part, prefix, number + (place << 40), request)
                    prefix = ""
        return read

    def _sentence(self, part: Part, prefix: str, number: int, request: Request) -> Sentence:
        assert part.ids is not None
        forced = self._target.read(prefix).ids if prefix else []
        if request.glossary is None:
            return Sentence(part.ids, forced, number=number)
        tokenizers = self._source.tokenizer, self._target.tokenizer
        terms = phrases(request.glossary, part.normal, *tokenizers, self._source.normalize)
        may_follow = self._target.may_follow_words if terms else None
        return Sentence(part.ids, forced, list(terms), list(terms.values()), may_follow, number)

    def _search(self, parts: list[Part], request: Request) -> None:
        onlooker = None if request.cancelled is None else Onlooker([request.cancelled])
        tokens = max(1, self._tokens * _USUAL_BEAM // max(request.search.beam, _USUAL_BEAM))
        lengths = [len(part.ids or ()) for part in parts]
        lanes = self.engine.lanes
        most = min(_BATCH_SENTENCES, -(-len(parts) // lanes))

        def translate(rows: list[int]) -> None:
            batch = [parts[row] for row in rows]
            self._search_batch(batch, request, onlooker)
            self._look_up_unknown(batch)
            for part in batch:
                part.translation = self._target.best(part, request)

        groups = list(batches(lengths, pieces=tokens, sentences=max(1, most)))
        if lanes == 1 or len(groups) < 2:
            for rows in groups:
                translate(rows)
            return
        with ThreadPoolExecutor(lanes) as pool:
            for _ in pool.map(translate, groups):
                pass

    def _search_batch(self, parts: list[Part], request: Request, onlooker: Onlooker | None) -> None:
        if onlooker is not None and onlooker.is_cancelled(0):
            raise Cancelled
        trace = Trace() if request.tree else None
        sentences = [part.sentence for part in parts if part.sentence is not None]
        found = self.engine.search(sentences, request.search, show=request.wants_words, watch=onlooker, trace=trace)
        for place, (part, hypotheses) in enumerate(zip(parts, found, strict=True)):
            if not hypotheses and onlooker is not None and onlooker.is_cancelled(place):
                raise Cancelled
            part.found = hypotheses or [Hypothesis([], float("-inf"), score=float("-inf"), is_finished=False)]
            part.tree = None if trace is None else trace.trees.get(place, [])

    def _look_up_unknown(self, parts: Sequence[Part]) -> None:
        """Find out where unknown words were looked at, for translations that hold some and come without a map."""
        unknown = self._target.tokenizer.unk_id
        rows = [
            (part, place)
            for part in parts
            for place, hypothesis in enumerate(part.found)
            if unknown in hypothesis.pieces and hypothesis.alignment is None
        ]
        if not rows:
            return
        # Without the last piece: the row of the end, which follows it, is where the last piece looked.
        pairs = [(part.ids or [], part.found[place].pieces[:-1]) for part, place in rows]
        for (part, place), scored in zip(rows, self._score(pairs, show=True), strict=True):
            part.found[place] = replace(part.found[place], alignment=scored.alignment)

    def _score(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], *, show: bool) -> list[Hypothesis]:
        found: dict[int, Hypothesis] = {}
        lengths = [max(len(source), len(target)) for source, target in pairs]
        for rows in batches(lengths, pieces=_SCORED_TOKENS, sentences=_BATCH_SENTENCES):
            sources, targets = zip(*(pairs[row] for row in rows), strict=True)
            found.update(zip(rows, self.engine.score(sources, targets, show=show), strict=True))
        return [found[row] for row in range(len(pairs))]

    def _joined(self, text: str, parts: list[Part], request: Request) -> Translation:
        sentences = [part.translation or self._target.best(part, request) for part in parts]
        if len(parts) == 1 and not parts[0].after:
            return sentences[0]
        joiner = self._joiner()
        pieces = []
        for part, sentence in zip(parts, sentences, strict=True):
            pieces.append(joiner.add(sentence.text))
            joiner.end_sentence(part.after)
        whole = "".join([*pieces, joiner.end()])
        translated = [each for each, part in zip(sentences, parts, strict=True) if part.source]
        if not translated:
            return Translation(text, text)
        if len(translated) == 1:
            return replace(translated[0], source=text, text=whole)
        return joined(text, whole, translated, is_cut=any(part.is_cut for part in parts))


def _longest_source(config: Config) -> int:
    """How many pieces the model can read at once, its end left out."""
    model = config.model
    if model.family == "transformer" and model.positions == "learned":
        return max(1, min(_LONGEST, model.max_positions - 1))
    return _LONGEST


def _in_common(bundles: Sequence[Bundle]) -> tuple[Config, dict[str, Tokenizer]]:
    """What the bundles of an ensemble must have in common; the configuration of the one that can read the least."""
    if not bundles:
        raise ConfigError("a translator must have at least one bundle, got none; name one")
    first, *others = (_spelling(bundle) for bundle in bundles)
    for bundle, other in zip(bundles[1:], others, strict=True):
        if other != first:
            raise ConfigError(
                f"the bundles of an ensemble must have the same tokenizers and normal form, got others in "
                f"{bundle.path} than in {bundles[0].path}; train them on the same prepared data"
            )
    config = min((bundle.config for bundle in bundles), key=_longest_source)
    return config, bundles[0].tokenizers()


def _spelling(bundle: Bundle) -> tuple[Any, ...]:
    tokenizers = bundle.tokenizers()
    return bundle.config.tokenizer.normal_form, *(tokenizers[side].to_bytes() for side in ("source", "target"))
