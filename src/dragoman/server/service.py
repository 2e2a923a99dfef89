"""The service: texts in, translations out, for many at once."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dragoman.api.inspecting import inspect
from dragoman.api.reading import Reading
from dragoman.api.request import Cancelled
from dragoman.api.translation import Translation
from dragoman.api.translator import Translator
from dragoman.environment import usable_cores
from dragoman.inspection.inspected_json import inspected_json
from dragoman.search.settings import SearchSettings
from dragoman.server.admission import Admission, Place
from dragoman.server.batching import Batcher
from dragoman.server.errors import Expired, Refused
from dragoman.server.fleet import Fleet
from dragoman.server.jobs import Answer, Ask, ModelFacts, Reloaded, Route, Ticket
from dragoman.server.meter import Meter, NoMeter
from dragoman.server.news import News
from dragoman.server.pivoting import as_one_text, composed_text
from dragoman.server.settings import ServerSettings

__all__ = ["Service", "open_service"]

Found = TypeVar("Found")

_READ_AT_ONCE = 600  # characters that are read where the request is; more would hold up all others
_READERS = 2
_INSPECTION = 10  # times the work of a translation

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Leg:
    """A part of the way: one model from one language to another, and what is asked of it."""

    model: str
    translator: Translator
    options: dict[str, Any]

    def read(self, texts: Sequence[str]) -> list[Reading]:
        return self.translator.read(texts, **self.options)


async def open_service(bundles: Mapping[str, Path], settings: ServerSettings, metrics: Meter | None = None) -> Service:
    """Open bundles by their names, and take up work. To be called where the event loop runs."""
    service = Service(settings, metrics)
    try:
        await service.open(bundles)
    except BaseException:
        await service.close()
        raise
    return service


class Service:
    """Translates with several models; what the routes see of it is `Translating`. `open_service` makes one."""

    def __init__(self, settings: ServerSettings, meter: Meter | None = None) -> None:
        self.settings = settings
        self._meter = meter or NoMeter()
        threads = settings.threads or usable_cores()
        self._admission = Admission(settings.limits, workers=threads, meter=self._meter)
        self._batcher = Batcher(settings, threads, self._admission.pace, self._meter)
        self._fleet = Fleet(settings, threads, self._meter)
        self._readers = ThreadPoolExecutor(_READERS, "dragoman-reader")
        self._inspector = ThreadPoolExecutor(1, "dragoman-inspector")
        self._watch: asyncio.Task[None] | None = None

    async def open(self, bundles: Mapping[str, Path]) -> None:
        """Open all bundles."""
        await self._fleet.open(bundles)
        if self.settings.watch:
            self._watch = asyncio.create_task(self._keep_looking())

    def enter(self, seconds: float | None = None) -> Place:
        """Take a place, or raise `Overloaded` or `Draining`."""
        return self._admission.enter(seconds)

    async def translate(self, texts: Sequence[str], ask: Ask, ticket: Ticket) -> list[Answer]:
        """Translate texts, in batches together with those of others."""
        if self._fleet.routes.is_same(ask.source, ask.target):
            return [Answer(Translation(text, text), ()) for text in texts]
        route, legs = await self._way(ask, ticket)
        readings = await self._read(legs[0], texts)
        ticket.add(len(legs) * sum(reading.pieces for reading in readings))
        await self._run(legs[0], readings, ticket)
        if len(legs) == 1:
            found = await self._finished(legs[0], readings)
        else:
            found = await self._go_on(legs, readings, ticket)
        return [self._answer(each, route, legs) for each in found]

    async def stream(self, text: str, ask: Ask, ticket: Ticket) -> AsyncIterator[str | Answer]:
        """Yield what is certain of a translation as soon as it is, and at last the answer; its text is all of that."""
        if self._fleet.routes.is_same(ask.source, ask.target):
            yield text
            yield Answer(Translation(text, text), ())
            return
        route, legs = await self._way(ask, ticket)
        second: list[Reading] = []
        (reading,) = first = await self._read(legs[0], [text])
        ticket.add(len(legs) * reading.pieces)
        if len(legs) > 1:
            await self._run(legs[0], first, ticket)
            second = await self._read(legs[1], _sentences(legs[0], reading))
            reading = as_one_text(reading, second)
        news = News(legs[-1].translator.unfolding(reading))
        running = asyncio.create_task(self._run(legs[-1], [reading], ticket, news))
        running.add_done_callback(news.end)
        try:
            async for each in news.texts():
                yield each
            await running
        finally:
            running.cancel()
        if len(legs) > 1:
            _copy_found(reading, second)
            (translation,) = await self._composed(legs, first, [second])
        else:
            (translation,) = await self._finished(legs[0], first)
        yield self._answer(translation, route, legs)

    async def inspect(
        self, text: str, ask: Ask, ticket: Ticket, *, translation: str | None, what_ifs: int
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """One sentence opened, as plain values (`inspected_json`), and the model's name."""
        route, names = self._fleet.routes.find(ask.source, ask.target, ask.model)
        if route.via is not None:
            raise Refused(
                f"a translation must be of one model to be inspected, got {route.source} to {route.target} through "
                f"{route.via}; inspect one of the two steps"
            )
        translator = await self._in_time(self._fleet.translator(names[0], "inspected"), ticket)
        (reading,) = await self._offload(len(text), lambda: translator.read([text]))
        ticket.add(reading.pieces * _INSPECTION)

        is_left = threading.Event()

        def check(*_: object) -> None:
            if is_left.is_set() or ticket.is_cancelled:
                raise Cancelled

        def look() -> dict[str, Any]:
            check()
            return inspected_json(inspect(translator, text, target=translation, what_ifs=what_ifs, progress=check))

        loop = asyncio.get_running_loop()
        try:
            return await self._in_time(loop.run_in_executor(self._inspector, look), ticket), names
        finally:
            is_left.set()

    def routes(self) -> Sequence[Route]:
        """Every pair of languages."""
        return self._fleet.routes.all

    def models(self) -> Sequence[ModelFacts]:
        """Every model."""
        return self._fleet.facts()

    async def reload(self) -> Reloaded:
        """Look at the bundles again, and take new ones in the place of the old; nothing under way is disturbed."""
        return await self._fleet.reload()

    @property
    def is_ready(self) -> bool:
        """Whether to send requests here: models are there, and it is not draining."""
        return not self._admission.is_draining and self._fleet.is_ready

    async def drain(self, seconds: float | None = None) -> bool:
        """Refuse who comes, and wait for those who are there; whether all were done in time."""
        return await self._admission.drain(self.settings.drain_seconds if seconds is None else seconds)

    async def close(self) -> None:
        """End all that is under way."""
        self._admission.is_draining = True
        if self._watch is not None:
            self._watch.cancel()
        await self._batcher.close()
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._inspector.shutdown(wait=False, cancel_futures=True)
        self._fleet.close()

    async def _way(self, ask: Ask, ticket: Ticket) -> tuple[Route, list[_Leg]]:
        """The models to take, loaded, and what is asked of each."""
        route, names = self._fleet.routes.find(ask.source, ask.target, ask.model)
        if len(names) > 1 and ask.glossary is not None:
            raise Refused(
                f"a glossary must be used with one model, got {route.source} to {route.target} through {route.via}; "
                "leave it out, or translate in two steps"
            )
        legs = []
        for name in names:
            is_last = name == names[-1]
            options = _options(ask, self.settings, is_first=name == names[0], is_last=is_last)
            able = self._fleet.able(name, options["settings"], phrases=ask.glossary is not None)
            legs.append(_Leg(name, await self._in_time(able, ticket), options))
        return route, legs

    async def _go_on(self, legs: Sequence[_Leg], first: Sequence[Reading], ticket: Ticket) -> list[Translation]:
        """Translate the sentences once more, into the last language."""
        sentences = [_sentences(legs[0], reading) for reading in first]
        read = iter(await self._read(legs[1], [each for some in sentences for each in some]))
        second = [[next(read) for _ in some] for some in sentences]
        await self._run(legs[1], [reading for some in second for reading in some], ticket)
        return await self._composed(legs, first, second)

    async def _composed(
        self, legs: Sequence[_Leg], first: Sequence[Reading], second: Sequence[Sequence[Reading]]
    ) -> list[Translation]:
        def compose() -> list[Translation]:
            one, other = (leg.translator for leg in legs)
            return [
                composed_text(
                    reading,
                    [one.finish(part, reading.request) for part in reading.parts],
                    [other.translation(each) for each in some],
                    other.languages[1],
                )
                for reading, some in zip(first, second, strict=True)
            ]

        return await self._offload(sum(len(reading.text) for reading in first), compose)

    async def _read(self, leg: _Leg, texts: Sequence[str]) -> list[Reading]:
        return await self._offload(sum(map(len, texts)), functools.partial(leg.read, texts))

    async def _finished(self, leg: _Leg, readings: Sequence[Reading]) -> list[Translation]:
        def finish() -> list[Translation]:
            return [leg.translator.translation(reading) for reading in readings]

        return await self._offload(sum(len(reading.text) for reading in readings), finish)

    async def _run(self, leg: _Leg, readings: Sequence[Reading], ticket: Ticket, news: News | None = None) -> None:
        await self._batcher.run(leg.translator, readings, ticket, model=leg.model, news=news)

    async def _offload(self, characters: int, work: Callable[[], Found]) -> Found:
        """Do what takes no time here, and the rest where it holds up nobody."""
        if characters <= _READ_AT_ONCE:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    @staticmethod
    async def _in_time(work: Any, ticket: Ticket) -> Any:
        try:
            async with asyncio.timeout_at(ticket.deadline):
                return await work
        except TimeoutError:
            raise Expired(
                "a request must be done before its time is over, got none left; ask for less at a time", retry_after=1.0
            ) from None

    def _answer(self, translation: Translation, route: Route, legs: Sequence[_Leg]) -> Answer:
        for flag in translation.flags or ():
            self._meter.flagged(flag.name)
        return Answer(translation, tuple(leg.model for leg in legs), route.via)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(self.settings.watch)
            with contextlib.suppress(Exception):
                await self.reload()


