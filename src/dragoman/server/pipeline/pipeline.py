"""Translate the texts of one request: plain text, HTML or streamed text."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from dragoman.api.translation.markup import MarkupTranslation, aligned_options, find_segments
from dragoman.api.translation.multi_model.routing import Route
from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.translation import Translation, join_sentences, remembered
from dragoman.markup.placeholders.guarded_unit import GuardedUnit, guard_text
from dragoman.markup.tagged_text import TaggedText
from dragoman.server.database import ServerDatabase, Usage
from dragoman.server.errors import RequestError
from dragoman.server.glossaries import GlossaryStore, StoredGlossary
from dragoman.server.memories import ServerMemories
from dragoman.server.models.routing import Languages, language_name
from dragoman.server.pipeline.language_resolution import (
    MAX_DETECTED_CHARACTERS,
    LanguageDetector,
    ResolvedText,
    resolve_texts,
)
from dragoman.server.pipeline.request_checks import charged_tokens, check_html_segments, check_html_size, check_texts
from dragoman.server.pipeline.service import OpenPair, TranslationService
from dragoman.server.request_types import DetectedLanguage, Dialect, TranslationRequest, TranslationResult
from dragoman.server.scheduling.admission import Reservation
from dragoman.server.settings import ServerSettings
from dragoman.storage.memory_reader import MemoryMatch, MemoryReader


class TranslationPipeline:
    """Checks, language detection and markup around the translation service; shared by all APIs."""

    def __init__(
        self,
        service: TranslationService,
        settings: ServerSettings,
        *,
        detector: LanguageDetector | None = None,
        database: ServerDatabase | None = None,
        usage: Usage | None = None,
    ) -> None:
        self.service = service
        self.settings = settings
        self.detector = detector or LanguageDetector()
        self.database = database or ServerDatabase(settings.database)
        self.usage = usage or Usage(self.database)
        self.glossaries = GlossaryStore(self.database)
        self.memories = ServerMemories(self.database, settings.memory, settings.memory_threshold)
        self._routes: Sequence[Route] = ()
        self._languages = Languages(())

    def warm_up(self) -> bool:
        """Load what the first request needs, which takes 0.3 s; return whether there are glossaries."""
        has_glossaries = self.glossaries.has_any()  # opens the database
        language_name("en")
        self.detector.detect("load the model", ())
        return has_glossaries

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

    async def translate_to(
        self, targets: Sequence[str], request: TranslationRequest, reservation: Reservation
    ) -> list[list[TranslationResult]]:
        """Translate texts into each target; the limits hold for the texts of all targets together."""
        limits = self.settings.limits
        copies = [*request.texts] * min(len(targets), limits.texts + 1)
        check_texts(copies, limits, request.dialect)
        if request.is_html:
            check_html_size(copies, limits)
        requests = [replace(request, target=target) for target in targets]
        resolved = [await self.check_and_resolve(each) for each in requests]
        check_html_segments([each.page for texts in resolved for each in texts if each.page], limits)
        pairs = zip(resolved, requests, strict=True)
        return [await self.translate_resolved(texts, each, reservation) for texts, each in pairs]

    async def detect(
        self, texts: Sequence[str], charge: Callable[[int], None], dialect: Dialect
    ) -> list[list[DetectedLanguage]]:
        """Check and charge texts, and return the most probable languages of each, the best first."""
        check_texts(texts, self.settings.limits, dialect)
        size, codes = sum(min(len(text), MAX_DETECTED_CHARACTERS) for text in texts), self.languages.codes
        charge(charged_tokens(size))
        return await self.service.offload(size, lambda: [self.detector.detect(text, codes) for text in texts])

    async def check_and_resolve(self, request: TranslationRequest) -> list[ResolvedText]:
        limits = self.settings.limits
        check_texts(request.texts, limits, request.dialect)
        if request.is_html:
            check_html_size(request.texts, limits)
        resolved = await self.service.offload(sum(map(len, request.texts)), functools.partial(self.resolve, request))
        check_html_segments([each.page for each in resolved if each.page], limits)
        return resolved

    def resolve(self, request: TranslationRequest) -> list[ResolvedText]:
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
        request = await self.with_memory(request, reservation)
        for (source, target), numbers in groups.items():
            part = request.for_pair(source, target)
            pair = await self.service.open_pair(part, reservation)
            translated = await translate(pair, [texts[number] for number in numbers], part, reservation)
            results |= zip(numbers, translated, strict=True)
        self._reject_unsure([results[number].translation for numbers in groups.values() for number in numbers])
        return [results[number] for number in range(len(texts))]

    async def find_glossary(self, owner: str, name: str | None, source: str, target: str) -> StoredGlossary | None:
        """Return the stored glossary with a name or an id, if one is given; raises `RequestError`."""
        return await asyncio.to_thread(self.glossaries.find_for, owner, name, source, target) if name else None

    async def with_memory(self, request: TranslationRequest, reservation: Reservation) -> TranslationRequest:
        """Return the request with the memories that every request of its client reads, unless it has others."""
        if request.memory is not None or not self.memories.is_used or request.prefix:
            return replace(request, memory=None) if request.prefix else request
        found = await asyncio.to_thread(self.memories.reader, reservation.owner)
        return replace(request, memory=found)

    def _min_confidence(self, request: TranslationRequest) -> float:
        return self.settings.min_confidence if request.min_confidence is None else request.min_confidence

    @staticmethod
    def _reject_unsure(translations: Sequence[Translation]) -> None:
        """Raise `RequestError` if all texts are left untranslated, because the confidence of each is too low."""
        reasons = [each.damage for each in translations if each.flags and each.flags[0].name == "unsure"]
        if reasons and len(reasons) == len(translations):
            texts = "the text is" if len(reasons) == 1 else f"all {len(reasons)} texts are"
            raise RequestError(f"{texts} not translated: {reasons[0]}; write other words", code="unsure")

    async def stream(
        self, text: ResolvedText, request: TranslationRequest, reservation: Reservation
    ) -> AsyncIterator[str | TranslationResult]:
        """Yield the text of a translation in parts, then its result.

        HTML, text with protected parts, and text with a minimum confidence are one part: it may change until the end.
        """
        request = await self.with_memory(request, reservation)
        if not (text.is_passthrough or request.is_html or self._min_confidence(request) or request.memory):
            one = replace(request.for_pair(text.source, text.target), texts=[text.text])
            pair = await self.service.open_pair(one, reservation)

            def is_protected() -> bool:
                return guard_text(text.text) is not None or bool(pair.unreadable(text.text))

            if not await self.service.offload(len(text.text), is_protected):
                async for part in self.service.stream_pair(pair, one, reservation):
                    yield part if isinstance(part, str) else _with_alternatives(part, text)
                return
        (result,) = await self.translate_resolved([text], request, reservation)
        yield result.text
        yield result

    async def translate_tagged(
        self, pair: OpenPair, tagged: Sequence[TaggedText], request: TranslationRequest, reservation: Reservation
    ) -> tuple[list[TaggedText], list[TranslationResult]]:
        """Translate texts with tags and placeholders; a text without letters is unchanged and has no models.

        A text without tags that a memory has is not translated.
        """
        if (memory := request.memory) is None:
            return await self._translate_unknown(pair, tagged, request, reservation)
        find = functools.partial(find_segments, memory, (request.source, request.target), tagged)
        matches, done = await asyncio.to_thread(find)
        self.usage.count(reservation.owner, remembered=sum(len(tagged[place].text) for place in done))
        rest = [place for place in range(len(tagged)) if place not in done]
        texts, results = await self._translate_unknown(pair, [tagged[place] for place in rest], request, reservation)
        found = dict(zip(rest, zip(texts, results, strict=True), strict=True))
        for place, text in done.items():
            known = remembered(memory, tagged[place].text, matches[place], flags=request.options.flags)
            assert known is not None
            found[place] = text, TranslationResult(known, request.source)
        return [found[place][0] for place in range(len(tagged))], [
            _with_matches(found[place][1], matches.get(place, ())) for place in range(len(tagged))
        ]

    async def _translate_unknown(
        self, pair: OpenPair, tagged: Sequence[TaggedText], request: TranslationRequest, reservation: Reservation
    ) -> tuple[list[TaggedText], list[TranslationResult]]:
        options = request.options
        results = [_unchanged(each.text, request.source, options) for each in tagged]
        size = sum(len(each.text) for each in tagged)
        minimum = self._min_confidence(request)
        work = await self.service.offload(size, lambda: MarkupTranslation(tagged, pair.unreadable, minimum))
        aligned = replace(request, options=aligned_options(options))
        asked = aligned if work.has_tags else request
        first, second = list[TranslationResult](), list[TranslationResult]()
        if work.texts:
            first = await self.service.translate_pair(pair, replace(asked, texts=work.texts), reservation)
        texts = await self.service.offload(size, lambda: work.second_round([each.translation for each in first]))
        if texts:
            second = await self.service.translate_pair(pair, replace(aligned, texts=texts), reservation)
        finished = await self.service.offload(size, lambda: work.finish([each.translation for each in second]))
        for part, result in zip(work.first, first, strict=True):
            results[part.place] = replace(result, translation=work.translation(part.place, options))
        for place in work.damaged:
            results[place] = replace(results[place], translation=work.translation(place, options))
        return finished, results

    async def _translate_plain(
        self, pair: OpenPair, texts: Sequence[ResolvedText], request: TranslationRequest, reservation: Reservation
    ) -> list[TranslationResult]:
        if request.memory is not None:
            return await self._translate_remembered(pair, texts, request, request.memory, reservation)
        plain = [each.text for each in texts]

        def find() -> tuple[list[GuardedUnit | None], bool]:
            return [guard_text(text) for text in plain], any(map(pair.unreadable, plain))

        units, is_unreadable = await self.service.offload(sum(map(len, plain)), find)
        if request.options.protect and (is_unreadable or any(units)) and not request.prefix:
            tagged = [
                TaggedText(each, kept=() if unit is None else unit.source.kept)
                for each, unit in zip(plain, units, strict=True)
            ]
            _, results = await self._translate_unknown(pair, tagged, request, reservation)
        else:
            results = await self.service.translate_pair(pair, replace(request, texts=plain), reservation)
            minimum = self._min_confidence(request)
            results = [replace(each, translation=each.translation.if_sure(minimum)) for each in results]
        return [_with_alternatives(result, each) for result, each in zip(results, texts, strict=True)]

    async def _translate_remembered(
        self,
        pair: OpenPair,
        texts: Sequence[ResolvedText],
        request: TranslationRequest,
        memory: MemoryReader,
        reservation: Reservation,
    ) -> list[TranslationResult]:
        """Translate the texts that no exact match of a memory replaces."""
        plain = [each.text for each in texts]
        matches = await asyncio.to_thread(memory.find, request.source, request.target, plain)
        known = [remembered(memory, *each, flags=request.options.flags) for each in zip(plain, matches, strict=True)]
        remembered_characters = sum(len(each.source) for each in known if each is not None)
        reservation.charge(charged_tokens(remembered_characters))
        self.usage.count(reservation.owner, remembered=remembered_characters)
        rest = [each for each, found in zip(texts, known, strict=True) if found is None]
        asked = replace(request, memory=None)
        new = iter(await self._translate_plain(pair, rest, asked, reservation) if rest else [])
        return [
            _with_matches(next(new), some) if found is None else TranslationResult(found, each.source, each.detected)
            for each, found, some in zip(texts, known, matches, strict=True)
        ]

    async def _translate_html(
        self, pair: OpenPair, texts: Sequence[ResolvedText], request: TranslationRequest, reservation: Reservation
    ) -> list[TranslationResult]:
        pages = [page for each in texts if (page := each.page or request.parse_page(each.text)) is not None]
        segments = [segment for page in pages for segment in page.segments]
        translated, results = await self.translate_tagged(pair, segments, request, reservation)
        ends = [0]
        for page in pages:
            ends.append(ends[-1] + len(page.segments))
        spans = list(pairwise(ends))

        def write() -> list[str]:
            return [page.write(translated[start:end]) for page, (start, end) in zip(pages, spans, strict=True)]

        written = await self.service.offload(sum(len(each.text) for each in texts), write)
        return [
            _page_result(each, text, results[start:end])
            for each, text, (start, end) in zip(texts, written, spans, strict=True)
        ]


def _with_matches(result: TranslationResult, matches: Sequence[MemoryMatch]) -> TranslationResult:
    """Return a result with the similar units of a memory."""
    return replace(result, translation=replace(result.translation, matches=tuple(matches))) if matches else result


def _unchanged(text: str, source: str, options: TranslateOptions) -> TranslationResult:
    return TranslationResult(Translation(text, text, flags=() if options.flags else None), source)


def _with_alternatives(result: TranslationResult, text: ResolvedText) -> TranslationResult:
    """Complete a result with the language of its text and with alternatives."""
    return replace(
        result,
        source_language=text.source,
        detected=text.detected,
        alternatives=result.translation.alternatives(),
    )


def _page_result(text: ResolvedText, written: str, results: Sequence[TranslationResult]) -> TranslationResult:
    """Return the result of an HTML page, given those of its segments."""
    parts = [each.translation for each in results]
    whole = join_sentences(text.text, written, parts, is_cut=any(each.is_cut for each in parts))
    first = next((each for each in results if each.models), TranslationResult(whole, text.source))
    return TranslationResult(whole, text.source, text.detected, first.models, first.via)
