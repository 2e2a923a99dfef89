"""Translated documents wait for their download; no client prevents another from storing one."""

import asyncio
import gc
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dragoman.server.errors import Overloaded, TooLarge
from dragoman.server.routes.document_files import DownloadStore, StoredDocument, plain_name

ANNA, BEN = b"anna", b"ben"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def add(downloads: DownloadStore, size: int, owner: bytes = ANNA) -> str:
    return asyncio.run(downloads.add("a.txt", b"x" * size, owner))


def content(downloads: DownloadStore, key: str) -> tuple[str, bytes] | None:
    async def read(found: StoredDocument) -> bytes:
        return b"".join([part async for part in found.chunks()])

    found = downloads.get(key)
    return None if found is None else (found.name, asyncio.run(read(found)))


def test_a_document_is_there_for_a_while() -> None:
    clock = Clock()
    downloads = DownloadStore(seconds=10, clock=clock)
    key = asyncio.run(downloads.add("letter.txt", b"Zwei Hunde"))

    assert content(downloads, key) == ("letter.txt", b"Zwei Hunde")
    clock.now = 9.9
    assert content(downloads, key) == ("letter.txt", b"Zwei Hunde"), "again"
    clock.now = 10.0
    assert content(downloads, key) is None
    assert len(downloads) == 0


def test_keys_cannot_be_guessed() -> None:
    downloads = DownloadStore()
    first, second = (add(downloads, 1) for _ in range(2))

    assert first != second
    assert len(first.partition(".")[0]) >= 32


@pytest.mark.parametrize("size", [17, 30])
def test_documents_that_are_never_downloaded_block_no_client(size: int) -> None:
    downloads = DownloadStore(max_documents=8, max_bytes=240)
    own = [add(downloads, size, ANNA) for _ in range(2)]
    for owner in (BEN, b"carl") * 20:
        add(downloads, size, owner)
    new = [add(downloads, size, b"dora") for _ in range(2)]

    assert [content(downloads, key) is not None for key in (*own, *new)] == [True] * 4
    assert len(downloads) == 8


def test_a_full_store_drops_what_was_downloaded_and_then_the_oldest_of_the_largest_client() -> None:
    downloads = DownloadStore(max_documents=6, max_bytes=60)
    other, *keys = [add(downloads, 10, owner) for owner in (BEN, *[ANNA] * 5)]
    content(downloads, keys[1])
    for _ in range(2):
        keys.append(add(downloads, 10, BEN))

    is_dropped = [downloads.get(key) is None for key in (other, *keys)]
    assert is_dropped == [False, True, True, False, False, False, False, False]


def test_bytes_are_limited_too() -> None:
    downloads = DownloadStore(max_documents=8, max_bytes=80)
    keys = [add(downloads, 35, ANNA) for _ in range(3)]

    assert [downloads.get(key) is None for key in keys] == [True, False, False]


def test_one_client_after_the_other_downloads_any_number() -> None:
    downloads = DownloadStore(max_documents=4)
    for number in range(20):
        key = asyncio.run(downloads.add("a.txt", b"%d" % number))
        assert content(downloads, key) == ("a.txt", b"%d" % number)


def test_what_is_larger_than_all_room_is_refused() -> None:
    with pytest.raises(TooLarge, match="a document must have 5 bytes at most to be stored, got 6"):
        add(DownloadStore(max_bytes=10), 6)


def test_a_disk_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    downloads = DownloadStore()

    with pytest.raises(Overloaded, match="the server has no disk space for the document; request it directly"):
        add(downloads, 1)
    assert len(downloads) == 0


def test_a_cleaner_of_temporary_files_finds_nothing_to_remove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    downloads = DownloadStore()
    key = add(downloads, 1_000_000)

    assert list(tmp_path.iterdir()) == []
    tmp_path.rmdir()
    assert content(downloads, key) == ("a.txt", b"x" * 1_000_000)


def test_a_killed_process_leaves_nothing_behind(tmp_path: Path) -> None:
    script = (
        "import asyncio, os; from dragoman.server.routes.document_files import DownloadStore as Store;"
        "store = Store(); asyncio.run(store.add('a.txt', b'x' * 100_000)); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | {"TMPDIR": str(tmp_path)}, check=False)

    assert done.returncode == 9
    assert list(tmp_path.iterdir()) == []


def open_files() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def test_files_are_closed_with_their_documents() -> None:
    downloads = DownloadStore()
    before = open_files()
    for _ in range(5):
        add(downloads, 1)
    assert open_files() == before + 5
    downloads.close()
    assert open_files() == before


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
