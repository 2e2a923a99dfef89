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
from dragoman.api.files.folder_translation import MANIFEST, FolderResult
from dragoman.api.files.input_lines import LineBlock, LineReader
from dragoman.errors import ConfigError, DataError
from tests.unit.api.files.translated_folder import translate_folder

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
        if path.is_file() and path.name not in (MANIFEST, ".translation.lock")
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


def test_what_is_missing_or_has_a_new_input_is_translated_again(
    folder: Path, tmp_path: Path, expected: dict[str, bytes]
):
    output = tmp_path / "out"
    translate_folder(one_by_one(shout), folder, output, job=JOB)
    (output / "deep/c.txt").unlink()
    (folder / "a.txt").write_text("new\n")
    expected["a.txt"] = b"0/1 NEW\n"

    progress: list[FileProgress] = []

    found = translate_folder(one_by_one(shout), folder, output, job=JOB, resume=True, on_progress=progress.append)

    assert found.resumed == len(LINES) - 2
    assert progress[0] == FileProgress(0, 0, progress[0].size)
    assert (progress[-1].lines, progress[-1].resumed_lines) == (found.lines, found.resumed_lines)
    assert 0 < progress[-1].resumed_bytes < progress[-1].consumed == progress[-1].size
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

    refused(folder / "out", "must be separate folders")
    refused(folder / "a.txt", "must be separate folders")
    refused(tmp_path, "must be separate folders")
    (tmp_path / "file").touch()
    refused(tmp_path / "file", "must be a folder")
    translate_folder(one_by_one(shout), folder, tmp_path / "out", job=JOB)
    refused(tmp_path / "out", "has files in it")
    with pytest.raises(ConfigError, match="and beam changed"):
        translate_folder(one_by_one(shout), folder, tmp_path / "out", job=JOB | {"search": {"beam": 4}}, resume=True)
    assert translate_folder(one_by_one(shout), folder, tmp_path / "out", job=JOB, force=True).resumed == 0
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="has no text files"):
        translate_folder(one_by_one(shout), tmp_path / "none", tmp_path / "other", job=JOB)


def test_files_of_others_are_not_replaced(folder: Path, tmp_path: Path):
    output = tmp_path / "out"
    (output / "deep").mkdir(parents=True)
    (output / "a.txt").write_text("mine\n")
    with pytest.raises(ConfigError, match=r"has no translation\.jsonl to resume from"):
        translate_folder(one_by_one(shout), folder, output, job=JOB, resume=True)
    (output / "a.txt").unlink()
    (output / "deep").rmdir()
    translate_folder(one_by_one(shout), folder, output, job=JOB)
    (output / "a.txt").write_text("post-edited\n")
    with pytest.raises(ConfigError, match="was changed after it was written"):
        translate_folder(one_by_one(shout), folder, output, job=JOB, resume=True)
    (folder / "new.txt").write_text("one\n")
    (output / "new.txt").write_text("mine\n")
    (output / "a.txt").unlink()
    with pytest.raises(ConfigError, match=r"is not listed in translation\.jsonl"):
        translate_folder(one_by_one(shout), folder, output, job=JOB, resume=True)
    assert (output / "new.txt").read_text() == "mine\n"


def test_a_linked_folder_in_the_output_is_refused(folder: Path, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/deep").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="is a link to a folder outside"):
        translate_folder(one_by_one(shout), folder, tmp_path / "out", job=JOB, force=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_names_that_are_not_utf_8_can_be_resumed(folder: Path, tmp_path: Path):
    name = os.fsdecode(b"caf\xe9.txt")
    (folder / name).write_text("one\n")
    translate_folder(one_by_one(shout), folder, tmp_path / "out", job=JOB)

    found = translate_folder(one_by_one(shout), folder, tmp_path / "out", job=JOB, resume=True)

    assert found.resumed == len(LINES) + 1
    assert (tmp_path / "out" / name).read_text() == "0/1 ONE\n"


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_many_files_read_ahead_need_few_descriptors(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number:03}.txt").write_text(f"{number}\n")
    most = 0

    def counting(blocks: Iterator[LineBlock]) -> Iterator[tuple[LineBlock, bytes]]:
        nonlocal most
        for block, data in ahead(blocks):
            most = max(most, descriptors())
            yield block, data

    before = descriptors()
    translate_folder(counting, folder, tmp_path / "out", job=JOB)

    assert most < before + 10


@pytest.mark.parametrize(
    "text", ["", "[]", "null", '{"job": null}', "[" * 100_000, '{"format": "other", "version": 1, "job": {}}']
)
@pytest.mark.parametrize("place", ["first", "second"])
def test_a_damaged_manifest_is_one_line(folder: Path, tmp_path: Path, text: str, place: str):
    output = tmp_path / "out"
    translate_folder(one_by_one(shout), folder, output, job=JOB)
    lines = (output / MANIFEST).read_text().splitlines()
    lines[place == "second"] = text
    (output / MANIFEST).write_text("".join(f"{line}\n" for line in lines))

    with pytest.raises(DataError, match=r"must list translated files|is not of the format") as caught:
        translate_folder(one_by_one(shout), folder, output, job=JOB, resume=True)
    assert "\n" not in str(caught.value)


def test_one_process_at_a_time(folder: Path, tmp_path: Path):
    def second(texts: Sequence[str], first: int) -> list[str]:
        with pytest.raises(DataError, match="another process is writing"):
            translate_folder(one_by_one(shout), folder, tmp_path / "out", job=JOB, force=True)
        return shout(texts, first)

    assert translate_folder(one_by_one(second), folder, tmp_path / "out", job=JOB).status == "finished"
