"""Options of the database and of the memories in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from dragoman.cli.options.arguments import flag, number, option

if TYPE_CHECKING:
    from dragoman.storage.database import Database
    from dragoman.storage.memories import MemoryStore

DatabaseUrl = Annotated[
    str | None,
    option(
        "URL",
        "Database: sqlite:///FILE or postgresql://USER@HOST/NAME.",
        "--database",
        default="DRAGOMAN_DATABASE, or a file in the user's data folder",
        envvar="DRAGOMAN_DATABASE",
    ),
]

_MEMORY = "Memory"
MemoryName = Annotated[
    str | None,
    option(
        "NAME",
        "Translation memory: its exact matches replace translations. dragoman memory import makes one.",
        "--memory",
        panel=_MEMORY,
    ),
]
MemoryThreshold = Annotated[
    int,
    number(
        "Smallest score of a match that replaces a translation: 101 is the same text and neighbours, 100 the same, "
        "99 with other numbers or placeholders, less the share of words in common.",
        "--memory-threshold",
        panel=_MEMORY,
    ),
]
MemoryRepair = Annotated[
    bool,
    flag(
        "--memory-repair",
        "Repair similar matches from 70: the translation of a unit stays, the model translates the words that differ.",
        _MEMORY,
    ),
]


@contextmanager
def open_database(url: str | None) -> Iterator[Database]:
    """Open the database of a command."""
    from dragoman.storage.database import Database

    opened = Database.open(url)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def open_memories(url: str | None) -> Iterator[MemoryStore]:
    """Open the memories of a command."""
    from dragoman.environment import require

    require("sqlalchemy", "memory", "a translation memory")
    require("rapidfuzz", "memory", "a translation memory")
    with open_database(url) as database:
        from dragoman.storage.memories import MemoryStore

        yield MemoryStore(database)
