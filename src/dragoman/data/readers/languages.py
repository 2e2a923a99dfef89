"""Which of several names, of columns, keys or variants, hold the two languages of a corpus."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Choice", "pick_languages", "plain_language"]

_TAG = re.compile(r"[a-z]{2,3}(?:-(?P<script>[a-z]{4}))?(?:-(?:[a-z]{2}|[0-9]{3}))?")


class Choice(NamedTuple):
    """The names of source and target; or, where there is none, the reason and what there is to say about it."""

    names: tuple[str, str] | None
    reason: str = ""
    detail: str = ""


@lru_cache(64)
def pick_languages(names: tuple[str, ...], languages: tuple[str, str]) -> Choice:
    """The name that is the code, but for case; else the only one of the same primary language: ``en`` takes ``en-US``.

    After the primary language only a script and a region may follow: ``en_text`` is none if ``en_id`` is there as well.
    """
    exact = [_exact(names, language) for language in languages]
    found: list[str] = []
    for language, own, other in zip(languages, exact, reversed(exact), strict=True):
        near = [own] if own is not None else _near((name for name in names if name != other), language)
        if len(near) > 1:
            return Choice(None, "ambiguous language", f"{', '.join(near)} may each be {language}")
        if not near or not _fits(near[0], language) or near[0] in found:
            return Choice(None, "missing language", f"no {language}; there is {', '.join(names) or 'nothing at all'}")
        found += near
    source, target = found
    return Choice((source, target))


@lru_cache(256)
def plain_language(name: str) -> str:
    """A language code in one spelling."""
    return name.strip().replace("_", "-").lower()


def _exact(names: Iterable[str], language: str) -> str | None:
    same = [name for name in names if plain_language(name) == plain_language(language)]
    return language if language in same else next(iter(same), None)


def _near(names: Iterable[str], language: str) -> list[str]:
    """All names that begin with the primary language, whether they are language codes or not."""
    primary = plain_language(language).partition("-")[0]
    return [name for name in names if plain_language(name).partition("-")[0] == primary]


def _fits(name: str, language: str) -> bool:
    """Whether a name is a language code, and of no other script."""
    tag, wanted = _TAG.fullmatch(plain_language(name)), _TAG.fullmatch(plain_language(language))
    if not tag:
        return plain_language(name) == plain_language(language)
    scripts = {match["script"] for match in (tag, wanted) if match} - {None}
    return len(scripts) < 2
