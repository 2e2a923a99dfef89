"""Which of several names of languages is meant by a language code."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["pick_language"]


def pick_language(names: Iterable[str], code: str) -> str | None:
    """The name that is the code, but for case; else the first of the same primary language: ``en`` takes ``en-US``."""
    wanted = _plain(code)
    found = None
    for name in names:
        if _plain(name) == wanted:
            return name
        if found is None and _primary(name) == _primary(code):
            found = name
    return found


def _plain(name: str) -> str:
    return name.strip().replace("_", "-").lower()


def _primary(name: str) -> str:
    return _plain(name).partition("-")[0]
