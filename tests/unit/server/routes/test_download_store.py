"""Translated documents wait for their download; no client prevents another from storing one."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from dragoman.server.database import ServerDatabase
from dragoman.server.errors import Overloaded, TooLarge
from dragoman.server.routes.document_files import DocumentStore, StoredDocument, new_secret, plain_name

ANNA, BEN = b"anna", b"ben"


class Clock:
    now = 0

    def __call__(self) -> int:
        self.now += 1  # documents have an order
        return self.now


def store(**limits: Any) -> DocumentStore:
    return DocumentStore(ServerDatabase(None), **limits)


def add(downloads: DocumentStore, size: int, client: bytes = ANNA, name: str = "a.txt") -> str:
    secret = new_secret()
    downloads.begin(secret, "", client)
    downloads.finish(secret, name, b"x" * size)
    return secret


def content(downloads: DocumentStore, key: str) -> tuple[str, bytes] | None:
    async def read(found: StoredDocument) -> bytes:
        return b"".join([part async for part in downloads.chunks(found)])

    found = downloads.get(key)
    return None if found is None else (found.name, asyncio.run(read(found)))


def test_a_document_is_there_for_a_while() -> None:
    clock = Clock()
    downloads = store(seconds=10, clock=clock)
    key = add(downloads, 600_000, name="letter.txt")

    assert content(downloads, key) == ("letter.txt", b"x" * 600_000)
    clock.now = 9_900_000
    assert content(downloads, key) == ("letter.txt", b"x" * 600_000), "again"
    clock.now = 10_000_010
    assert content(downloads, key) is None


def test_what_expired_is_deleted_from_the_disk(tmp_path: Path) -> None:
    def stored() -> bool:
        return any(b"Geheimnis" in path.read_bytes() for path in tmp_path.iterdir())

    clock, database = Clock(), ServerDatabase(f"sqlite:///{tmp_path / 'data.db'}")
    downloads = DocumentStore(database, clock=clock)
    secret = new_secret()
    downloads.begin(secret)
    downloads.finish(secret, "a.txt", b"Geheimnis" * 1000)
    assert stored()
    assert not any(secret.encode() in path.read_bytes() for path in tmp_path.iterdir())
    database.close()
    with contextlib.closing(ServerDatabase(database.url)) as again:  # a server that starts
        again.opened  # noqa: B018 -- opens it
    assert not stored()


def test_a_document_that_is_removed_during_its_download_ends_early() -> None:
    downloads = store(max_documents=1)
    key = add(downloads, 1_000_000)
    found = downloads.get(key)
    assert found is not None
    add(downloads, 1, BEN)

    async def read() -> list[bytes]:
        return [part async for part in downloads.chunks(found)]

    assert asyncio.run(read()) == []


@pytest.mark.parametrize("size", [17, 30])
def test_documents_that_are_never_downloaded_block_no_client(size: int) -> None:
    downloads = store(max_documents=8, max_bytes=240)
    own = [add(downloads, size, ANNA) for _ in range(2)]
    for owner in (BEN, b"carl") * 20:
        add(downloads, size, owner)
    new = [add(downloads, size, b"dora") for _ in range(2)]

    assert [content(downloads, key) is not None for key in (*own, *new)] == [True] * 4


def test_a_full_store_drops_what_was_downloaded_and_then_the_oldest_of_the_largest_client() -> None:
    downloads = store(max_documents=6, max_bytes=60)
    other, *keys = [add(downloads, 10, owner) for owner in (BEN, *[ANNA] * 5)]
    content(downloads, keys[1])
    for _ in range(2):
        keys.append(add(downloads, 10, BEN))

    is_dropped = [downloads.get(key) is None for key in (other, *keys)]
    assert is_dropped == [False, True, True, False, False, False, False, False]


def test_bytes_are_limited_too() -> None:
    downloads = store(max_documents=8, max_bytes=80)
    keys = [add(downloads, 35, ANNA) for _ in range(3)]

    assert [downloads.get(key) is None for key in keys] == [True, False, False]


def test_one_client_after_the_other_downloads_any_number() -> None:
    downloads = store(max_documents=4)
    for number in range(20):
        key = add(downloads, number)
        assert content(downloads, key) == ("a.txt", b"x" * number)


def test_what_is_larger_than_all_room_is_refused() -> None:
    with pytest.raises(TooLarge, match="a document must have 5 bytes at most to be stored, got 6"):
        add(store(max_bytes=10), 6)


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    database = ServerDatabase(f"sqlite:///{tmp_path / 'data.db'}")
    downloads = DocumentStore(database)
    secret = new_secret()
    downloads.begin(secret)
    with database.read() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(Overloaded, match=r"cannot store the document: .*full.*; request it directly"):
        downloads.finish(secret, "a.txt", b"x" * 1_000_000)
    found = downloads.get(secret)
    assert found is not None
    assert found.status == "translating"
    database.close()


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("letter.docx", "letter.docx"),
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\a b.txt", "a_b.txt"),
        (".htaccess", "htaccess"),
        ("Größe 大.txt", "Größe_大.txt"),
        ('a"\r\nX: y.txt', "a_X_y.txt"),
        ("..", "document"),
        ("", "document"),
        ("x" * 300 + ".txt", "x" * 96 + ".txt"),
    ],
)
def test_plain_names(name: str, plain: str) -> None:
    assert plain_name(name) == plain
