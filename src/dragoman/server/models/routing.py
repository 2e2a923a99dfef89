"""Names, languages and routes of served models. What is not served is a `RequestError`."""

import functools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from babel import Locale

from dragoman.api.translation.multi_model.routing import (
    Directions,
    Route,
    RouteError,
    RouteIndex,
    RoutingTable,
    match_ranks,
)
from dragoman.bundle import Bundle
from dragoman.config.corpus import Direction
from dragoman.errors import ConfigError
from dragoman.language_codes import canonical_language, is_same_language, match_language, match_rank
from dragoman.server.errors import RequestError

_GENERIC = {"bundle", "run", "runs", "models", "model", "bundles", ""}
_NAMED_LANGUAGES = 6  # a model of more has no languages in its name
_INVALID = re.compile(r"[^\w.-]+")
_CACHED_PAIRS = 1024
_CODE_LENGTH = 80  # longer codes match nothing
_MAX_LISTED = 40  # codes in an error message


def find_route(routes: RoutingTable, source: str, target: str, model: str | None = None) -> Route:
    """Return the route of a language pair, of one model if it is named; raises `RequestError` if there is none."""
    if model is not None:
        return routes_of_model(model, routes.directions, source, target)[0]
    try:
        return routes.find(source, target)
    except RouteError as error:
        raise RequestError(str(error), code=error.code) from None


def routes_of_model(name: str, directions: Directions, source: str | None, target: str) -> list[Route]:
    """Return the routes of a model that fit the languages, the best first; raises `RequestError` if there is none."""
    if name not in directions:
        raise RequestError(
            f"model must be one of {', '.join(sorted(directions))}, got {name[:80]!r}; leave it out",
            code="unknown_model",
        )
    own = directions[name]
    codes = dict.fromkeys(each[0] for each in own)
    sources = dict.fromkeys(codes, 0) if source is None else match_ranks(source, codes)
    targets = match_ranks(target, dict.fromkeys(each[1] for each in own))
    routes = [Route(*each, ((name,),)) for each in own if each[0] in sources and each[1] in targets]
    if not routes:
        raise RequestError(_misfit(name, own, source, target), code="unknown_model")
    return sorted(routes, key=lambda each: sources[each.source] + targets[each.target])


def _misfit(name: str, directions: Sequence[Direction], source: str | None, target: str) -> str:
    """Say why a model cannot translate between two languages."""
    if len(directions) > 1:
        asked = " to ".join((source or "any language", target))[:40]
        return f"the languages must be a direction of the model {name}, got {asked}; /v1/models lists the directions"
    for side, code, served in zip(("source", "target"), (source, target), directions[0], strict=True):
        if code is not None and match_rank(code, served) is None:
            return f"{side} must be {served} for the model {name}, got {code[:40]}; change one of them"
    raise AssertionError("the model fits")


def name_bundles(given: Iterable[str | Path]) -> dict[str, Path]:
    """Name bundles, each ``PATH`` or ``NAME=PATH``.

    The default name is that of the nearest folder without a generic name (a run's bundle is ``name/run/bundle``), and
    the languages unless the name contains them. Duplicates get ``-2``, ``-3`` and so on.
    """
    named: dict[str, Path] = {}
    for each in given:
        name, path = _split(each)
        if name and name in named:
            raise ConfigError(f"models must have different names, got {name!r} twice; change one of them")
        named[name or _unique(_derive_name(path), named)] = path
    return named


def _split(given: str | Path) -> tuple[str, Path]:
    name, equals, path = str(given).partition("=")
    if isinstance(given, Path) or not equals or "/" in name or Path(str(given)).exists():
        return "", Path(given)
    if not name or not path or _INVALID.search(name):
        raise ConfigError(
            f"a bundle must be PATH or NAME=PATH, the name of letters, digits and -_., got {str(given)[:80]!r}; change "
            "the name"
        )
    return name, Path(path)


