"""Derive the names of served models from their folders and languages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.errors import ConfigError

__all__ = ["name_bundles"]

_GENERIC = {"bundle", "run", "runs", "models", "model", "bundles", ""}
_NAMED_LANGUAGES = 6  # a model of more has no languages in its name
_INVALID = re.compile(r"[^\w.-]+")


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
    parts = [full.stem if full.suffix == ".zip" else full.name, *(parent.name for parent in full.parents)]
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
