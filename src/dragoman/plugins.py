"""Find parts that installed packages add through entry points, and import them when they are needed."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.errors import MissingExtraError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS = ("scores", "document_formats", "corpus_readers", "importers", "metrics", "callbacks")

_log = logging.getLogger("dragoman")


class Plugin(NamedTuple):
    """A part of an installed package."""

    group: str
    name: str
    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} ({self.group}) of {self.package} {self.version}"


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name; of two packages with the same name, the first by package name is used."""
    assert group in GROUPS, group
    from importlib.metadata import entry_points  # noqa: PLC0415 -- slow to import

    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=f"dragoman.{group}"), key=lambda each: _plugin(group, each).package):
        if entry.name in found:
            first, second = (_plugin(group, each).package for each in (found[entry.name], entry))
            _log.warning("%s and %s both add %s to %s; that of %s is used", first, second, entry.name, group, first)
        else:
            found[entry.name] = entry
    return found


def _plugin(group: str, entry: EntryPoint) -> Plugin:
    package = entry.dist
    return Plugin(group, entry.name, package.name if package else "?", package.version if package else "?")


def plugin_names(group: str) -> tuple[str, ...]:
    """Names of the parts of a group, without importing them."""
    return tuple(_entries(group))


def find_plugin(group: str, name: str) -> Plugin | None:
    """The installed package that adds a part, without importing it."""
    entry = _entries(group).get(name)
    return None if entry is None else _plugin(group, entry)


@cache
def load_plugin(group: str, name: str) -> Any:
    """Import a part by name; raise a `MissingExtraError` with one line if no package adds it or its import fails."""
    entry = _entries(group).get(name)
    if entry is None:
        raise MissingExtraError(f"No installed package adds {name} to dragoman.{group}; install the package that does")
    try:
        return entry.load()
    except Exception as error:
        detail = " ".join(str(error).split())
        raise MissingExtraError(
            f"{_plugin(group, entry)} cannot be imported: {type(error).__name__}: {detail}"
        ) from error


@cache
def load_plugins(group: str) -> dict[str, Any]:
    """Import all parts of a group; one that cannot be imported is logged in one line and left out."""
    loaded = {}
    for name in _entries(group):
        try:
            loaded[name] = load_plugin(group, name)
        except MissingExtraError as error:
            _log.warning("%s; it is not used", error)
    return loaded


def forget_plugins() -> None:
    """Look for installed packages again, for instance after an installation in a notebook."""
    for each in (_entries, load_plugin, load_plugins):
        each.cache_clear()


def installed_plugins() -> list[Plugin]:
    """All parts of all installed packages, without importing them."""
    return [_plugin(group, entry) for group in GROUPS for entry in _entries(group).values()]
