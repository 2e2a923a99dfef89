"""Names of models, where nobody gave any: by the folder, and the languages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.errors import ConfigError

__all__ = ["name_bundles"]

_EMPTY = {"bundle", "run", "runs", "models", "model", "bundles", ""}
_ODD = re.compile(r"[^\w.-]+")


def name_bundles(given: Iterable[str | Path]) -> dict[str, Path]:
    """Name bundles, each ``PATH`` or ``NAME=PATH``.

    Without a name one has that of its folder, or of the first folder above it that says something (a run's bundle is
    ``name/run/bundle``), and its languages unless they are in it already. The second of a name has ``-2`` behind it.
    """
    named: dict[str, Path] = {}
    for each in given:
        name, path = _parted(each)
        if name and name in named:
            raise ConfigError(f"models must have different names, got {name!r} twice; change one of them")
        named[name or _free(_name(path), named)] = path
    return named


def _parted(given: str | Path) -> tuple[str, Path]:
    name, equals, path = str(given).partition("=")
    if isinstance(given, Path) or not equals or "/" in name or Path(str(given)).exists():
        return "", Path(given)
    if not name or not path or _ODD.search(name):
        raise ConfigError(
            f"a bundle must be PATH or NAME=PATH, the name of letters, digits and -_., got {str(given)[:80]!r}; spell "
            "it so"
        )
    return name, Path(path)


def _name(path: Path) -> str:
    whole = path.absolute()
    parts = [whole.stem if whole.suffix == ".zip" else whole.name, *(parent.name for parent in whole.parents)]
    said = next((part for part in parts if part.lower() not in _EMPTY), "model")
    stem = _ODD.sub("-", said).strip("-.") or "model"
    data = Bundle.open(path).config.data
    languages = "" if data is None else f"{data.source}-{data.target}"
    has_them = not languages or languages.lower() in stem.lower().replace("_", "-")
    return stem if has_them else f"{stem}-{languages}"


def _free(name: str, taken: dict[str, Path]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free
