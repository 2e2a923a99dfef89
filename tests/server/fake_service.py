"""A translation service that translates by rule, at once, without a model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from dragoman.api.translation.multi_model.routing import Route
from dragoman.api.translation.translation import Translation, join_sentences
from dragoman.evaluation.quality_flags import Flag
from dragoman.inspection.result import BeamNode, Candidate, Counterfactual, InspectionResult
from dragoman.server.errors import Draining, Overloaded
from dragoman.server.pipeline.service import OpenPair, TranslationService
from dragoman.server.request_types import ModelInfo, ReloadResult, TranslationRequest, TranslationResult
from dragoman.server.scheduling.admission import Reservation

_SIGNS = re.compile(r"[{}%@:/\[\]]")
_PAIRS = (("de", "en"), ("en", "de"), ("fr", "en"), ("zh", "en"))
_ROUTES = (
    *(Route(source, target, ((f"{source}-{target}",),)) for source, target in _PAIRS),
    *(Route(each, "de", ((f"{each}-en", "en-de"),), via="en") for each in ("fr", "zh")),
)
_ROUTE_BY_PAIR = {(each.source, each.target): each for each in _ROUTES}


def in_fake(text: str, target: str) -> str:
    """Translate a text: every word gets the language code, and the signs of placeholders are lost."""
    words = [_SIGNS.sub("", word) for word in text.split()]
    return " ".join(f"{word}-{target}" if any(map(str.isalpha, word)) else word for word in words)


@dataclass
class FakeReservation(Reservation):
    """A reservation without an admission controller that records its calls."""

    deadline: float = 1e12
    charge: Callable[[int], None] = lambda tokens: None
    tokens: int = 0
    is_cancelled: bool = False
    is_expected: bool = False
    is_released: bool = False
    is_served: bool = False

    def expect(self) -> None:
        self.is_expected = True

    def reserve(self, tokens: int) -> None:
        self.charge(tokens)
        self.tokens += tokens

    def complete(self, tokens: int) -> None:
        self.tokens -= tokens

    def cancel(self) -> None:
        self.is_cancelled = True

    def release(self, *, is_served: bool = False) -> None:
        self.is_released = True
        self.is_served = is_served and not self.is_cancelled


@dataclass
class FakeService(TranslationService):
    """Routes en ↔ de, fr → en and so fr → de, zh → en. Records requests and reservations."""

    is_ready: bool = True
    delay: float = 0.0
    """Seconds per translation, and per word of a stream."""
    is_full: bool = False
    is_draining: bool = False
    fault: Exception | None = None
    """Error of every translation."""
    requests: list[TranslationRequest] = field(default_factory=list)
    reservations: list[FakeReservation] = field(default_factory=list)
    model_folders: dict[str, Path] = field(default_factory=dict)
    reloads: int = 0
    preloads: int = 0
    """Calls of `preload_for_glossaries`."""

    def preload_for_glossaries(self, pairs: Sequence[tuple[str, str]] | None = None) -> None:
        self.preloads += 1

    def admit(
        self, seconds: float | None = None, charge: Callable[[int], None] = lambda tokens: None
    ) -> FakeReservation:
        if self.is_draining:
            raise Draining
        if self.is_full:
            raise Overloaded("the server is overloaded", retry_after=2.0)
        self.reservations.append(FakeReservation(asyncio.get_running_loop().time() + (seconds or 30.0), charge))
        return self.reservations[-1]

    async def open_pair(self, request: TranslationRequest, reservation: Reservation) -> Any:
        """The fake model reads all characters."""
        return SimpleNamespace(unreadable=lambda text: ())

    async def offload(self, characters: int, work: Callable[[], Any]) -> Any:
        return await asyncio.to_thread(work) if characters > 600 else work()

    async def translate_pair(
        self, pair: OpenPair, request: TranslationRequest, reservation: Reservation
    ) -> list[TranslationResult]:
        self.requests.append(request)
        reservation.reserve(sum(len(text.split()) for text in request.texts))
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.fault is not None:
            raise self.fault
        return [self._fake(text, request) for text in request.texts]

    async def stream_pair(
        self, pair: OpenPair, request: TranslationRequest, reservation: Reservation
    ) -> AsyncIterator[str | TranslationResult]:
        (text,) = request.texts
        self.requests.append(request)
        reservation.reserve(len(text.split()))
        if self.fault is not None:
            raise self.fault
        result = self._fake(text, request)
        for number, word in enumerate(result.text.split(" ")):
            await asyncio.sleep(self.delay)
            yield word if number == 0 else f" {word}"
        yield result

    async def inspect(
        self, request: TranslationRequest, reservation: Reservation, *, translation: str | None, counterfactuals: int
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        (text,) = request.texts
        result = self._fake(text, request)
        written = translation or result.text
        source, target = text.split(), written.split()
        rows, columns = len(target), len(source) + 1
        inspected = InspectionResult(
            source=text,
            translation=written,
            source_words=tuple(source),
            target_words=tuple(target),
            tokens=tuple(target),
            token_words=tuple(range(rows)),
            candidates=((Candidate("a", 0.5),),) * (rows + 1),
            predicted=np.full((1, 2, rows + 1, columns), 1 / columns),
            given=np.full((1, 2, rows, columns), 1 / columns),
            steps=np.full((1, 2, rows + 1, columns), 1 / columns),
            default_layer=0,
            score=-0.5,
            tree=(BeamNode(-1, "a", 0, 0, -0.1, is_end=False, is_best=True),),
            counterfactuals=(Counterfactual(0, "a", 0.1, written, -0.5),) * counterfactuals,
            model="a fake",
        )
        return inspected.to_json(), result.models

    def routes(self) -> Sequence[Route]:
        return _ROUTES

    def folders(self) -> dict[str, Path]:
        return self.model_folders

    def models(self) -> Sequence[ModelInfo]:
        return [
            ModelInfo(route.models[0][0], route.source, route.target, "fake", "ready", "0" * 64, "table", "exact", 1000)
            for route in self.routes()
            if route.via is None
        ]

    async def reload(self) -> ReloadResult:
        self.reloads += 1
        return ReloadResult(kept=tuple(each.name for each in self.models()))

    def _fake(self, text: str, request: TranslationRequest) -> TranslationResult:
        route = _ROUTE_BY_PAIR[request.source, request.target]
        lines = text.split("\n") if request.options.split_sentences else [text]
        parts = [_translation(line, request) for line in lines]
        whole = parts[0]
        if len(parts) > 1:
            whole = join_sentences(text, "\n".join(part.text for part in parts), parts, is_cut=False)
        return TranslationResult(whole, route.source, models=route.models[0], via=route.via)


def _in_fake_with_terms(text: str, request: TranslationRequest) -> str:
    parts: list[str] = []
    at = 0
    for term in request.options.glossary.find_terms(text) if request.options.glossary else ():
        parts += [in_fake(text[at : term.start], request.target), term.target]
        at = term.end
    return " ".join(filter(None, [*parts, in_fake(text[at:], request.target)]))


def _translation(text: str, request: TranslationRequest) -> Translation:
    options = request.options
    written = _in_fake_with_terms(text, request)
    source, target = text.split(), written.split()
    fields: dict[str, Any] = {}
    if options.alignment or options.attention:
        fields |= {"source_words": tuple(source), "target_words": tuple(target)}
    if options.alignment:
        fields["alignment"] = tuple((number, number) for number in range(min(len(source), len(target))))
    if options.attention:
        size = len(source)
        fields["weights"] = tuple((0.0,) * row + (1.0,) + (0.0,) * (size - row - 1) for row in range(size))
    if options.flags:
        fields["flags"] = (Flag("copied", "nearly"),) if "copied" in text else ()
    best = Translation(text, written, -0.5, -0.5 * len(target), tuple(f"▁{word}" for word in target), **fields)
    nbest = options.search.nbest
    if nbest > 1:
        others = [replace(best, text=f"{written} {'!' * rank}", score=-0.5 - rank) for rank in range(1, nbest)]
        best = replace(best, nbest=(best, *others))
    return best
