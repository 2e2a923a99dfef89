"""Translation service: choose and load models, batch sentences of all requests, assemble translations."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from dragoman.api.inspection.inspector import inspect_sentence
from dragoman.api.translation.multi_model.pivot import (
    compose_text,
    join_prepared,
    pivot_sentences,
    pivot_terms,
    step_options,
)
from dragoman.api.translation.multi_model.routing import Route
from dragoman.api.translation.options import TranslateOptions, TranslationCancelled
from dragoman.api.translation.prepared_text import PreparedText
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.config.corpus import Direction
from dragoman.engines.directions import in_direction
from dragoman.environment import default_threads
from dragoman.server.errors import DeadlineExceeded, RequestError
from dragoman.server.metrics import ServerMetrics
from dragoman.server.models.registry import ModelRegistry
from dragoman.server.models.routing import find_route
from dragoman.server.pipeline.request_checks import charged_tokens
from dragoman.server.pipeline.translation_cache import TranslationCache
from dragoman.server.request_types import ModelInfo, ReloadResult, TranslationRequest, TranslationResult
from dragoman.server.scheduling.admission import AdmissionController, Reservation
from dragoman.server.scheduling.batcher import Batcher
from dragoman.server.scheduling.sentence_queue import TextStream
from dragoman.server.settings import ServerSettings
from dragoman.text.glossary import Glossary, GlossaryTerm

Result = TypeVar("Result")

_INLINE_CHARACTERS = 600  # that are processed on the event loop; more would block other requests
_PREPARE_THREADS = 2
_INSPECTION_COST = 10  # times that of a translation


@dataclass(frozen=True)
class _Step:
    """One model of a route and its options."""

    model: str
    translator: Translator
    options: TranslateOptions
    prefix: str = ""
    """Beginning of the translation of the first text."""


@dataclass(frozen=True)
class OpenPair:
    """The open models of a route between two languages: one, or two with a pivot language."""

    route: Route
    translators: tuple[Translator, ...]

    @property
    def unreadable(self) -> Callable[[str], tuple[tuple[int, int], ...]]:
        """What finds the spans of a text that its model cannot read."""
        return self.translators[0].preprocessor.unreadable

    def steps(self, request: TranslationRequest) -> list[_Step]:
        last = len(self.translators) - 1
        options = [step_options(request.options, is_first=n == 0, is_last=n == last) for n in range(last + 1)]
        prefixes = [""] * last + [request.prefix]
        return list(map(_Step, self.route.models[0], self.translators, options, prefixes))


async def open_service(
    bundles: Mapping[str, Path],
    settings: ServerSettings,
    metrics: ServerMetrics | None = None,
    *,
    load_all: bool = False,
) -> TranslationService:
    """Open bundles, by model name, and start a service on the event loop; `load_all` loads every model once."""
    service = TranslationService(settings, metrics)
    try:
        await service.open(bundles, load_all=load_all)
    except BaseException:
        await service.close()
        raise
    return service


class TranslationService:
    """Translates with several models; create it with `open_service`.

    User errors are `DragomanError`; those of `server.errors` have an HTTP status. If a reservation is cancelled, its
    calls end with `TranslationCancelled`.
    """

    def __init__(self, settings: ServerSettings, metrics: ServerMetrics | None = None) -> None:
        self.settings = settings
        self._metrics = metrics or ServerMetrics()
        threads = settings.threads or default_threads()
        self._admission = AdmissionController(settings.limits, workers=threads, metrics=self._metrics)
        self._batcher = Batcher(settings, threads, self._admission.throughput, self._metrics)
        self._registry = ModelRegistry(settings, threads, self._metrics)
        self._cache = TranslationCache(settings.cache_size, self._metrics)
        self._prepare_pool = ThreadPoolExecutor(_PREPARE_THREADS, "dragoman-prepare")
        self._inspect_pool = ThreadPoolExecutor(1, "dragoman-inspect")
        self._polling: asyncio.Task[None] | None = None
        self.read_bundles: Callable[[], Mapping[str, Path]] | None = None
        """Returns the paths of all models at a reload; without it, those of the start stay."""

    async def open(self, bundles: Mapping[str, Path], *, load_all: bool = False) -> None:
        await self._registry.open(bundles, load_all=load_all)
        if self.settings.reload_interval:
            self._polling = asyncio.create_task(self._poll_bundles())

    def preload_for_glossaries(self, pairs: Sequence[Direction] | None = None) -> None:
        """Start to load the engines for glossaries of some or all languages, for which the first request would wait."""
        self._registry.preload_for_phrases(pairs)

    def admit(self, seconds: float | None = None, charge: Callable[[int], None] = lambda tokens: None) -> Reservation:
        return self._admission.admit(seconds, charge)

    async def open_pair(self, request: TranslationRequest, reservation: Reservation) -> OpenPair:
        """Find the route of a request, and load its models."""
        known = self._registry.routes
        route = find_route(known, request.source, request.target, request.model)
        names, translators = route.models[0], list[Translator]()
        for number, (name, direction) in enumerate(zip(names, route.directions(), strict=True)):
            options = step_options(request.options, is_first=number == 0, is_last=number == len(names) - 1)
            loading = self._registry.get_capable(name, options.search, phrases=False)
            opened = await self._before_deadline(loading, reservation)
            if self._registry.routes is not known:  # the model on disk has other languages, or was reloaded
                return await self.open_pair(request, reservation)
            translators.append(in_direction(opened, direction))
        minimum = request.min_confidence
        for each in translators if (self.settings.min_confidence if minimum is None else minimum) else ():
            each.postprocessor.require_calibration()
        return OpenPair(route, tuple(translators))

    async def translate_pair(
        self, pair: OpenPair, request: TranslationRequest, reservation: Reservation
    ) -> list[TranslationResult]:
        """Translate the texts of a request between two languages, batched with those of other requests."""
        steps = pair.steps(request)
        part = self._cache.part(reservation.client, [(each.model, each.translator, each.options) for each in steps])
        if part is None or request.prefix:
            return await self._translate_texts(pair, steps, request, reservation)
        found = {text: self._cache.get(part, text) for text in dict.fromkeys(request.texts)}
        missing = [text for text, each in found.items() if each is None]
        reservation.charge(sum(charged_tokens(len(text)) for text in request.texts if found[text] is not None))
        if missing:
            results = await self._translate_texts(pair, steps, replace(request, texts=missing), reservation)
            for text, result in zip(missing, results, strict=True):
                found[text] = result.translation
                self._cache.put(part, text, result.translation)
        return [self._result(each, pair.route, steps) for each in map(found.get, request.texts) if each is not None]

    async def _translate_texts(
        self, pair: OpenPair, steps: list[_Step], request: TranslationRequest, reservation: Reservation
    ) -> list[TranslationResult]:
        prepared = await self._prepare(steps, 0, request.texts, reservation)
        reservation.reserve(len(steps) * sum(each.tokens for each in prepared))
        await self._run(steps[0], prepared, reservation)
        if len(steps) == 1:
            translations = await self._assemble(steps[0], prepared)
        else:
            translations = await self._translate_pivot(steps, prepared, request.options.glossary, reservation)
        return [self._result(each, pair.route, steps) for each in translations]

    async def stream_pair(
        self, pair: OpenPair, request: TranslationRequest, reservation: Reservation
    ) -> AsyncIterator[str | TranslationResult]:
        """Translate one text; yield its translation in parts that will not change, then the result."""
        (text,) = request.texts
        steps = pair.steps(request)
        second: list[PreparedText] = []
        (prepared,) = first = await self._prepare(steps, 0, [text], reservation)
        reservation.reserve(len(steps) * prepared.tokens)
        if len(steps) > 1:
            await self._run(steps[0], first, reservation)
            terms = pivot_terms(steps[0].translator, prepared, request.options.glossary)
            second = await self._prepare(steps, 1, pivot_sentences(steps[0].translator, prepared), reservation, terms)
            prepared = join_prepared(prepared, second)
        stream = TextStream(steps[-1].translator.detokenizer(prepared))
        running = asyncio.create_task(self._run(steps[-1], [prepared], reservation, stream))
        running.add_done_callback(stream.end)
        try:
            async for each in stream.texts():
                yield each
            await running
        finally:
            running.cancel()
        if len(steps) > 1:
            _copy_results(prepared, second)
            (translation,) = await self._compose(steps, first, [second])
        else:
            (translation,) = await self._assemble(steps[0], first)
        yield self._result(translation, pair.route, steps)

    async def inspect(
        self, request: TranslationRequest, reservation: Reservation, *, translation: str | None, counterfactuals: int
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Inspect the translation of one sentence, or a given one; returns JSON values and the model's name."""
        (text,) = request.texts
        known = self._registry.routes
        route = find_route(known, request.source, request.target, request.model)
        if route.via is not None:
            raise RequestError(
                f"{route.source} to {route.target} is translated by two models, through {route.via}; inspect one of "
                "the two steps",
                code="inspection_needs_direct_model",
            )
        names = route.models[0]
        opened = await self._before_deadline(self._registry.get(names[0], "inspection"), reservation)
        if self._registry.routes is not known:
            return await self.inspect(request, reservation, translation=translation, counterfactuals=counterfactuals)
        translator = in_direction(opened, (route.source, route.target))
        # Each token of a given translation is a step with its own attention weights and candidates.
        texts = [text] if translation is None else [text, translation]
        prepared = await self.offload(
            sum(map(len, texts)), lambda: translator.prepare(texts, TranslateOptions(split_sentences=False))
        )
        reservation.reserve(sum(each.tokens for each in prepared) * _INSPECTION_COST)

        abandoned = threading.Event()

        def check(*_: object) -> None:
            if abandoned.is_set() or reservation.is_cancelled:
                raise TranslationCancelled

        def run() -> dict[str, Any]:
            check()
            return inspect_sentence(
                translator, text, target=translation, counterfactuals=counterfactuals, progress=check
            ).to_json()

        loop = asyncio.get_running_loop()
        try:
            with self._registry.in_use(names[0], translator):
                value = await self._before_deadline(loop.run_in_executor(self._inspect_pool, run), reservation)
        finally:
            abandoned.set()
        return value, names

    def routes(self) -> Sequence[Route]:
        return self._registry.routes.all

    def models(self) -> Sequence[ModelInfo]:
        return self._registry.infos()

    def folders(self) -> dict[str, Path]:
        """Return the folder of each model, from which it was loaded."""
        return {name: model.path for name, model in self._registry.models.items()}

    async def reload(self) -> ReloadResult:
        """Replace, add and remove models without disturbing requests; raises `DragomanError` without readable names."""
        read = self.read_bundles
        return await self._registry.reload(None if read is None else await asyncio.to_thread(read))

    @property
    def is_ready(self) -> bool:
        """Whether the service accepts requests: it has models and is not draining."""
        return not self._admission.is_draining and self._registry.is_ready

    async def drain(self, seconds: float | None = None) -> bool:
        """Reject new requests and wait for running ones; False on timeout."""
        return await self._admission.drain(self.settings.drain_seconds if seconds is None else seconds)

    async def close(self) -> None:
        """Cancel all running work and unload the models."""
        self._admission.is_draining = True
        if self._polling is not None:
            self._polling.cancel()
        await self._batcher.close()
        self._prepare_pool.shutdown(wait=False, cancel_futures=True)
        self._inspect_pool.shutdown(wait=False, cancel_futures=True)
        self._registry.close()

    async def _translate_pivot(
        self, steps: list[_Step], first: Sequence[PreparedText], glossary: Glossary | None, reservation: Reservation
    ) -> list[Translation]:
        sentences = [pivot_sentences(steps[0].translator, each) for each in first]
        terms = None
        if glossary is not None:
            terms = [each for text in first for each in pivot_terms(steps[0].translator, text, glossary) or ()]
        texts = [each for some in sentences for each in some]
        prepared = iter(await self._prepare(steps, 1, texts, reservation, terms))
        second = [[next(prepared) for _ in some] for some in sentences]
        await self._run(steps[1], [each for some in second for each in some], reservation)
        return await self._compose(steps, first, second)

    async def _compose(
        self, steps: Sequence[_Step], first: Sequence[PreparedText], second: Sequence[Sequence[PreparedText]]
    ) -> list[Translation]:
        def compose() -> list[Translation]:
            one, other = (step.translator for step in steps)
            return [
                compose_text(
                    text,
                    [one.postprocess(chunk, text.options) for chunk in text.chunks],
                    [other.assemble(each) for each in some],
                    other.languages[1],
                )
                for text, some in zip(first, second, strict=True)
            ]

        return await self.offload(sum(len(text.text) for text in first), compose)

    async def _prepare(
        self,
        steps: list[_Step],
        place: int,
        texts: Sequence[str],
        reservation: Reservation,
        given: Sequence[Sequence[GlossaryTerm]] | None = None,
    ) -> list[PreparedText]:
        """Prepare the texts of a step. If they have terms of a glossary, the step gets an engine that is best at them.

        That engine is often slower, so texts without such terms stay with the default one.
        """
        step = steps[place]
        prepared = await self._prepare_step(step, texts, given)
        if any(chunk.search_input.phrases for each in prepared for chunk in each.pending if chunk.search_input):
            loading = self._registry.get_capable(step.model, step.options.search, phrases=True)
            opened = await self._before_deadline(loading, reservation)
            capable = in_direction(opened, step.translator.languages)
            if capable is not step.translator:
                steps[place] = replace(step, translator=capable)
                prepared = await self._prepare_step(steps[place], texts, given)
        return prepared

    async def _prepare_step(
        self, step: _Step, texts: Sequence[str], given: Sequence[Sequence[GlossaryTerm]] | None
    ) -> list[PreparedText]:
        prefixes = [step.prefix, *[""] * (len(texts) - 1)] if step.prefix and texts else None
        prepare = functools.partial(step.translator.prepare, texts, step.options, prefixes=prefixes, terms=given)
        glossary = step.options.glossary  # normalized at its first use
        terms = 0 if glossary is None else glossary.characters
        return await self.offload(terms + sum(map(len, texts)), prepare)

    async def _assemble(self, step: _Step, prepared: Sequence[PreparedText]) -> list[Translation]:
        def assemble() -> list[Translation]:
            return [step.translator.assemble(each) for each in prepared]

        return await self.offload(sum(len(each.text) for each in prepared), assemble)

    async def _run(
        self, step: _Step, prepared: Sequence[PreparedText], reservation: Reservation, stream: TextStream | None = None
    ) -> None:
        with self._registry.in_use(step.model, step.translator):
            await self._batcher.run(step.translator, prepared, reservation, model=step.model, stream=stream)

    async def offload(self, characters: int, work: Callable[[], Result]) -> Result:
        """Run work in a thread if it has many characters, so that it does not block the event loop."""
        if characters <= _INLINE_CHARACTERS:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._prepare_pool, work)

    @staticmethod
    async def _before_deadline(work: Awaitable[Result], reservation: Reservation) -> Result:
        try:
            async with asyncio.timeout_at(reservation.deadline):
                return await work
        except TimeoutError:
            raise DeadlineExceeded from None

    def _result(self, translation: Translation, route: Route, steps: Sequence[_Step]) -> TranslationResult:
        for flag in translation.flags or ():
            self._metrics.count_flag(flag.name)
        models = tuple(step.model for step in steps)
        return TranslationResult(translation, route.source, models=models, via=route.via)

    async def _poll_bundles(self) -> None:
        while True:
            await asyncio.sleep(self.settings.reload_interval)
            with contextlib.suppress(Exception):
                await self._registry.reload()


def _copy_results(joined: PreparedText, prepared: Sequence[PreparedText]) -> None:
    """Copy the results of a joined text back to the chunks of its sentences."""
    results = iter(joined.chunks)
    for text in prepared:
        for chunk in text.chunks:
            result = next(results)
            chunk.hypotheses, chunk.translation = result.hypotheses, result.translation
