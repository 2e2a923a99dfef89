"""The languages of a server: their names, the many codes that people write for them, and what can be reached."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from babel import Locale

from dragoman.server.jobs import Route

__all__ = ["Languages", "language_name", "listed_code"]

_LISTED = {"pb": "pt-BR", "zh": "zh-Hans", "zt": "zh-Hant"}
_SAME = (
    ("zh", "zh-hans", "zh-cn", "zh-sg", "zh-hans-cn", "cmn", "cmn-hans"),
    ("zt", "zh-hant", "zh-tw", "zh-hk", "zh-mo", "zh-hant-tw", "cmn-hant"),
    ("pt-br", "pb"),
    ("nb", "no"),
    ("he", "iw"),
    ("tl", "fil"),
)
_ALIASES = {code: group for group in _SAME for code in group}


def listed_code(code: str) -> str:
    """A code as LibreTranslate lists it: it says zh-Hans where its models say zh."""
    return _LISTED.get(code, code)


@functools.cache
def language_name(code: str) -> str:
    """The English name of a language; the code itself where there is none."""
    names = Locale("en").languages
    parts = listed_code(code).replace("-", "_").split("_")
    known = ("_".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((str(names[each]) for each in known if each in names), code)


class Languages:
    """What the routes of a service lead from and to. A language leads to itself: its texts stay as they are."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._targets: dict[str, set[str]] = {}
        for route in routes:
            self._targets.setdefault(route.source, {route.source}).add(route.target)
        self.sources = tuple(sorted(self._targets))
        self.targets = tuple(sorted({route.target for route in routes}))
        self.codes = tuple(sorted({*self.sources, *self.targets}))
        self._codes = {_plain(code): code for code in reversed(self.codes)}

    def from_source(self, source: str) -> tuple[str, ...]:
        """The languages that can be reached from one, itself among them."""
        return tuple(sorted(self._targets.get(source, {source})))

    def leads(self, source: str, target: str) -> bool:
        """Whether texts can be translated from one to the other."""
        return source == target or target in self._targets.get(source, ())

    def to_target(self, target: str) -> tuple[str, ...]:
        """The languages that a text may be in for this target to be reached, itself among them."""
        return tuple(code for code in self.codes if self.leads(code, target))

    def resolved(self, code: str) -> str | None:
        """The served language that a code means, or None.

        Case does not count, regions that are not served fall back to the language (``de-AT`` is ``de``), and a
        language to one of its regions. Scripts never fall back: they are read by other people.
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
        kin = (code for plain, code in sorted(self._codes.items()) if plain.split("-")[0] == primary)
        return next((code for code in kin if not any(map(_is_script, _plain(code).split("-")[1:]))), None)


def _plain(code: str) -> str:
    return code.strip().lower().replace("_", "-")


def _is_script(subtag: str) -> bool:
    return len(subtag) == 4 and subtag.isalpha()
