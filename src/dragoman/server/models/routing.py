"""Map language pairs to models, directly or through a pivot language. `language_codes` compares codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dragoman.language_codes import is_same_language, language_key, language_of_country, match_rank
from dragoman.server.errors import RequestError
from dragoman.server.request_types import Route

__all__ = ["RoutingTable", "best_route", "code_hint", "route_of_models"]

_PREFERRED_PIVOT = "en"
_SAME_LANGUAGE = 2  # the largest rank of a code that names the requested language itself


@dataclass(frozen=True)
class RoutingTable:
    """All routes, direct ones first."""

    all: tuple[Route, ...]
    pairs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Source and target language by model, in order of preference."""

    @classmethod
    def build(cls, pairs: Mapping[str, tuple[str, str]]) -> RoutingTable:
        """Build the routes of models, given the languages of each in order of preference."""
        direct: dict[tuple[str, str], list[str]] = {}
        for name, pair in pairs.items():
            if all(pair):
                direct.setdefault(pair, []).append(name)
        routes = [Route(*pair, tuple((name,) for name in names)) for pair, names in direct.items()]
        languages = list(dict.fromkeys(code for pair in direct for code in pair))
        known = {(language_key(source), language_key(target)) for source, target in direct}
        for source in languages:
            for target in languages:
                if not is_same_language(source, target) and (language_key(source), language_key(target)) not in known:
                    routes += _pivot_routes(source, target, direct)
        return cls(tuple(routes), pairs)

    def find(self, source: str, target: str, model: str | None = None) -> tuple[Route, tuple[str, ...]]:
        """Return the route of a language pair and its models; raises `RequestError` if there is none.

        `model` names one model, or two joined by ``+``.
        """
        if model is not None:
            route = route_of_models(model, self.pairs, source, target)
            return route, route.models[0]
        found = best_route(self.all, source, target)
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


def best_route(routes: Iterable[Route], source: str, target: str) -> Route | None:
    """Return the route that answers a request for a pair of codes best; None if there is none.

    Routes of the requested languages themselves precede routes of other regions; among these, direct routes precede
    pivots, codes as written precede aliases, and earlier routes precede later ones.
    """
    ranked: list[tuple[tuple[int, bool, int, int], Route]] = []
    for number, route in enumerate(routes):
        first, second = match_rank(source, route.source), match_rank(target, route.target)
        if first is not None and second is not None:
            fallbacks = sum(rank for rank in (first, second) if rank > _SAME_LANGUAGE)
            ranked.append(((fallbacks, route.via is not None, first + second, number), route))
    return min(ranked, key=lambda each: each[0])[1] if ranked else None


def route_of_models(name: str, pairs: Mapping[str, tuple[str, str]], source: str | None, target: str) -> Route:
    """Return the route of one model, or of two joined by ``+``; raises `RequestError` if they do not fit the languages.

    Without a source any source fits.
    """
    names = tuple(name.split("+", 2))
    if len(names) > 2 or any(each not in pairs for each in names):
        raise RequestError(
            f"model must be one of {', '.join(sorted(pairs))}, or two of them as first+second, got {name[:80]!r}; "
            "leave it out",
            code="unknown_model",
        )
    start, end, via = pairs[names[0]][0], pairs[names[-1]][1], None
    if len(names) == 2:
        via, other = pairs[names[0]][1], pairs[names[1]][0]
        if not is_same_language(via, other):
            raise RequestError(
                f"the second model must translate from {via}, the target of {names[0]}, got {names[1]} from {other}; "
                "choose another",
                code="unknown_model",
            )
        if is_same_language(start, end):
            raise RequestError(
                f"two models must lead to another language, got {name[:80]} from {start} back to {end}; choose another",
                code="unknown_model",
            )
    for side, given, code in (("source", source, start), ("target", target, end)):
        if given is not None and match_rank(given, code) is None:
            raise RequestError(
                f"{side} must be {code} for the model {name}, got {given[:40]}; change one of them",
                code="unknown_model",
            )
    return Route(start, end, (names,), via=via)


def _pivot_routes(source: str, target: str, direct: Mapping[tuple[str, str], list[str]]) -> list[Route]:
    """Return the route through a third language: English if possible, otherwise the first."""
    through = [
        (first, second)
        for first in direct
        for second in direct
        if first[0] == source and second[1] == target and is_same_language(first[1], second[0])
    ]
    if not through:
        return []
    first, second = min(through, key=lambda pairs: language_key(pairs[0][1]).language != _PREFERRED_PIVOT)
    models = tuple((one, other) for one in direct[first] for other in direct[second])
    return [Route(source, target, models, via=first[1])]
