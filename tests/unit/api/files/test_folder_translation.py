"""Folders of files: the same bytes as file by file, after any interruption, with a manifest of finished files."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dragoman.api.files import input_lines, resumable_output
from dragoman.api.files.file_translation import FileProgress, one_by_one, translate_block, translate_file
from dragoman.api.files.folder_translation import MANIFEST, FolderResult, translate_folder
from dragoman.api.files.input_lines import LineBlock, LineReader
from dragoman.errors import ConfigError, DataError

JOB = {"bundles": ["abc"], "search": {"beam": 5}}
LINES = {"a.txt": 30, "b.txt.gz": 20, "deep/c.txt": 1, "empty.txt": 0, "empty.gz": 0}


class Killed(BaseException):
    """As kill -9: no code of ours runs after it."""


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_lines, "_LINES", 7)
    monkeypatch.setattr(resumable_output, "_INTERVAL", 0.0)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, count in LINES.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "".join(f"{name} {number} ü\n" for number in range(count)).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (tmp_path / "in/.hidden").write_bytes(b"\xff")
    return tmp_path / "in"


def shout(texts: Sequence[str], first: int) -> list[str]:
    return [f"{first + row}/{len(texts)} {text.upper()}" for row, text in enumerate(texts)]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MANIFEST
    }


def ahead(blocks: Iterator[LineBlock]) -> Iterator[tuple[LineBlock, bytes]]:
    """Read all blocks before the first is translated, as workers may."""
    for block in list(blocks):
        yield block, translate_block(shout, block)


@pytest.fixture
def expected(folder: Path, tmp_path: Path) -> dict[str, bytes]:
    found = {}
    for name in LINES:
        output = tmp_path / "single" / name
        output.parent.mkdir(parents=True, exist_ok=True)
        with LineReader(folder / name) as reader:
            translate_file(one_by_one(shout), reader, output, job=JOB)
        found[name] = output.read_bytes()
    return found


@pytest.mark.parametrize("translate_blocks", [one_by_one(shout), ahead])
def test_same_bytes_as_file_by_file(folder: Path, tmp_path: Path, expected: dict[str, bytes], translate_blocks):
    progress: list[FileProgress] = []
    found = translate_folder(translate_blocks, folder, tmp_path / "out", job=JOB, on_progress=progress.append)

    assert found == FolderResult("finished", len(LINES), 51, 0)
    assert contents(tmp_path / "out") == expected
    assert progress[-1].consumed <= (progress[-1].size or 0)
    assert [each.consumed for each in progress] == sorted(each.consumed for each in progress)
    entries = [json.loads(line) for line in (tmp_path / "out" / MANIFEST).read_text().splitlines()]
    assert entries[0]["job"] == JOB
    assert {entry["file"]: entry["lines"] for entry in entries[1:]} == LINES


@pytest.mark.parametrize("reads_ahead", [False, True])
def test_killed_anywhere_and_resumed(folder: Path, tmp_path: Path, expected: dict[str, bytes], reads_ahead: bool):
    draw, output, kills, status = random.Random(1), tmp_path / "out", 0, ""

    def dying(blocks: Iterator[LineBlock]) -> Iterator[tuple[LineBlock, bytes]]:
        for number, block in enumerate(list(blocks) if reads_ahead else blocks):
            if number == last:
                raise Killed
            yield block, translate_block(shout, block)

    for _ in range(100):
        last = draw.randrange(4)
        try:
            status = translate_folder(dying, folder, output, job=JOB, resume=True).status
            break
        except Killed:
            kills += 1
            if draw.random() < 0.5 and (output / MANIFEST).exists():  # a line that was not written completely
                with (output / MANIFEST).open("ab") as file:
                    file.write(b'{"file": "a.t')
    assert status == "finished"
    assert kills >= 3
    assert contents(output) == expected


def test_a_changed_output_is_translated_again(folder: Path, tmp_path: Path, expected: dict[str, bytes]):
    output = tmp_path / "out"
    translate_folder(one_by_one(shout), folder, output, job=JOB)
    (output / "a.txt").write_bytes(expected["a.txt"].replace(b"A", b"B"))
    (output / "deep/c.txt").unlink()

    found = translate_folder(one_by_one(shout), folder, output, job=JOB, resume=True)

    assert found.resumed == len(LINES) - 2
    assert contents(output) == expected


def test_sigterm_stops_and_resumes(folder: Path, tmp_path: Path, expected: dict[str, bytes]):
    output = tmp_path / "out"

    def stopping(texts: Sequence[str], first: int) -> list[str]:
        if "B.TXT" in texts[0].upper():
            os.kill(os.getpid(), signal.SIGTERM)
        return shout(texts, first)

    found = translate_folder(one_by_one(stopping), folder, output, job=JOB)

    assert found.status == "terminated"
    assert found.files == 1
    assert translate_folder(one_by_one(shout), folder, output, job=JOB, resume=True).status == "finished"
    assert contents(output) == expected


def test_a_damaged_line_is_named_and_the_rest_is_kept(folder: Path, tmp_path: Path):
    (folder / "b.txt.gz").write_bytes(gzip.compress(b"good\n" * 9 + b"\xff\n"))

    with pytest.raises(DataError, match=r"b\.txt\.gz:10 must be UTF-8"):
        translate_folder(one_by_one(shout), folder, tmp_path / "out", job=JOB)
    assert (tmp_path / "out/a.txt").exists()


def test_what_cannot_be_done_is_refused_before_any_work(folder: Path, tmp_path: Path):
    def refused(output: Path, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            translate_folder(one_by_one(shout), folder, output, job=JOB)

    refused(folder / "out", "inside the input folder")
    refused(folder / "a.txt", "inside the input folder")
    (tmp_path / "file").touch()
    refused(tmp_path / "file", "must be a folder")
    translate_folder(one_by_one(shout), folder, tmp_path / "out", job=JOB)
    refused(tmp_path / "out", "must be new or empty")
    with pytest.raises(ConfigError, match="another beam"):
        translate_folder(one_by_one(shout), folder, tmp_path / "out", job=JOB | {"search": {"beam": 4}}, resume=True)
    assert translate_folder(one_by_one(shout), folder, tmp_path / "out", job=JOB, force=True).resumed == 0
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="must contain text files"):
        translate_folder(one_by_one(shout), tmp_path / "none", tmp_path / "other", job=JOB)
