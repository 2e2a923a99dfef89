"""A service that translates by rule, at once: what routes do can be seen without a model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dragoman.api.translation import Translation, joined
from dragoman.evaluation.quality_flags import Flag
from dragoman.server.errors import Draining, Overloaded
from dragoman.server.jobs import Answer, Ask, ModelFacts, Reloaded, Route, Ticket

__all__ = ["FakeService", "FakeTicket", "in_fake"]

_SIGNS = re.compile("[{}%@:/]")


def in_fake(text: str, target: str) -> str:
    """How a text reads in a language: every word gets its code, and the signs of placeholders are lost."""
    words = [_SIGNS.sub("", word) for word in text.split()]
    return " ".join(f"{word}-{target}" if any(map(str.isalpha, word)) else word for word in words)


@dataclass
class FakeTicket:
    """A place that remembers what became of it."""

    deadline: float = 1e12
    pieces: int = 0
    is_cancelled: bool = False
    has_left: bool = False

    def add(self, pieces: int) -> None:
        self.pieces += pieces

    def done(self, pieces: int) -> None:
        self.pieces -= pieces

    def cancel(self) -> None:
        self.is_cancelled = True

    def leave(self) -> None:
        self.has_left = True


@dataclass
class FakeService:
    """Routes en ↔ de, fr → en and so fr → de, zh → en. What it was asked is in `asked`, its tickets in `tickets`."""

    is_ready: bool = True
    delay: float = 0.0
    """Seconds that a translation takes, and each word of a stream."""
    is_full: bool = False
    is_draining: bool = False
    fault: Exception | None = None
    """What a translation ends with."""
    asked: list[tuple[tuple[str, ...], Ask]] = field(default_factory=list)
    tickets: list[FakeTicket] = field(default_factory=list)
    reloads: int = 0

    def enter(self, seconds: float | None = None) -> FakeTicket:
        if self.is_draining:
            raise Draining("the server is about to end; ask another one", retry_after=1.0)
        if self.is_full:
            raise Overloaded("the server is busy; ask again later", retry_after=2.0)
        self.tickets.append(FakeTicket(asyncio.get_running_loop().time() + (seconds or 30.0)))
        return self.tickets[-1]

    async def translate(self, texts: Sequence[str], ask: Ask, ticket: Ticket) -> list[Answer]:
        self.asked.append((tuple(texts), ask))
        ticket.add(sum(len(text.split()) for text in texts))
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.fault is not None:
            raise self.fault
        return [self._answer(text, ask) for text in texts]

    async def stream(self, text: str, ask: Ask, ticket: Ticket) -> AsyncIterator[str | Answer]:
        self.asked.append(((text,), ask))
        ticket.add(len(text.split()))
        if self.fault is not None:
            raise self.fault
        answer = self._answer(text, ask)
        for number, word in enumerate(answer.translation.text.split(" ")):
            await asyncio.sleep(self.delay)
            yield word if number == 0 else f" {word}"
        yield answer

    async def inspect(
        self, text: str, ask: Ask, ticket: Ticket, *, translation: str | None, what_ifs: int
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        answer = self._answer(text, ask)
        written = translation or answer.translation.text
        value = {
            "source": text,
            "translation": written,
            "source_words": text.split(),
            "target_words": written.split(),
            "what_ifs": [{}] * what_ifs,
            "model": "a fake",
        }
        return value, answer.models

    def routes(self) -> Sequence[Route]:
        pairs = [("de", "en"), ("en", "de"), ("fr", "en"), ("zh", "en")]
        direct = [Route(source, target, ((f"{source}-{target}",),)) for source, target in pairs]
        return [
            *direct,
            *(Route(each, "de", ((f"{each}-en", "en-de"),), via="en") for each in ("fr", "zh")),
        ]

    def models(self) -> Sequence[ModelFacts]:
        return [
            ModelFacts(
                route.models[0][0], route.source, route.target, "fake", "ready", "0" * 64, "table", "exact", 1000
            )
            for route in self.routes()
            if route.via is None
        ]

    async def reload(self) -> Reloaded:
        self.reloads += 1
        return Reloaded(kept=tuple(each.name for each in self.models()))

    def _answer(self, text: str, ask: Ask) -> Answer:
        route = next(each for each in self.routes() if (each.source, each.target) == (ask.source, ask.target))
        lines = text.split("\n") if ask.split else [text]
        parts = [_translation(line, ask) for line in lines]
        whole = parts[0] if len(parts) == 1 else joined(text, "\n".join(p.text for p in parts), parts, is_cut=False)
        return Answer(whole, route.models[0], route.via)


def _translation(text: str, ask: Ask) -> Translation:
    written = in_fake(text, ask.target)
    source, target = text.split(), written.split()
    best = Translation(text, written, -0.5, -0.5 * len(target), tuple(f"▁{word}" for word in target))
    if ask.alignments or ask.weights:
        best = replace(best, source_words=tuple(source), target_words=tuple(target))
    if ask.alignments:
        best = replace(best, alignment=tuple((number, number) for number in range(len(target))))
    if ask.weights:
        size = len(source)
        rows = ((0.0,) * row + (1.0,) + (0.0,) * (size - row - 1) for row in range(size))
        best = replace(best, weights=tuple(rows))
    if ask.flags:
        best = replace(best, flags=(Flag("copied", "nearly"),) if "copied" in text else ())
    if ask.nbest > 1:
        others = [replace(best, text=f"{written} {'!' * rank}", score=-0.5 - rank) for rank in range(1, ask.nbest)]
        best = replace(best, nbest=(best, *others))
    return best
