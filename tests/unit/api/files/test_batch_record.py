"""An interrupted block: finished batches are not searched again, and the output has the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from dragoman.api.files import batch_record
from dragoman.api.files.batch_record import batch_record_path
from dragoman.api.files.file_translation import FileResult, one_by_one, translate_file
from dragoman.api.files.input_lines import LineReader
from dragoman.api.files.output_lines import LineFormat, LineTranslator, recorded_batches
from dragoman.api.translation import batching
from dragoman.search.hypothesis import Hypothesis, SearchInput
from tests.unit.api.table_engine import table_translator

LINES = 40
BATCH = 4


class Killed(BaseException):
    """As good as kill -9: nothing of ours runs on after it."""


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "_BATCH_SENTENCES", BATCH)
    monkeypatch.setattr(batch_record, "RECORD_INTERVAL", 0.0)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.write_text("".join(f"the small house {number}\n" for number in range(LINES)), encoding="utf-8")
    return path


class Run:
    """One process: translates a file, and is killed after some batches."""

    def __init__(self, form: LineFormat | None = None, batches: int | None = None) -> None:
        translator, engine = table_translator(other=str.upper)
        self.lines = LineTranslator(translator, form or LineFormat())
        self.engine = cast("Any", engine)
        search = self.engine.search

        def counted(sentences: Sequence[SearchInput], *arguments: Any, **options: Any) -> list[list[Hypothesis]]:
            if batches is not None and len(self.engine.batches) == batches:
                raise Killed
            found: list[list[Hypothesis]] = search(sentences, *arguments, **options)
            return found

        self.engine.search = counted

    def translate(self, source: Path, output: Path, job: str = "one", *, resume: bool = True) -> FileResult:
        with (
            LineReader(source) as reader,
            recorded_batches(self.lines, batch_record_path(output), {"job": job}, resume=resume),
        ):
            return translate_file(one_by_one(self.lines), reader, output, job={}, resume=resume)

    def killed(self, source: Path, output: Path) -> None:
        with pytest.raises(Killed):
            self.translate(source, output)

    @property
    def searched(self) -> int:
        return sum(map(len, self.engine.batches))


FORMS = [LineFormat(), LineFormat(json=True, alignment=True), LineFormat(flags=True)]


@pytest.mark.parametrize("form", FORMS, ids=["text", "json", "flags"])
def test_finished_batches_are_taken_over(source: Path, tmp_path: Path, form: LineFormat):
    whole, output = tmp_path / "whole", tmp_path / "out"
    Run(form).translate(source, whole)
    Run(form, batches=3).killed(source, output)
    assert batch_record_path(output).exists()
    Run(form, batches=5).killed(source, output)
    last = Run(form)
    assert last.translate(source, output) == FileResult("finished", LINES, 0)
    assert last.searched == LINES - 8 * BATCH
    assert output.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out", "whole"]


def test_batches_of_another_job_are_searched_again(source: Path, tmp_path: Path):
    Run(batches=3).killed(source, tmp_path / "out")
    other = Run()
    other.translate(source, tmp_path / "out", "two")
    assert other.searched == LINES


def test_a_damaged_record_is_searched_again(source: Path, tmp_path: Path):
    Run(batches=3).killed(source, tmp_path / "out")
    record = batch_record_path(tmp_path / "out")
    data = record.read_bytes()
    record.write_bytes(data[:100] + b"#" + data[101:-20])  # the first is changed, the last is cut
    last = Run()
    last.translate(source, tmp_path / "out")
    assert last.searched == LINES - BATCH


def test_a_finished_block_needs_no_record(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.api.files.input_lines._LINES", 12)
    Run(batches=5).killed(source, tmp_path / "out")
    assert batch_record_path(tmp_path / "out").read_bytes().count(b"\n") == 2, "three batches are in the output"


@pytest.mark.parametrize("batches", [0, 3, 10])
def test_segments_of_the_block_in_progress_are_counted(source: Path, tmp_path: Path, batches: int):
    """Not those that are in the output already."""
    run = Run(batches=batches)
    record = batch_record.BatchFile(tmp_path / "record", {})
    texts = source.read_text(encoding="utf-8").splitlines()
    with run.lines.record_batches(record):
        with suppress(Killed):
            run.lines(texts, 0)
        assert record.segments == (batches * BATCH if batches * BATCH < LINES else 0)


def test_what_is_quick_is_not_recorded(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batch_record, "RECORD_INTERVAL", 60.0)
    saved: list[Path] = []
    monkeypatch.setattr(batch_record, "fsync", saved.append)
    Run().translate(source, tmp_path / "out")
    assert not batch_record_path(tmp_path / "out").exists()
    assert len(saved) <= 1, "at the end only"