def _derive_name(path: Path) -> str:
    full = path.absolute()
    parts = [full.name, *(parent.name for parent in full.parents)]
    folder = next((part for part in parts if part.lower() not in _GENERIC), "model")
    stem = _INVALID.sub("-", folder).strip("-.") or "model"
    data = Bundle.open(path).config.data
    codes = [] if data is None else dict.fromkeys(code for each in data.all_directions() for code in each)
    languages = "-".join(codes) if len(codes) <= _NAMED_LANGUAGES else ""
    has_languages = not languages or languages.lower() in stem.lower().replace("_", "-")
    return stem if has_languages else f"{stem}-{languages}"


def _unique(name: str, taken: dict[str, Path]) -> str:
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique


def libretranslate_code(code: str) -> str:
    """Return a code as LibreTranslate lists it, such as zh-Hans for zh."""
    canonical = canonical_language(code)
    return "zh-Hans" if canonical == "zh" else canonical


@functools.cache
def language_name(code: str) -> str:
    """Return the English name of a language; the code itself if unknown."""
    names = Locale("en").languages
    parts = libretranslate_code(code).replace("-", "_").split("_")
    known = ("_".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((str(names[each]) for each in known if each in names), code)


class Languages:
    """Languages of all routes. Every source can be translated to itself: the text is returned unchanged."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)
        self._index = RouteIndex(routes)
        self._targets: dict[str, set[str]] = {}
        for route in routes:
            self._targets.setdefault(route.source, {route.source}).add(route.target)
        self.sources = tuple(sorted(self._targets))
        self.targets = tuple(sorted({route.target for route in routes}))
        self.codes = tuple(sorted({*self.sources, *self.targets}))
        # Clients send the same few codes again and again.
        self._pair = functools.lru_cache(_CACHED_PAIRS)(self._match_pair)
        self._listed = functools.lru_cache(_CACHED_PAIRS)(self._list_code)
        self._sources_to = functools.lru_cache(_CACHED_PAIRS)(self._match_sources)
        self._in_order = tuple(dict.fromkeys(code for each in routes for code in (each.source, each.target)))

    @property
    def default_target(self) -> str:
        """Target of the first model; English without models."""
        return self.routes[0].target if self.routes else "en"

    def from_source(self, source: str) -> tuple[str, ...]:
        """Return the targets of a source, itself included."""
        return tuple(sorted(self._targets.get(source, {source})))

    def match(self, code: str) -> str | None:
        """Return the served language that a code matches best, or None.

        A region that is not served falls back to the language (``de-AT`` to ``de``), and a language to one of its
        regions. Scripts do not fall back, because their readers differ.
        """
        return match_language(code[:_CODE_LENGTH], self._in_order)

    def to_target(self, target: str) -> tuple[str, ...]:
        """Return the sources from which a target can be reached, itself included; empty if it matches nothing."""
        return self._sources_to(target[:_CODE_LENGTH])

    def match_pair(self, source: str, target: str) -> tuple[str, str] | None:
        """Return the languages of the route that a pair matches best, or the same one twice; None if there is none."""
        return self._pair(source[:_CODE_LENGTH], target[:_CODE_LENGTH])

    def _match_pair(self, source: str, target: str) -> tuple[str, str] | None:
        if is_same_language(source, target) and (found := self.match(source)):
            return found, found
        if route := self._index.best(source, target):
            return route.source, route.target
        start, end = self.match(source), self.match(target)
        return (start, start) if start is not None and start == end else None

    def _match_sources(self, target: str) -> tuple[str, ...]:
        return tuple(code for code in self.codes if self.match_pair(code, target) is not None)

    def listed_code(self, code: str) -> str:
        """Return a served code as LibreTranslate lists it, unless a request for that form matches another one."""
        return self._listed(code)

    def _list_code(self, code: str) -> str:
        listed = libretranslate_code(code)
        return listed if self.match(listed) == code else code


def supported_codes(codes: Sequence[str], languages: Languages) -> str:
    """Return the part of an error message that lists codes, as LibreTranslate lists them."""
    listed = [languages.listed_code(code) for code in codes[:_MAX_LISTED]]
    more = f" and {len(codes) - _MAX_LISTED} more" if len(codes) > _MAX_LISTED else ""
    return f"supported: {', '.join(listed)}{more}"