def _options(ask: Ask, served: ServerSettings, *, is_first: bool, is_last: bool) -> dict[str, Any]:
    """What a model is asked for; alternatives come from the last alone. A beam is as wide as there are of them."""
    settings = ask.settings or SearchSettings(beam=served.beam)
    nbest = ask.nbest if is_last else 1
    if (nbest, nbest) != (settings.nbest, min(nbest, settings.beam)):
        wider = max(settings.beam, -(-nbest // settings.groups) * settings.groups)
        settings = SearchSettings(**(settings.model_dump() | {"nbest": nbest, "beam": wider}))
    return {
        "split": ask.split if is_first else False,
        "longest": served.limits.sentence_pieces,
        "settings": settings,
        "alignments": ask.alignments,
        "weights": ask.weights,
        "flags": ask.flags,
        "glossary": ask.glossary,
    }


def _sentences(leg: _Leg, reading: Reading) -> list[str]:
    return [leg.translator.finish(part, reading.request).text for part in reading.parts]


def _copy_found(whole: Reading, readings: Sequence[Reading]) -> None:
    """Parts that were put together into one text are copies of those of its sentences."""
    found = iter(whole.parts)
    for reading in readings:
        for part in reading.parts:
            done = next(found)
            part.found, part.translation = done.found, done.translation
