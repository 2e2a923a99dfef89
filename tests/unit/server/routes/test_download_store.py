import stat
from pathlib import Path

import pytest

from dragoman.server.errors import Overloaded
from dragoman.server.routes.download_store import DownloadStore, plain_name


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_document_is_there_for_a_while() -> None:
    clock = Clock()
    downloads = DownloadStore(seconds=10, clock=clock)
    key = downloads.add("letter.txt", b"Zwei Hunde")
    waiting = downloads.get(key)

    assert waiting is not None
    assert (waiting.name, waiting.path.read_bytes()) == ("letter.txt", b"Zwei Hunde")
    clock.now = 10.0
    assert downloads.get(key) is None
    assert not waiting.path.exists()


def test_names_cannot_be_guessed_and_the_folder_is_private() -> None:
    downloads = DownloadStore()
    first, second = (downloads.add("a.txt", b"") for _ in range(2))
    waiting = downloads.get(first)

    assert waiting is not None
    assert first != second
    assert len(first.partition(".")[0]) >= 32
    assert stat.S_IMODE(waiting.path.parent.stat().st_mode) == 0o700
    assert waiting.path.name not in first
    downloads.close()


def test_the_oldest_make_way() -> None:
    downloads = DownloadStore(max_documents=3, max_bytes=100)
    keys = [downloads.add("a.txt", b"x" * 10) for _ in range(4)]

    assert [downloads.get(key) is None for key in keys] == [True, False, False, False]
    last = downloads.add("a.txt", b"x" * 85)
    assert [downloads.get(key) is None for key in (*keys[1:], last)] == [True, True, False, False]
    downloads.close()


def test_what_is_larger_than_all_room_is_refused() -> None:
    with pytest.raises(Overloaded, match="to be stored, got"):
        DownloadStore(max_bytes=10).add("a.txt", b"x" * 11)


def test_a_disk_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**kwargs: object) -> str:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)

    with pytest.raises(Overloaded, match="must have disk space for the document, got none; request it directly"):
        DownloadStore().add("a.txt", b"x")


def test_all_goes_with_it() -> None:
    downloads = DownloadStore()
    folders: list[Path] = []
    for _ in range(2):
        waiting = downloads.get(downloads.add("a.txt", b"x"))
        assert waiting is not None
        folders.append(waiting.path.parent)
        downloads.close()

    assert len(downloads) == 0
    assert not any(folder.exists() for folder in folders)


def test_the_folder_goes_when_nobody_holds_it() -> None:
    downloads = DownloadStore()
    waiting = downloads.get(downloads.add("a.txt", b"x"))
    assert waiting is not None
    del downloads

    assert not waiting.path.parent.exists()


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
