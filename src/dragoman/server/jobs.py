"""What the routes ask of the service, and what it answers. Routes know no more of translation than this."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from dragoman.api.translation import Translation
from dragoman.search.settings import SearchSettings
from dragoman.text.glossary import Glossary

__all__ = ["Answer", "Ask", "ModelFacts", "Reloaded", "Route", "Ticket", "Translating"]


@dataclass(frozen=True)
class Ask:
    """How the texts of a request are to be translated; languages are codes of `routes`, never ``auto``."""

    source: str
    target: str
    model: str | None = None
    """A model by its name; without, the first of the route."""
    split: bool = True
    nbest: int = 1
    alignments: bool = False
    weights: bool = False
    flags: bool = False
    glossary: Glossary | None = None
    settings: SearchSettings | None = None
    """How to search; as the server was started if not given. `nbest` goes on top."""


@dataclass(frozen=True)
class Answer:
    """A translation, and who made it: two models where it went through another language, `via`."""

    translation: Translation
    models: tuple[str, ...]
    via: str | None = None


@dataclass(frozen=True)
class Route:
    """Languages between which texts can be translated, and by which models, the first of them by default.

    With `via` there is no model of the two languages: each entry of `models` then is a pair of them, one after another.
    """

    source: str
    target: str
    models: tuple[tuple[str, ...], ...]
    via: str | None = None


@dataclass(frozen=True)
class ModelFacts:
    """A bundle and how it stands."""

    name: str
    source: str
    target: str
    family: str
    state: Literal["ready", "loading", "unloaded", "failed"]
    digest: str
    engine: str = ""
    precision: str = ""
    bytes: int = 0
    why: str = ""
    """Why this engine, or why it failed."""


@dataclass(frozen=True)
class Reloaded:
    """What became of each model when the bundles were looked at again."""

    reloaded: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)


class Ticket(Protocol):
    """A place in the house, taken before any work. It ends with `leave`; once `cancel` is called the work stops."""

    deadline: float
    """When it is too late for an answer, by the clock of the event loop."""

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called; asked by the threads that translate, between two steps."""

    def add(self, pieces: int) -> None:
        """Take room for so many source pieces; raises `Overloaded`, or `TooLarge` where no request may have so many."""

    def done(self, pieces: int) -> None:
        """So many of them are translated, or will not be: the service says so, and others may take their room."""

    def cancel(self) -> None:
        """Nobody waits any more."""

    def leave(self) -> None:
        """Give the place back, and with it all that was taken."""


class Translating(Protocol):
    """The service as the routes see it. Faults of users are `DragomanError`; those of `server.errors` have a status.

    Where a ticket was cancelled, what was asked for ends with `api.request.Cancelled`: nobody is there to answer.
    """

    def enter(self, seconds: float | None = None) -> Ticket:
        """Take a place, or raise `Overloaded` or `Draining`."""

    async def translate(self, texts: Sequence[str], ask: Ask, ticket: Ticket) -> list[Answer]:
        """Translate texts, in batches together with those of others."""

    def stream(self, text: str, ask: Ask, ticket: Ticket) -> AsyncIterator[str | Answer]:
        """Yield what is certain of a translation as soon as it is, and at last the answer; its text is all of that."""

    async def inspect(
        self, text: str, ask: Ask, ticket: Ticket, *, translation: str | None, what_ifs: int
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """One sentence opened, as plain values (`inspected_json`), and the model's name."""

    def routes(self) -> Sequence[Route]:
        """Every pair of languages."""

    def models(self) -> Sequence[ModelFacts]:
        """Every model."""

    async def reload(self) -> Reloaded:
        """Look at the bundles again, and take new ones in the place of the old; nothing under way is disturbed."""

    @property
    def is_ready(self) -> bool:
        """Whether to send requests here: models are there, and it is not draining."""
