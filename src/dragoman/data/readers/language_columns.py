"""Find the columns, JSON keys or TMX variants of the two languages of a corpus."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from dragoman.language_codes import canonical_language

_MAX_LISTED = 20
_NAMED_SIDES = (("source", "target"), ("src", "tgt"), ("src", "trg"), ("text", "translation"))
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
    Without names of the languages, those of the sides are found, such as source and target.
    """
    exact = [_exact(names, language) for language in languages]
    found: list[str] = []
    for language, own, other in zip(languages, exact, reversed(exact), strict=True):
        near = [own] if own is not None else _near((name for name in names if name != other), language)
        if len(near) > 1:
            return LanguageColumns(None, "ambiguous language", f"{list_names(near)} may each be {language}")
        if not near or not _fits(near[0], language) or near[0] in found:
            if sides := _named_sides(names):
                return LanguageColumns(sides)
            return LanguageColumns(None, "missing language", f"no {language}; there is {list_names(names)}")
        found += near
    source, target = found
    return LanguageColumns((source, target))


def _named_sides(names: Sequence[str]) -> tuple[str, str] | None:
    lower = [name.lower() for name in names]
    for source, target in _NAMED_SIDES:
        if lower.count(source) == lower.count(target) == 1:
            return names[lower.index(source)], names[lower.index(target)]
    return None


def list_names(names: Sequence[str]) -> str:
    """Join names for a message: a file may have many thousands."""
    more = f" and {len(names) - _MAX_LISTED:,} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more or "nothing at all"


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
