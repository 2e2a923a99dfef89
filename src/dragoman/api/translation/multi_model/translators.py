"""Translate between several languages with several models, directly or through a pivot language."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, Unpack, overload

from dragoman.api.notebook.stage_display import shown_progress
from dragoman.api.translation.batching import search_all
from dragoman.api.translation.markup import translate_guarded
from dragoman.api.translation.multi_model.pivot import compose_text, pivot_sentences, pivot_terms, step_options
from dragoman.api.translation.multi_model.routing import RouteError, RoutingTable
from dragoman.api.translation.options import Cancellation, TranslateKeywords, TranslateOptions, search_settings
from dragoman.api.translation.preprocessor import check_prefixes, check_texts
from dragoman.api.translation.text_translator import TextTranslator
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.bundle.locate import named_bundles, open_located
from dragoman.config.corpus import Direction
from dragoman.config.engine import DeviceName, EngineName, PrecisionName
from dragoman.config.search import SearchSettings
from dragoman.engines.directions import in_direction, list_directions
from dragoman.errors import ConfigError
from dragoman.language_codes import is_same_language, match_rank
from dragoman.progress import Progress
from dragoman.text.glossary import Glossary


class Translators(TextTranslator):
    """Translates between the languages of several bundles; a pair without a model goes through a third language.

    ::

        with Translators.open("de-en", "en-pt") as translators:
            print(translators.translate("Ein Mann schläft.", source="de", target="pt"))

    Models are chosen as a server with the same bundles chooses them, and loaded when they are first used. Thread-safe.
    `directions` are the language pairs, those through a pivot language last. A stored route, such as ``"pt-de"``, is
    two models; if it is all that is opened, its languages are the default.
    """

    def __init__(self, bundles: Sequence[Bundle], options: dict[str, Any], default: Direction | None = None) -> None:
        """Create translators from opened bundles; `open` opens them. `options` are those of `Translator.open`."""
        self._bundles, self._options, self._default = list(bundles), options, default
        self._opened: dict[int, Translator] = {}
        self._lock = threading.Lock()
        models = {
            str(number): bundle.config.data.all_directions() if bundle.config.data is not None else []
            for number, bundle in enumerate(bundles)
        }
        self._routes = RoutingTable.build(models)
        self.directions: tuple[Direction, ...] = tuple((each.source, each.target) for each in self._routes.all)
        if not self.directions:
            raise ConfigError("no bundle with languages was given; name at least one")

    def __repr__(self) -> str:
        """Return the language pairs."""
        return f"Translators({'closed' if self._is_closed else list_directions(self.directions)})"

    @classmethod
    def open(
        cls,
        *bundles: Bundle | Path | str,
        engine: EngineName = "auto",
        precision: PrecisionName = "auto",
        device: DeviceName = "cpu",
        threads: int | None = None,
        search: SearchSettings | None = None,
        batch_tokens: int | None = None,
        incremental: bool = False,
        shortlist: bool = True,
    ) -> Self:
        """Open bundles, the preferred ones of a language pair first; keywords are those of `Translator.open`."""
        opened: list[Bundle] = []
        default = None
        for each in bundles:
            if not isinstance(each, Bundle) and len(legs := named_bundles(each)) > 1:
                opened += [Bundle.open(leg) for leg in legs]
                default = _joined_direction(opened[-2], opened[-1]) if len(bundles) == 1 else None
            else:
                opened.append(each if isinstance(each, Bundle) else open_located(each))
        options = {
            "engine": engine,
            "precision": precision,
            "device": device,
            "threads": threads,
            "search": search,
            "batch_tokens": batch_tokens,
            "incremental": incremental,
            "shortlist": shortlist,
        }
        return cls(opened, options, default)

    def direction(self, source: str | None = None, target: str | None = None) -> Translator | PivotTranslator:
        """Return the translator of a language pair; a language may be left out if only one fits the other."""
        self._check_open()
        try:
            route = self._routes.find(*self._pair(source, target))
        except RouteError as error:
            raise RouteError(
                f"{error}; the language pairs are {list_directions(self.directions)}", error.code
            ) from None
        steps = zip(route.models[0], route.directions(), strict=True)
        first, *more = (in_direction(self._open(int(name)), direction) for name, direction in steps)
        return PivotTranslator(first, more[0]) if more else first

    @overload
    def translate(self, text: str, **options: Unpack[TranslateKeywords]) -> Translation: ...  # type: ignore[overload-overlap]

    @overload
    def translate(self, text: Sequence[str], **options: Unpack[TranslateKeywords]) -> list[Translation]: ...

    def translate(
        self, text: str | Sequence[str], **options: Unpack[TranslateKeywords]
    ) -> Translation | list[Translation]:
        """Translate a text, or each of several; keywords are those of `Translator.translate`.

        A language may be left out if only one fits the other. Between the same language, texts stay unchanged.
        """
        source, target = options.get("source"), options.get("target")
        if source is not None and target is not None and is_same_language(source, target):
            texts = [text] if isinstance(text, str) else check_texts(text)
            unchanged = [Translation(each, each) for each in texts]
            return unchanged[0] if isinstance(text, str) else unchanged
        directed = self.direction(options.pop("source", None), options.pop("target", None))
        return directed.translate(text, **options)

    def _pair(self, source: str | None, target: str | None) -> Direction:
        """Complete a language pair."""
        given = source, target
        if given == (None, None) and self._default is not None:
            return self._default
        if source is not None and target is not None:
            return source, target
        fitting = [
            pair
            for pair in self.directions
            if all(code is None or match_rank(code, each) is not None for code, each in zip(given, pair, strict=True))
        ]
        if len(fitting) == 1:
            return fitting[0]
        got = f", got {source or '?'} → {target or '?'}" if source or target else ""
        raise RouteError(f"source and target must be one language pair{got}; name both languages", "unavailable_pair")

    def _open(self, number: int) -> Translator:
        with self._lock:
            if number not in self._opened:
                self._opened[number] = Translator.open(self._bundles[number], **self._options)
            return self._opened[number]

    def _release(self) -> None:
        with self._lock:
            opened, self._opened, self._bundles = self._opened, {}, []
        for each in opened.values():
            each.close()


def _joined_direction(first: Bundle, second: Bundle) -> Direction | None:
    """Return the source of the first and the target of the second bundle."""
    if first.config.data is None or second.config.data is None:
        return None
    return next(iter(first.config.data.all_directions()))[0], next(iter(second.config.data.all_directions()))[1]


@dataclass
class PivotTranslator(TextTranslator):
    """Translates with two models, sentence by sentence: the second translates the sentences of the first."""

    first: Translator
    second: Translator
    glossary: Glossary | None = None
    """The glossary of calls that name none; the second model needs an engine for required phrases."""

    def __post_init__(self) -> None:
        self.languages = self.first.languages[0], self.second.languages[1]
        self.unreadable, self.search_settings = self.first.unreadable, self.second.search_settings

    def __repr__(self) -> str:
        return f"PivotTranslator({' → '.join((*self.first.languages, self.second.languages[1]))})"

    def direction(self, source: str | None = None, target: str | None = None) -> Self:
        """Return itself; raises `ConfigError` if it has other languages."""
        for code, own in zip((source, target), self.languages, strict=True):
            if code is not None and match_rank(code, own) is None:
                raise ConfigError(f"the language must be {own}, got {code}; leave it out")
        return self

    @overload
    def translate(self, text: str, **options: Unpack[TranslateKeywords]) -> Translation: ...  # type: ignore[overload-overlap]

    @overload
    def translate(self, text: Sequence[str], **options: Unpack[TranslateKeywords]) -> list[Translation]: ...

    def translate(
        self, text: str | Sequence[str], **options: Unpack[TranslateKeywords]
    ) -> Translation | list[Translation]:
        """Translate a text, or each of several; keywords are those of `Translator.translate`."""
        given: dict[str, Any] = {**options}
        if given.get("glossary") is None:
            given["glossary"] = self.glossary
        self.direction(given.pop("source", None), given.pop("target", None))
        texts = [text] if isinstance(text, str) else check_texts(text)
        prefix = given.pop("prefix", "")
        prefixes = [prefix] * len(texts) if isinstance(prefix, str) else prefix
        number, cancelled, progress = (given.pop(name, None) for name in ("first", "cancelled", "progress"))
        search = given.pop("search", None) or self.search_settings
        search = search_settings(search, beam=given.pop("beam", None), nbest=given.pop("nbest", None))
        chosen = TranslateOptions(search=search, **given)
        with shown_progress(progress, unit="sentence", is_quiet=True) as shown:
            run = partial(self._run, cancelled=cancelled, progress=shown)
            checked = check_prefixes(prefixes, texts)
            known = self._known_matches(texts)
            found = translate_guarded(texts, chosen, checked, number or 0, run, self.unreadable, known)
        return found[0] if isinstance(text, str) else found

    def _run(
        self,
        texts: Sequence[str],
        options: TranslateOptions,
        prefixes: Sequence[str],
        numbers: Sequence[int],
        *,
        cancelled: Cancellation | None,
        progress: Progress,
    ) -> list[Translation]:
        """Translate texts as the server does, with both models."""
        before = step_options(options, is_first=True, is_last=False)
        prepared = self.first.prepare(texts, before, first=numbers)
        search_all(self.first, [each for text in prepared for each in text.pending], before, cancelled, progress)
        sentences = [pivot_sentences(self.first, each) for each in prepared]
        terms = [pivot_terms(self.first, each, options.glossary) for each in prepared]
        after = step_options(options, is_first=False, is_last=True)
        second = self.second.prepare(
            [each for some in sentences for each in some],
            after,
            prefixes=[
                prefix if place == 0 else ""
                for prefix, some in zip(prefixes, sentences, strict=True)
                for place in range(len(some))
            ],
            first=[
                number + (n << 34) for number, some in zip(numbers, sentences, strict=True) for n in range(len(some))
            ],
            terms=None if options.glossary is None else [each for some in terms for each in some or ()],
        )
        search_all(self.second, [each for text in second for each in text.pending], after, cancelled, progress)
        assembled = iter([self.second.assemble(each) for each in second])
        return [
            compose_text(
                text,
                [self.first.postprocess(chunk, text.options) for chunk in text.chunks],
                [next(assembled) for _ in text.chunks],
                self.languages[1],
            )
            for text in prepared
        ]

    def _release(self) -> None:
        self.first.close()
        self.second.close()
