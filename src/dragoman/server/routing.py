"""Which models lead from one language to another: one that translates between them, or two through a third language.

Codes are matched as people write them: case does not matter, LibreTranslate's own codes are known, and where a language
is not there with its region it is taken without, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dragoman.server.errors import Refused
from dragoman.server.jobs import Route

__all__ = ["Routes", "canonical"]

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
_ALONE = {"zh", "zh-hant"}  # no region of each other: another script
_FAVOURITE = "en"


def canonical(code: str) -> str:
    """A code as codes are compared."""
    plain = code.strip().replace("_", "-").lower()
    return _ALIASES.get(plain, plain)


@dataclass(frozen=True)
class Routes:
    """All routes there are, those with a model of their own first."""

    all: tuple[Route, ...]

    @classmethod
    def of(cls, pairs: Mapping[str, tuple[str, str]]) -> Routes:
        """The routes that models make, given by name in their order with the languages of each."""
        direct: dict[tuple[str, str], list[str]] = {}
        for name, pair in pairs.items():
            if all(pair):
                direct.setdefault(pair, []).append(name)
        routes = [Route(*pair, tuple((name,) for name in names)) for pair, names in direct.items()]
        languages = list(dict.fromkeys(code for pair in direct for code in pair))
        for source in languages:
            for target in languages:
                if source != target and (source, target) not in direct:
                    routes += _through(source, target, direct, languages)
        return cls(tuple(routes))

    def find(self, source: str, target: str, model: str | None = None) -> tuple[Route, tuple[str, ...]]:
        """The route between two languages, and the models to take; what cannot be is `Refused`."""
        start = _matching(source, (route.source for route in self.all))
        end = _matching(target, (route.target for route in self.all))
        for asked, found in ((source, start), (target, end)):
            if found is None:
                raise Refused(f"{asked[:20]} is not supported")
        route = next((each for each in self.all if (each.source, each.target) == (start, end)), None)
        if route is None:
            raise Refused(f"{end} is not available as a target language from {start}")
        return route, _chosen(route, model)

    def is_same(self, source: str, target: str) -> bool:
        """Whether two codes mean one language that is known here: there is nothing to translate then."""
        codes = [code for route in self.all for code in (route.source, route.target)]
        found = _matching(source, codes)
        return found is not None and found == _matching(target, codes)


def _through(
    source: str, target: str, direct: Mapping[tuple[str, str], Sequence[str]], languages: Sequence[str]
) -> list[Route]:
    """The route through a third language: English if that will do, or else what was named first."""
    for middle in sorted(languages, key=lambda code: canonical(code).partition("-")[0] != _FAVOURITE):
        first, second = direct.get((source, middle)), direct.get((middle, target))
        if first and second:
            return [Route(source, target, tuple((one, other) for one in first for other in second), via=middle)]
    return []


def _matching(asked: str, known: Iterable[str]) -> str | None:
    """The known code that somebody means."""
    wanted = canonical(asked)
    codes = {canonical(code): code for code in reversed(list(known))}
    if wanted in codes or wanted in _ALONE:
        return codes.get(wanted)
    primary = wanted.partition("-")[0]
    if primary in codes and primary not in _ALONE:
        return codes[primary]
    kin = (code for plain, code in reversed(codes.items()) if plain.partition("-")[0] == wanted)
    return next(kin, None)


def _chosen(route: Route, model: str | None) -> tuple[str, ...]:
    """The first models of a route, or those that somebody named: one, or two with ``+`` between them."""
    if model is None:
        return route.models[0]
    for names in route.models:
        if model == "+".join(names):
            return names
    legal = ", ".join("+".join(names) for names in route.models)
    raise Refused(f"model must be one of {legal} for {route.source} to {route.target}, got {model[:80]!r}; choose one")
