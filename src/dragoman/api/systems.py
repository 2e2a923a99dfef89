"""The systems that are evaluated or compared: named on the command line, each of one member or several.

A member is a run folder, a bundle (a folder or a zip), or a file of translations; a system that was trained with
several seeds has a member for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.api.text_lines import LineSource
from dragoman.bundle.sealed import MANIFEST
from dragoman.errors import ConfigError, DataError

__all__ = ["System", "bundle_of", "parse_system", "parse_systems", "read_lines", "run_of"]

_BUNDLE, _RUN_FILE = "bundle", "run.json"
_NAMELESS = ("bundle", "run")  # what such folders are called most often: the folder around them says more
_ZIP = b"PK\x03\x04"
_ENDINGS = (".gz", ".txt", ".zip")
_FORMS = "[NAME=]PATH[,PATH…], each a run folder, a bundle or a file of translations"


@dataclass(frozen=True)
class System:
    """A name, and the places of its members; there is something at each of them."""

    name: str
    members: tuple[Path, ...]


def parse_system(text: str) -> System:
    """Read ``[NAME=]PATH[,PATH…]``; a path that is there as it stands may hold ``=`` and commas itself."""
    if Path(text).exists() and text:
        return System(_name_of(Path(text)), (_there(text),))
    name, equals, rest = text.partition("=")
    if not equals:
        name, rest = "", text
    paths = [rest] if rest and Path(rest).exists() else rest.split(",")
    if (equals and not name.strip()) or not all(paths):
        raise ConfigError(f"a system must be {_FORMS}, got {text!r}; name something on each side of = and of commas")
    members = tuple(_there(path) for path in paths)
    return System(name.strip() or _name_of(members[0]), members)


def parse_systems(texts: Sequence[str]) -> tuple[System, ...]:
    """Read several, of which no two have one name: where none was given, and two would be the same, they get numbers.

    A name that was given twice is a `ConfigError`.
    """
    systems = [parse_system(text) for text in texts]
    given = [system.name for system, text in zip(systems, texts, strict=True) if text.startswith(f"{system.name}=")]
    for name in given:
        if given.count(name) > 1:
            raise ConfigError(f"names of systems must differ, got {name} twice; members of one system are joined by ,")
    taken = set(given)
    for place, (system, text) in enumerate(zip(systems, texts, strict=True)):
        if text.startswith(f"{system.name}="):
            continue
        name, number = system.name, 1
        while name in taken:
            number += 1
            name = f"{system.name}-{number}"
        taken.add(name)
        systems[place] = replace(system, name=name)
    return tuple(systems)


def bundle_of(member: Path) -> Path | None:
    """The bundle of a member, or None for a file of translations."""
    if member.is_file():
        with member.open("rb") as file:
            return member if file.read(len(_ZIP)) == _ZIP else None
    if (member / MANIFEST).is_file():
        return member
    if (member / _BUNDLE / MANIFEST).is_file():
        return member / _BUNDLE
    if (member / _RUN_FILE).is_file() or (member / "log.jsonl").is_file():
        raise DataError(f"{member} must hold a bundle, got a run without one; train it to the end")
    raise DataError(
        f"{member} must be a run folder, a bundle or a file of translations, got another folder; see what is in it"
    )


def run_of(member: Path) -> Path | None:
    """The run folder that a member is, or that its bundle lies in; None where there is none."""
    for folder in (member, member.parent) if member.name == _BUNDLE else (member,):
        if (folder / _RUN_FILE).is_file():
            return folder
    return None


def read_lines(path: Path | str) -> list[str]:
    """All lines of a text, plain or packed."""
    if not Path(path).exists():
        raise DataError(f"{path} must be a text, a sentence a line, got nothing there; see whether it is spelt rightly")
    lines: list[str] = []
    with LineSource(path) as source:
        for window in source.windows():
            texts, fault = window.texts()
            if fault is not None:
                raise fault
            lines += texts
    return lines


def _there(text: str) -> Path:
    path = Path(text)
    if not path.exists():
        raise DataError(
            f"{text} must be a run folder, a bundle or a file of translations, but there is nothing there; see how it "
            "is spelt"
        )
    return path


def _name_of(path: Path) -> str:
    absolute = path.absolute()
    named = (part for part in (absolute, *absolute.parents) if part.name not in (*_NAMELESS, "", ".."))
    name = next(named, absolute).name or "system"
    if path.is_file():
        for ending in _ENDINGS:
            name = name.removesuffix(ending) or name
    return name
