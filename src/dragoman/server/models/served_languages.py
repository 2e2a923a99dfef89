"""Languages of the served models: codes, aliases, display names, and which can be translated into which."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from babel import Locale

from dragoman.server.request_types import Route

__all__ = ["Languages", "language_name", "libretranslate_code"]

_LIBRETRANSLATE = {"pb": "pt-BR", "zh": "zh-Hans", "zt": "zh-Hant"}
_EQUIVALENT = (
    ("zh", "zh-hans", "zh-cn", "zh-sg", "zh-hans-cn", "cmn", "cmn-hans"),
    ("zt", "zh-hant", "zh-tw", "zh-hk", "zh-mo", "zh-hant-tw", "cmn-hant"),
    ("pt-br", "pb"),
    ("nb", "no"),
    ("he", "iw"),
    ("tl", "fil"),
)
_ALIASES = {code: group for group in _EQUIVALENT for code in group}


def libretranslate_code(code: str) -> str:
    """Return a code as LibreTranslate lists it, such as zh-Hans for zh."""
    return _LIBRETRANSLATE.get(code, code)


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
        self._targets: dict[str, set[str]] = {}
        for route in routes:
            self._targets.setdefault(route.source, {route.source}).add(route.target)
        self.sources = tuple(sorted(self._targets))
        self.targets = tuple(sorted({route.target for route in routes}))
        self.codes = tuple(sorted({*self.sources, *self.targets}))
        self._codes = {_plain(code): code for code in reversed(self.codes)}

    def from_source(self, source: str) -> tuple[str, ...]:
        """Return the targets of a source, itself included."""
        return tuple(sorted(self._targets.get(source, {source})))

    def can_translate(self, source: str, target: str) -> bool:
        """Whether texts can be translated from source to target."""
        return source == target or target in self._targets.get(source, ())

    def to_target(self, target: str) -> tuple[str, ...]:
        """Return the sources of a target, itself included."""
        return tuple(code for code in self.codes if self.can_translate(code, target))

    def match(self, code: str) -> str | None:
        """Return the served language that a code matches, or None.

        Case is ignored. A region that is not served falls back to the language (``de-AT`` to ``de``), and a language to
        one of its regions. Scripts do not fall back, because their readers differ.
        """
        plain = _plain(code)
        for each in (plain, *_ALIASES.get(plain, ())):
            if each in self._codes:
                return self._codes[each]
        primary, *rest = plain.split("-")
        if primary == "zh" or any(map(_is_script, rest)):
            return None
        if primary in self._codes:
            return self._codes[primary]
        regional = (code for plain, code in sorted(self._codes.items()) if plain.split("-")[0] == primary)
        return next((code for code in regional if not any(map(_is_script, _plain(code).split("-")[1:]))), None)


def _plain(code: str) -> str:
    return code.strip().lower().replace("_", "-")


def _is_script(subtag: str) -> bool:
    return len(subtag) == 4 and subtag.isalpha()
