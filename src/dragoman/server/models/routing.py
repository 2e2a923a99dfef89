"""Map language pairs to models, directly or through a pivot language.

Codes match regardless of case, with LibreTranslate's aliases; a code with a region matches one without, and vice versa.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dragoman.server.errors import RequestError
from dragoman.server.request_types import Route

__all__ = ["RoutingTable", "canonical"]

_ALIASES = {
    "pb": "pt-br",
    "zh-cn": "zh",
    "zh-hans": "zh",
    "zh-hk": "zh-hant",
    "zh-sg": "zh",
    "zh-tw": "zh-hant",
    "zt": "zh-hant",
    "iw": "he",
    "in": "id",
    "no": "nb",
}
_EXACT = {"zh", "zh-hant"}  # different scripts, not regions of one another
_PREFERRED_PIVOT = "en"


def canonical(code: str) -> str:
    """Return a language code in the form used for comparison."""
    plain = code.strip().replace("_", "-").lower()
    return _ALIASES.get(plain, plain)


@dataclass(frozen=True)
class RoutingTable:
    """All routes, direct ones first."""

    all: tuple[Route, ...]

    @classmethod
    def build(cls, pairs: Mapping[str, tuple[str, str]]) -> RoutingTable:
        """Build the routes of models, given the languages of each in order of preference."""
        direct: dict[tuple[str, str], list[str]] = {}
        for name, pair in pairs.items():
            if all(pair):
                direct.setdefault(pair, []).append(name)
        routes = [Route(*pair, tuple((name,) for name in names)) for pair, names in direct.items()]
        languages = list(dict.fromkeys(code for pair in direct for code in pair))
        for source in languages:
            for target in languages:
                if source != target and (source, target) not in direct:
                    routes += _pivot_routes(source, target, direct, languages)
        return cls(tuple(routes))

    def find(self, source: str, target: str, model: str | None = None) -> tuple[Route, tuple[str, ...]]:
        """Return the route of a language pair and its models; raises `RequestError` if there is none."""
        start = _match(source, (route.source for route in self.all))
        end = _match(target, (route.target for route in self.all))
        for given, found in ((source, start), (target, end)):
            if found is None:
                raise RequestError(f"{given[:20]} is not supported")
        route = next((each for each in self.all if (each.source, each.target) == (start, end)), None)
        if route is None:
            raise RequestError(f"{end} is not available as a target language from {start}")
        return route, _select(route, model)

    def is_same(self, source: str, target: str) -> bool:
        """Whether two codes match the same served language."""
        codes = [code for route in self.all for code in (route.source, route.target)]
        found = _match(source, codes)
        return found is not None and found == _match(target, codes)


def _pivot_routes(
    source: str, target: str, direct: Mapping[tuple[str, str], Sequence[str]], languages: Sequence[str]
) -> list[Route]:
    """Return the route through a third language: English if possible, otherwise the first."""
    for pivot in sorted(languages, key=lambda code: canonical(code).partition("-")[0] != _PREFERRED_PIVOT):
        first, second = direct.get((source, pivot)), direct.get((pivot, target))
        if first and second:
            return [Route(source, target, tuple((one, other) for one in first for other in second), via=pivot)]
    return []


def _match(given: str, served: Iterable[str]) -> str | None:
    """Return the served code that a given code matches."""
    wanted = canonical(given)
    codes = {canonical(code): code for code in reversed(list(served))}
    if wanted in codes or wanted in _EXACT:
        return codes.get(wanted)
    primary = wanted.partition("-")[0]
    if primary in codes and primary not in _EXACT:
        return codes[primary]
    regional = (code for plain, code in reversed(codes.items()) if plain.partition("-")[0] == wanted)
    return next(regional, None)


def _select(route: Route, model: str | None) -> tuple[str, ...]:
    """Return the first models of a route, or those with the given name: one, or two joined by ``+``."""
    if model is None:
        return route.models[0]
    for names in route.models:
        if model == "+".join(names):
            return names
    legal = ", ".join("+".join(names) for names in route.models)
    raise RequestError(
        f"model must be one of {legal} for {route.source} to {route.target}, got {model[:80]!r}; choose one"
    )
