"""Translate the texts of one request: plain text, HTML or streamed text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import ParamSpec, TypeVar

from dragoman.api.translation.markup import MarkupTranslation
from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.translation import Translation, join_sentences
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tagged_text import TaggedText
from dragoman.server.glossaries.store import open_glossary_store
from dragoman.server.models.served_languages import Languages, language_name
from dragoman.server.pipeline.language_detection import LanguageDetector
from dragoman.server.pipeline.language_resolution import ResolvedText, resolve_texts
from dragoman.server.pipeline.request_limits import charged_tokens, check_html_segments, check_html_size, check_texts
from dragoman.server.pipeline.service import TranslationService
from dragoman.server.request_types import Route, TranslationRequest, TranslationResult
from dragoman.server.scheduling.admission import Reservation
from dragoman.server.settings import ServerSettings

__all__ = ["TranslationPipeline"]

Params = ParamSpec("Params")
Result = TypeVar("Result")

_INLINE_CHARACTERS = 2000  # whose markup takes a few milliseconds


class TranslationPipeline:
    """Checks, language detection and markup around the translation service; shared by all APIs."""

    def __init__(
        self, service: TranslationService, settings: ServerSettings, *, detector: LanguageDetector | None = None
    ) -> None:
        self.service = service
        self.settings = settings
        self.detector = detector or LanguageDetector()
        self.glossaries = open_glossary_store(Path(settings.glossaries) if settings.glossaries else None)
        language_name("en")  # loads the names, which takes 0.1 s, before the first request
        self._routes: Sequence[Route] = ()
        self._languages = Languages(())

    @property
    def languages(self) -> Languages:
        """The languages of the current routes; a reload can change them."""
        routes = self.service.routes()
        if routes is not self._routes and list(routes) != list(self._routes):
            self._languages = Languages(routes)
        self._routes = routes
        return self._languages

    async def translate(self, request: TranslationRequest, reservation: Reservation) -> list[TranslationResult]:
        """Check, resolve and translate the texts of a request, in order."""
        return await self.translate_resolved(await self.check_and_resolve(request), request, reservation)

    async def check_and_resolve(self, request: TranslationRequest) -> list[ResolvedText]:
        """Check the sizes of all texts and resolve their languages."""
        limits = self.settings.limits
        check_texts(request.texts, limits)
        if request.is_html:
            check_html_size(request.texts, limits)
        resolved = await _run_in_thread(sum(map(len, request.texts)), self.resolve, request)
        check_html_segments([each.page for each in resolved if each.page], limits)
        return resolved

    def resolve(self, request: TranslationRequest) -> list[ResolvedText]:
        """Resolve the languages of all texts."""
        models = () if request.model is None else self.service.models()
        return resolve_texts(request, self.languages, models, self.detector)

    async def translate_resolved(
        self, texts: Sequence[ResolvedText], request: TranslationRequest, reservation: Reservation
    ) -> list[TranslationResult]:
        """Translate resolved texts of a request, grouped by language pair; results are in the order of the texts."""
        results: dict[int, TranslationResult] = {}
        groups: dict[tuple[str, str], list[int]] = {}
        for number, each in enumerate(texts):
            if each.is_passthrough:
                unchanged = _unchanged(each.text, each.source, request.options)
                results[number] = replace(unchanged, detected=each.detected)
            else:
                groups.setdefault((each.source, each.target), []).append(number)
        reservation.charge(charged_tokens(sum(len(texts[number].text) for number in results)))
        translate = self._translate_html if request.is_html else self._translate_plain
        for (source, target), numbers in groups.items():
            part = request.for_pair(source, target)
            translated = await translate([texts[number] for number in numbers], part, reservation)
            results |= zip(numbers, translated, strict=True)
        return [results[number] for number in range(len(texts))]

    async def stream(
        self, text: ResolvedText, request: TranslationRequest, reservation: Reservation
    ) -> AsyncIterator[str | TranslationResult]:
        """Yield the text of a translation in parts, then its result.

        HTML, and text with placeholders, is yielded as one part: it may change until the end.
        """
        is_one_part = text.is_passthrough or request.is_html
        kept = () if is_one_part else await _run_in_thread(len(text.text), find_placeholders, text.text)
        if is_one_part or kept:
            (result,) = await self.translate_resolved([text], request, reservation)
            yield result.text
            yield result
            return
        one = replace(request.for_pair(text.source, text.target), texts=[text.text])
        async for part in self.service.stream(one, reservation):
            if isinstance(part, str):
                yield part
            else:
                yield _with_alternatives(part, text)

    async def translate_tagged(
        self, tagged: Sequence[TaggedText], request: TranslationRequest, reservation: Reservation
    ) -> tuple[list[TaggedText], list[TranslationResult]]:
        """Translate texts with tags and placeholders; a text without letters is unchanged and has no models."""
        options = request.options
        results = [_unchanged(each.text, request.source, options) for each in tagged]
        work = MarkupTranslation(tagged)
        if not work.first_places:
            return list(tagged), results
        if has_tags := any(tagged[place].spans or tagged[place].kept for place in work.first_places):
            posterior = any(each.spans for each in tagged)
            request = replace(request, options=replace(options, alignment=True, attention=True, posterior=posterior))
        first = await self.service.translate(replace(request, texts=work.texts), reservation)
        size = sum(len(each.text) for each in tagged)
        texts = await _run_in_thread(size, work.second_round, [each.translation for each in first])
        second = await self.service.translate(replace(request, texts=texts), reservation) if texts else []
        finished = await _run_in_thread(size, work.finish, [each.translation for each in second])
        for place, result in zip(work.first_places, first, strict=True):
            results[place] = result
        for place, result in zip(work.second_places, second, strict=True):
            results[place] = _repaired(results[place], result, finished[place].text)
        if has_tags:
            results = [replace(each, translation=_only_requested(each.translation, options)) for each in results]
        return finished, results

    async def _translate_plain(
        self, texts: Sequence[ResolvedText], request: TranslationRequest, reservation: Reservation
    ) -> list[TranslationResult]:
        plain = [each.text for each in texts]
        kept = await _run_in_thread(sum(map(len, plain)), lambda: [find_placeholders(text) for text in plain])
        if not any(kept):
            results = await self.service.translate(replace(request, texts=plain), reservation)
            return [_with_alternatives(result, each) for result, each in zip(results, texts, strict=True)]
        tagged = [TaggedText(each.text, kept=spans) for each, spans in zip(texts, kept, strict=True)]
        translated, results = await self.translate_tagged(tagged, request, reservation)
        return [_with_alternatives(*each) for each in zip(results, texts, translated, tagged, strict=True)]

    async def _translate_html(
        self, texts: Sequence[ResolvedText], request: TranslationRequest, reservation: Reservation
    ) -> list[TranslationResult]:
        pages = [page for each in texts if (page := each.page or request.parse_page(each.text)) is not None]
        segments = [segment for page in pages for segment in page.segments]
        translated, results = await self.translate_tagged(segments, request, reservation)
        ends = [0]
        for page in pages:
            ends.append(ends[-1] + len(page.segments))
        spans = list(pairwise(ends))

        def write() -> list[str]:
            return [page.write(translated[start:end]) for page, (start, end) in zip(pages, spans, strict=True)]

        written = await _run_in_thread(sum(len(each.text) for each in texts), write)
        return [
            _page_result(each, text, results[start:end])
            for each, text, (start, end) in zip(texts, written, spans, strict=True)
        ]


async def _run_in_thread(
    characters: int, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    """Run work in a thread if it has many characters, so that it does not block the event loop."""
    if characters <= _INLINE_CHARACTERS:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


def _unchanged(text: str, source: str, options: TranslateOptions) -> TranslationResult:
    return TranslationResult(Translation(text, text, flags=() if options.flags else None), source)


def _with_alternatives(
    result: TranslationResult,
    text: ResolvedText,
    translated: TaggedText | None = None,
    tagged: TaggedText | None = None,
) -> TranslationResult:
    """Complete a result; alternatives that lost a placeholder are left out."""
    translation = result.translation
    kept = [] if tagged is None else [tagged.text[start:end] for start, end in tagged.kept]
    alternatives = translation.alternatives(kept)
    if translated is not None and translated.text != translation.text:
        translation = replace(translation, text=translated.text)
    return replace(
        result,
        translation=translation,
        source_language=text.source,
        detected=text.detected,
        alternatives=alternatives,
    )


def _page_result(text: ResolvedText, written: str, results: Sequence[TranslationResult]) -> TranslationResult:
    """Return the result of an HTML page, given those of its segments."""
    parts = [each.translation for each in results]
    whole = join_sentences(text.text, written, parts, is_cut=any(each.is_cut for each in parts))
    first = next((each for each in results if each.models), TranslationResult(whole, text.source))
    return TranslationResult(whole, text.source, text.detected, first.models, first.via)


def _only_requested(translation: Translation, options: TranslateOptions) -> Translation:
    """Remove the alignment that only tags needed."""
    if options.alignment and options.attention:
        return translation
    has_words = options.alignment or options.attention
    return replace(
        translation,
        source_words=translation.source_words if has_words else (),
        target_words=translation.target_words if has_words else (),
        alignment=translation.alignment if options.alignment else None,
        weights=translation.weights if options.attention else None,
        sentences=tuple(_only_requested(each, options) for each in translation.sentences),
        nbest=tuple(_only_requested(each, options) for each in translation.nbest),
    )


def _repaired(first: TranslationResult, second: TranslationResult, text: str) -> TranslationResult:
    """Return the result of a text that was translated again without its placeholders; its words are unknown."""
    found = second.translation
    translation = replace(
        first.translation,
        text=text,
        score=found.score,
        log_prob=found.log_prob,
        tokens=found.tokens,
        flags=found.flags,
        is_truncated=found.is_truncated,
        source_words=(),
        target_words=(),
        alignment=None,
        weights=None,
        sentences=(),
    )
    return replace(first, translation=translation)
