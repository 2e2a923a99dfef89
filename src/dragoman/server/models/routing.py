"""Map language pairs to models, directly or through a pivot language. `language_codes` compares codes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.config.corpus import Direction
from dragoman.language_codes import LanguageKey, is_same_language, language_key, language_of_country, match_rank
from dragoman.server.errors import RequestError
from dragoman.server.request_types import Route

__all__ = ["RouteIndex", "RoutingTable", "code_hint", "routes_of_models"]

_PREFERRED_PIVOT = "en"
Directions = Mapping[str, Sequence[Direction]]
"""Directions of each model, the models in order of preference."""

_SAME_LANGUAGE = 2  # the largest rank of a code that names the requested language itself


@dataclass(frozen=True)
class RoutingTable:
    """All routes, direct ones first."""

    all: tuple[Route, ...]
    directions: Directions = field(default_factory=dict)
    _direct: Mapping[Direction, Route] = field(default_factory=dict)

    @classmethod
    def build(cls, directions: Directions) -> RoutingTable:
        """Build the routes of models."""
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

    def find(self, source: str, target: str, model: str | None = None) -> tuple[Route, tuple[str, ...]]:
        """Return the route of a language pair and its models; raises `RequestError` if there is none.

        `model` names one model, or two joined by ``+``.
        """
        if model is not None:
            route = routes_of_models(model, self.directions, source, target)[0]
            return route, route.models[0]
        found = self._direct.get((source, target)) or self._index.best(source, target)
        if found is not None:
            return found, found.models[0]
        for given, served in (
            (source, [each.source for each in self.all]),
            (target, [each.target for each in self.all]),
        ):
            if all(match_rank(given, code) is None for code in served):
                raise RequestError(f"{given[:20]} is not supported{code_hint(given, served)}", code="unknown_language")
        raise RequestError(
            f"{target[:20]} is not available as a target language from {source[:20]}", code="unavailable_pair"
        )


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
        seconds = _ranks(target, self._targets)
        for start, first in _ranks(source, self._sources).items():
            for end, second in seconds.items():
                fallbacks = sum(rank for rank in (first, second) if rank > _SAME_LANGUAGE)
                for number, route in self._by_pair.get((start, end), ()):
                    ranked.append(((fallbacks, route.via is not None, first + second, number), route))
        return min(ranked, key=lambda each: each[0])[1] if ranked else None


def _ranks(code: str, offered: Iterable[str]) -> dict[str, int]:
    """Return how well each offered language answers a request for a code, without those that do not."""
    found = ((each, match_rank(code, each)) for each in offered)
    return {each: rank for each, rank in found if rank is not None}


def routes_of_models(name: str, directions: Directions, source: str | None, target: str) -> list[Route]:
    """Return the routes of one model, or of two joined by ``+``, that fit the languages; the best one first.

    Without a source any source fits. Raises `RequestError` if there is none.
    """
    names = tuple(name.split("+", 2))
    if len(names) > 2 or any(each not in directions for each in names):
        raise RequestError(
            f"model must be one of {', '.join(sorted(directions))}, or two of them as first+second, got {name[:80]!r}; "
            "leave it out",
            code="unknown_model",
        )
    codes = dict.fromkeys(each[0] for each in directions[names[0]])
    firsts = dict.fromkeys(codes, 0) if source is None else _ranks(source, codes)
    seconds = _ranks(target, dict.fromkeys(each[1] for each in directions[names[-1]]))
    starts = [each for each in directions[names[0]] if each[0] in firsts]
    if len(names) == 1:
        routes = [Route(*each, (names,)) for each in starts if each[1] in seconds]
    else:
        by_middle: dict[LanguageKey, list[Direction]] = {}
        for second in directions[names[-1]]:
            if second[1] in seconds:
                by_middle.setdefault(language_key(second[0]), []).append(second)
        routes = [
            Route(first[0], second[1], (names,), via=first[1])
            for first in starts
            for second in by_middle.get(language_key(first[1]), ())
            if not is_same_language(first[0], second[1])
        ]
    if not routes:
        raise RequestError(_misfit(names, directions, source, target), code="unknown_model")
    return sorted(routes, key=lambda each: firsts[each.source] + seconds[each.target])


def _misfit(names: Sequence[str], directions: Directions, source: str | None, target: str) -> str:
    """Say why a model, or two, cannot translate between two languages."""
    name = "+".join(names)
    given = [directions[each] for each in names]
    if any(len(each) > 1 for each in given):
        asked = " to ".join((source or "any language", target))[:40]
        return f"the languages must be a direction of the model {name}, got {asked}; /v1/models lists the directions"
    (start, via), (other, end) = given[0][0], given[-1][0]
    if len(names) == 2 and not is_same_language(via, other):
        return (
            f"the second model must translate from {via}, the target of {names[0]}, got {names[1]} from {other}; "
            "choose another"
        )
    if len(names) == 2 and is_same_language(start, end):
        return f"two models must lead to another language, got {name[:80]} from {start} back to {end}; choose another"
    for side, code, served in (("source", source, start), ("target", target, end)):
        if code is not None and match_rank(code, served) is None:
            return f"{side} must be {served} for the model {name}, got {code[:40]}; change one of them"
    raise AssertionError("the model fits")


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
