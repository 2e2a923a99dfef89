"""Find the model of a language pair, or two models through a pivot language."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from dragoman.config.corpus import Direction
from dragoman.errors import DragomanError
from dragoman.language_codes import LanguageKey, language_key, language_of_country, match_rank

_PREFERRED_PIVOT = "en"
_DOCUMENTED = {"use_attribute_docstrings": True}  # OpenAPI shows the docstrings of the fields
Directions = Mapping[str, Sequence[Direction]]
"""Directions of each model, the models in order of preference."""

_SAME_LANGUAGE = 2  # the largest rank of a code that names the requested language itself


class RouteError(DragomanError):
    """No model, and no two through a pivot language, translate between two languages; `code` is for programs."""

    def __init__(self, message: str, code: Literal["unknown_language", "unavailable_pair"]) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Route:
    """A language pair and its models, the default first."""

    __pydantic_config__ = _DOCUMENTED

    source: str
    target: str
    models: tuple[tuple[str, ...], ...]
    """Each entry is one model, or two consecutive models if the route has a pivot language."""
    via: str | None = None
    """The pivot language."""

    def directions(self) -> list[Direction]:
        return list(pairwise([self.source, *([self.via] if self.via else []), self.target]))


@dataclass(frozen=True)
class RoutingTable:
    """All routes, direct ones first."""

    all: tuple[Route, ...]
    directions: Directions = field(default_factory=dict)
    _direct: Mapping[Direction, Route] = field(default_factory=dict)

    @classmethod
    def build(cls, directions: Directions) -> RoutingTable:
        direct: dict[Direction, list[str]] = {}
        for name, pairs in directions.items():
            for pair in pairs:
                direct.setdefault(pair, []).append(name)
        routes = [Route(*pair, tuple((name,) for name in names)) for pair, names in direct.items()]
        keys = {code: language_key(code) for pair in direct for code in pair}
        known = {(keys[source], keys[target]) for source, target in direct}
        from_source: dict[str, list[Direction]] = {}
        to_target: dict[str, list[Direction]] = {}
        for pair in direct:
            from_source.setdefault(pair[0], []).append(pair)
            to_target.setdefault(pair[1], []).append(pair)
        for source, starts in from_source.items():
            for target, ends in to_target.items():
                if keys[source] != keys[target] and (keys[source], keys[target]) not in known:
                    routes += _pivot_routes(starts, ends, direct)
        return cls(tuple(routes), directions, {(each.source, each.target): each for each in routes if not each.via})

    @functools.cached_property
    def _index(self) -> RouteIndex:
        return RouteIndex(self.all)

    def find(self, source: str, target: str) -> Route:
        """Return the route of a language pair; raises `RouteError` if there is none."""
        found = self._direct.get((source, target)) or self._index.best(source, target)
        if found is not None:
            return found
        for given, served in (
            (source, [each.source for each in self.all]),
            (target, [each.target for each in self.all]),
        ):
            if all(match_rank(given, code) is None for code in served):
                raise RouteError(f"{given[:20]} is not supported{code_hint(given, served)}", "unknown_language")
        raise RouteError(f"{target[:20]} is not available as a target language from {source[:20]}", "unavailable_pair")


def code_hint(given: str, served: Iterable[str]) -> str:
    """Return the end of an error message: the language code to write in place of a country code, if it is served."""
    intended = language_of_country(given[:20])
    is_served = intended is not None and any(match_rank(intended, code) is not None for code in served)
    return f"; write {intended}" if is_served else ""


class RouteIndex:
    """Routes by their languages: a request is compared with each language, not with each of many routes."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._by_pair: dict[Direction, list[tuple[int, Route]]] = {}
        for number, route in enumerate(routes):
            self._by_pair.setdefault((route.source, route.target), []).append((number, route))
        self._sources, self._targets = (dict.fromkeys(pair[side] for pair in self._by_pair) for side in (0, 1))

    def best(self, source: str, target: str) -> Route | None:
        """Return the route that answers a request for a pair of codes best; None if there is none.

        Routes of the requested languages themselves precede routes of other regions; among these, direct routes precede
        pivots, codes as written precede aliases, and earlier routes precede later ones.
        """
        ranked: list[tuple[tuple[int, bool, int, int], Route]] = []
        seconds = match_ranks(target, self._targets)
        for start, first in match_ranks(source, self._sources).items():
            for end, second in seconds.items():
                fallbacks = sum(rank for rank in (first, second) if rank > _SAME_LANGUAGE)
                for number, route in self._by_pair.get((start, end), ()):
                    ranked.append(((fallbacks, route.via is not None, first + second, number), route))
        return min(ranked, key=lambda each: each[0])[1] if ranked else None


def match_ranks(code: str, offered: Iterable[str]) -> dict[str, int]:
    """Return how well each offered language answers a request for a code, without those that do not."""
    found = ((each, match_rank(code, each)) for each in offered)
    return {each: rank for each, rank in found if rank is not None}


def _pivot_routes(
    starts: Sequence[Direction], ends: Sequence[Direction], direct: Mapping[Direction, list[str]]
) -> list[Route]:
    """Return the route from one language to another through a third: English if possible, otherwise the first."""
    by_middle: dict[LanguageKey, list[Direction]] = {}
    for second in ends:
        by_middle.setdefault(language_key(second[0]), []).append(second)
    through = [(first, second) for first in starts for second in by_middle.get(language_key(first[1]), ())]
    if not through:
        return []
    first, second = min(through, key=lambda pairs: language_key(pairs[0][1]).language != _PREFERRED_PIVOT)
    models = tuple((one, other) for one in direct[first] for other in direct[second])
    return [Route(first[0], second[1], models, via=first[1])]
