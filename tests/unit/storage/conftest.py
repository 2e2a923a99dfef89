"""Memories of an empty database."""

import contextlib
from collections.abc import Iterator

import pytest

from dragoman.storage.database import Database
from dragoman.storage.memories import MemoryStore


@pytest.fixture
def store(database_url: str) -> Iterator[MemoryStore]:
    with contextlib.closing(Database.open(database_url)) as database:
        yield MemoryStore(database)
