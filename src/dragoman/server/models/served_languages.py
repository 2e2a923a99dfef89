"""Languages of the routes: matching of codes, display names."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from babel import Locale

from dragoman.language_codes import canonical_language, is_same_language, match_language
from dragoman.server.models.routing import RouteIndex
from dragoman.server.request_types import Route

__all__ = ["Languages", "language_name", "libretranslate_code", "supported_codes"]

_CACHED_PAIRS = 1024
_CODE_LENGTH = 80  # longer codes match nothing
_MAX_LISTED = 40  # codes in an error message


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
