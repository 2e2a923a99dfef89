"""What a caller asks a translator for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypedDict

from dragoman.errors import ConfigError, DataError
from dragoman.search.settings import SearchSettings
from dragoman.text.glossary import Glossary

__all__ = ["Cancellation", "Cancelled", "Options", "PairError", "Request", "refuse_ignored"]

_OF_SCORES = ("alignments", "weights", "flags")


class Cancelled(Exception):  # noqa: N818 -- no error: somebody wanted it
    """Nobody waits for this translation any more."""


class PairError(DataError):
    """A source and its translation cannot be scored: `pair` is their place, from 0, and `fault` what is wrong."""

    def __init__(self, pair: int, fault: str) -> None:
        super().__init__(f"pair {pair + 1:,}: {fault}")
        self.pair, self.fault = pair, fault


class Cancellation(Protocol):
    """Tells whether a translation is still wanted; a `threading.Event` does."""

    def is_set(self) -> bool:
        """Whether it is not."""


class Options(TypedDict, total=False):
    """What the methods of a translator take besides texts; `Request` says what each means."""

    split: bool
    longest: int | None
    settings: SearchSettings | None
    nbest: int | None
    alignments: bool
    weights: bool
    flags: bool
    tree: bool
    glossary: Glossary | None
    prefixes: Sequence[str] | None
    first: int
    cancelled: Cancellation | None


@dataclass(frozen=True)
class Request:
    """How texts are to be translated, and what is wanted besides the text of the translation."""

    split: bool | None = None
    """Cut texts into sentences. Without, each is one sentence, and becomes one line."""
    longest: int | None = None
    """The most source pieces that are translated at once; longer sentences are translated in parts."""
    settings: SearchSettings | None = None
    """How to search; as the translator was opened if not given."""
    nbest: int | None = None
    """How many translations of a sentence come back; at most the beam."""
    alignments: bool = False
    """Words, and the links between them."""
    weights: bool = False
    """How much each target word looked at each source word."""
    flags: bool = False
    """Quality flags."""
    tree: bool = False
    """The search tree."""
    glossary: Glossary | None = None
    """Terms, in place of those that the translator was opened with."""
    prefixes: Sequence[str] | None = None
    """What each translation must begin with, one a text."""
    first: int = 0
    """The number of the first text: together with the seed it decides what is drawn where translations are sampled."""
    cancelled: Cancellation | None = None
    """Once it is set the search ends with `Cancelled`.

    On torch and ONNX Runtime that is within a step, and so it is on CTranslate2 with a beam of 1. With a wider beam
    CTranslate2 looks between chunks of 16 sentences only: who must be able to stop it sooner opens the translator with
    ``stepwise=True``.
    """

    def resolved(self, settings: SearchSettings, glossary: Glossary | None, *, split: bool) -> Request:
        """Return the request with a translator's own choices where none was made."""
        settings = settings if self.settings is None else self.settings
        if self.nbest is not None:
            if self.nbest < 1:
                raise ConfigError(f"nbest must be at least 1, got {self.nbest}; 1 asks for the best alone")
            settings = SearchSettings(**(settings.model_dump() | {"nbest": self.nbest}))
        if self.tree and settings.sample:
            raise ConfigError(
                "tree must be left out where translations are drawn at random, got both; drop one of them"
            )
        return replace(
            self,
            settings=settings,
            nbest=settings.nbest,
            glossary=glossary if self.glossary is None else self.glossary,
            split=split if self.split is None else self.split,
        )

    @property
    def search(self) -> SearchSettings:
        """The settings of a request that was resolved."""
        assert self.settings is not None
        return self.settings

    @property
    def wants_words(self) -> bool:
        """Whether it takes more than the text: words, and where they looked."""
        return self.alignments or self.weights or self.flags


def refuse_ignored(options: Options) -> None:
    """Scoring takes some of the options: any other that asks for something is a `ConfigError`."""
    ignored = [name for name, value in options.items() if value and name not in _OF_SCORES]
    if ignored:
        raise ConfigError(
            f"options of a score must be among {', '.join(_OF_SCORES)}, got {', '.join(ignored)}; leave them out: a "
            "translation that is given is not searched for"
        )
