"""Find the columns, JSON keys or TMX variants of the two languages of a corpus."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from dragoman.language_codes import canonical_language

__all__ = ["LanguageColumns", "find_language_columns", "normalize_code"]

_TAG = re.compile(r"[a-z]{2,3}(?:-(?P<script>[a-z]{4}))?(?:-(?:[a-z]{2}|[0-9]{3}))?")


class LanguageColumns(NamedTuple):
    """The names of source and target, or the reason and detail if they were not found."""

    names: tuple[str, str] | None
    reason: str = ""
    detail: str = ""


@lru_cache(64)
def find_language_columns(names: tuple[str, ...], languages: tuple[str, str]) -> LanguageColumns:
    """Return the name equal to the code except for case, else the only one of the same language (``en-US`` for ``en``).

    Only a script and a region may follow the primary language: ``en_text`` is not found if there is also ``en_id``.
    """
    exact = [_exact(names, language) for language in languages]
    found: list[str] = []
    for language, own, other in zip(languages, exact, reversed(exact), strict=True):
        near = [own] if own is not None else _near((name for name in names if name != other), language)
        if len(near) > 1:
            return LanguageColumns(None, "ambiguous language", f"{', '.join(near)} may each be {language}")
        if not near or not _fits(near[0], language) or near[0] in found:
            return LanguageColumns(
                None, "missing language", f"no {language}; there is {', '.join(names) or 'nothing at all'}"
            )
        found += near
    source, target = found
    return LanguageColumns((source, target))


@lru_cache(256)
def normalize_code(name: str) -> str:
    """Return a language code in the form in which codes are compared: canonical, in lower case."""
    return canonical_language(name).lower()


def _exact(names: Iterable[str], language: str) -> str | None:
    same = [name for name in names if normalize_code(name) == normalize_code(language)]
    return language if language in same else next(iter(same), None)


def _near(names: Iterable[str], language: str) -> list[str]:
    """Return all names that begin with the primary language, language codes or not."""
    primary = normalize_code(language).partition("-")[0]
    return [name for name in names if normalize_code(name).partition("-")[0] == primary]


def _fits(name: str, language: str) -> bool:
    """Whether a name is a language code without a different script."""
    tag, wanted = _TAG.fullmatch(normalize_code(name)), _TAG.fullmatch(normalize_code(language))
    if not tag:
        return normalize_code(name) == normalize_code(language)
    scripts = {match["script"] for match in (tag, wanted) if match} - {None}
    return len(scripts) < 2
