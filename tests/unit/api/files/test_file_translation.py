"""Files translated in constant memory: stopped anywhere and resumed, the output has the same bytes."""

from __future__ import annotations

import fcntl
import gzip
import itertools
import json
import os
import random
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dragoman.api.files import input_lines as lines
from dragoman.api.files import resumable_output
from dragoman.api.files.file_translation import (
    FileProgress,
    FileResult,
    Work,
    one_by_one,
    translate_file,
    translate_lines,
)
from dragoman.api.files.input_lines import LineReader
from dragoman.errors import ConfigError, DataError

EVERY = resumable_output._INTERVAL  # the value in production
JOB = {"bundles": ["abc"], "search": {"beam": 5}, "sizes": (1, 2)}


class Killed(BaseException):
    """As good as kill -9: nothing of ours runs on after it."""


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_LINES", 7)
    monkeypatch.setattr(resumable_output, "_INTERVAL", 0.0)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.write_text("".join(f"line {number} \u2028 ü\r\n" for number in range(100)), encoding="utf-8")
    return path


def shout(texts: Sequence[str], first: int) -> list[str]:
    """Depends on the block on purpose: other blocks would give another output."""
    return [f"{first + row}/{len(texts)} {text.upper()}" for row, text in enumerate(texts)]


def killed_at(call: int, work: Work = shout, how: Callable[[], None] | None = None) -> Work:
    calls = 0

    def run(texts: Sequence[str], first: int) -> Sequence[str]:
        nonlocal calls
        calls += 1
        if calls == call:
            if how is None:
                raise Killed
            how()
        return work(texts, first)

    return run


def translate(source: Path, output: Path, work: Work = shout, **settings) -> FileResult:
    with LineReader(source) as lines:
        return translate_file(one_by_one(work), lines, output, **({"job": JOB} | settings))


def leftovers(output: Path) -> list[str]:
    return sorted(path.name for path in output.parent.iterdir() if path.name.startswith(output.name + "."))


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_killed_anywhere_and_gone_on_with(source: Path, tmp_path: Path, name: str):
    whole, output = tmp_path / f"whole-{name}", tmp_path / name
    assert translate(source, whole) == FileResult("finished", 100, 0)
    assert leftovers(whole) == []
    draw = random.Random(1)
    part = tmp_path / f"{name}.part"
    for _ in range(20):
        output.unlink(missing_ok=True)
        left = [True]
        while left:
            work = killed_at(draw.randint(1, 8))
            try:
                left = [] if translate(source, output, work, resume=True).status == "finished" else left
            except Killed:
                with part.open("ab") as file:
                    file.write(b"what was written after the journal"[: draw.randint(0, 30)])
        assert output.read_bytes() == whole.read_bytes()
        assert leftovers(output) == []
    text = whole.read_bytes()
    lines = (gzip.decompress(text) if name.endswith("gz") else text).split(b"\n")
    assert lines[9].decode() == "9/7 LINE 9 \u2028 Ü"
    assert len(lines) == 101


def test_the_journal_only_speaks_of_what_is_on_the_disk(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: dict[int, int] = {}

    def fsync(descriptor: int) -> None:
        synced[os.fstat(descriptor).st_ino] = os.fstat(descriptor).st_size

    monkeypatch.setattr(os, "fsync", fsync)
    output, part = tmp_path / "out", tmp_path / "out.part"
    seen = []

    def look(done: FileProgress) -> None:
        if part.exists() and done.lines < 100:
            journal = json.loads((tmp_path / "out.part.json").read_text(encoding="utf-8"))
            seen.append(journal["done"]["output_bytes"])
            assert synced.get(part.stat().st_ino, 0) >= journal["done"]["output_bytes"]

    translate(source, output, on_progress=look)
    assert len(set(seen)) == 15
    monkeypatch.setattr(resumable_output, "_INTERVAL", 1000.0)
    seen.clear()
    translate(source, output, on_progress=look, force=True)
    assert set(seen) == {0}


@pytest.mark.parametrize("how", [{"resume": True}, {"force": True}])
def test_killed_before_a_journal_has_its_name(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, bool]
):
    output = tmp_path / "out"
    with pytest.raises(Killed):
        translate(source, output, killed_at(4))
    other = tmp_path / "out.part.json.1.tmp"  # of a process that is no more
    other.write_bytes((tmp_path / "out.part.json").read_bytes()[:20])
    with (tmp_path / "out.part").open("ab") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="another process is writing"):
            translate(source, output, shout, **how)
    assert other.exists()
    monkeypatch.setattr(resumable_output, "_INTERVAL", 1000.0)
    assert translate(source, output, shout, **how).status == "finished"
    assert leftovers(output) == []


@pytest.mark.parametrize("how", [{"resume": True}, {"force": True}])
def test_a_partial_output_that_is_a_link_is_not_followed(source: Path, tmp_path: Path, how: dict[str, bool]):
    (tmp_path / "precious").write_bytes(b"content")
    (tmp_path / "out.part").symlink_to("precious")
    with pytest.raises(DataError, match=r"out\.part is a symbolic link, which is not followed; rename the link"):
        translate(source, tmp_path / "out", shout, **how)
    assert (tmp_path / "precious").read_bytes() == b"content"


@pytest.mark.parametrize(("number", "why"), [(signal.SIGTERM, "terminated"), (signal.SIGINT, "interrupted")])
def test_asked_to_stop(source: Path, tmp_path: Path, number: signal.Signals, why: str):
    before = signal.getsignal(number)
    output = tmp_path / "out"
    outcome = translate(source, output, killed_at(4, how=lambda: signal.raise_signal(number)))
    assert outcome == FileResult(why, 21, 0)
    assert signal.getsignal(number) is before
    assert leftovers(output) == ["out.part", "out.part.json"]
    assert translate(source, output, resume=True) == FileResult("finished", 100, 21)
    translate(source, tmp_path / "whole")
    assert output.read_bytes() == (tmp_path / "whole").read_bytes()


def test_what_is_there_is_not_lost(source: Path, tmp_path: Path):
    output = tmp_path / "out"
    output.write_text("precious", encoding="utf-8")
    with pytest.raises(ConfigError, match="already exists; name another file, or use --force"):
        translate(source, output)
    assert translate(source, output, resume=True) == FileResult("exists")
    assert output.read_text(encoding="utf-8") == "precious"
    with pytest.raises(Killed):
        translate(source, output, killed_at(3), force=True)
    assert output.read_text(encoding="utf-8") == "precious"
    with pytest.raises(ConfigError, match=r"out.part has the beginning of .*; use --resume, or use --force"):
        translate(source, output)
    assert translate(source, output, resume=True) == FileResult("finished", 100, 14)
    assert output.read_text(encoding="utf-8").startswith("0/7 LINE 0")
    with pytest.raises(ConfigError, match="must be a file, got"):
        translate(source, tmp_path)
    with pytest.raises(ConfigError, match="must be in an existing folder"):
        translate(source, tmp_path / "none" / "out")


@pytest.mark.parametrize("name", ["out", "out.part", "out.part.json", "link", "hard"])
@pytest.mark.parametrize("how", [{}, {"force": True}, {"resume": True}])
def test_the_input_is_never_written_to(tmp_path: Path, name: str, how: dict[str, bool]):
    output, source = tmp_path / "out", tmp_path / name
    if name == "link":
        output.symlink_to(source)
    source.write_bytes(b"precious\n")
    if name == "hard":
        (tmp_path / "out.part").hardlink_to(source)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(ConfigError, match=r"is the input .*; give the output another"):
        translate(source, output, shout, **how)
    assert source.read_bytes() == b"precious\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_the_journal_is_written_at_most_once_a_second(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resumable_output, "_INTERVAL", EVERY)
    clock, written = [0.0], []
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    monkeypatch.setattr(resumable_output, "write_json", lambda path, value: written.append(clock[0]))

    def slow(texts: Sequence[str], first: int) -> list[str]:
        clock[0] += 0.3
        return shout(texts, first)

    translate(source, tmp_path / "out", slow)
    assert len(written) == 4  # one at the start, and then three in the 4.2 seconds before the last window
    assert all(later - earlier >= 1.0 for earlier, later in itertools.pairwise(written))


def test_a_crash_between_the_two_names(source: Path, tmp_path: Path):
    output = tmp_path / "out"
    translate(source, output)
    (tmp_path / "out.part.json").write_text("{}", encoding="utf-8")
    assert translate(source, output, resume=True) == FileResult("exists")
    assert leftovers(output) == []


def test_an_input_that_was_mended_or_grew(source: Path, tmp_path: Path):
    output = tmp_path / "out"
    good = source.read_bytes()
    source.write_bytes(good.replace(b"line 50 ", b"line \xff "))
    with pytest.raises(DataError, match=r"in:51 must be UTF-8 text, got byte 0xFF at position 6"):
        translate(source, output)
    source.write_bytes(good + b"one more")
    assert translate(source, output, resume=True) == FileResult("finished", 101, 49)
    translate(source, tmp_path / "whole")
    assert output.read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("change", ["other line", "shorter", "nothing"])
def test_another_input_is_refused(source: Path, tmp_path: Path, change: str):
    with pytest.raises(Killed):
        translate(source, tmp_path / "out", killed_at(5))
    data = source.read_bytes()
    changed = {"other line": data.replace(b"line 3 ", b"lime 3 "), "shorter": data[:50], "nothing": b""}
    source.write_bytes(changed[change])
    with pytest.raises(DataError, match=r"the first 28 lines of .* are not those that are translated already"):
        translate(source, tmp_path / "out", resume=True)


@pytest.mark.parametrize("name", ["bundles", "search", "sizes"])
def test_another_job_is_refused(source: Path, tmp_path: Path, name: str):
    with pytest.raises(Killed):
        translate(source, tmp_path / "out", killed_at(5))
    with pytest.raises(
        ConfigError, match=f"resumed with the options it started with, and {name} changed; use the same"
    ):
        translate(source, tmp_path / "out", resume=True, job=JOB | {name: "other"})
    with pytest.raises(ConfigError, match="and batch-tokens changed; use"):
        translate(source, tmp_path / "out", resume=True, job=JOB | {"batch_tokens": 2})
    with pytest.raises(ConfigError, match="and beam, top-k changed; use"):
        translate(source, tmp_path / "out", resume=True, job=JOB | {"search": {"beam": 4, "top_k": 1}})


LIES = {
    "lines": 14,
    "input_bytes": 100,
    "input_sha256": "0" * 64,
    "output_bytes": 10,
    "output_sha256": "0" * 64,
}


@pytest.mark.parametrize("lie", LIES)
def test_a_journal_that_lies_is_caught(source: Path, tmp_path: Path, lie: str):
    with pytest.raises(Killed):
        translate(source, tmp_path / "out", killed_at(5))
    path = tmp_path / "out.part.json"
    journal = json.loads(path.read_text(encoding="utf-8"))
    journal["done"][lie] = LIES[lie]
    path.write_text(json.dumps(journal), encoding="utf-8")
    before = (tmp_path / "out.part").read_bytes()
    with pytest.raises(DataError, match="use --force to start over"):
        translate(source, tmp_path / "out", resume=True)
    assert (tmp_path / "out.part").read_bytes() == before


def test_damage_is_caught(source: Path, tmp_path: Path):
    output, part, journal = (tmp_path / name for name in ("out", "out.part", "out.part.json"))
    with pytest.raises(Killed):
        translate(source, output, killed_at(5))
    good = part.read_bytes()
    part.write_bytes(good.replace(b"LINE 3", b"LIME 3"))
    with pytest.raises(DataError, match=r"out.part does not match out.part.json"):
        translate(source, output, resume=True)
    part.write_bytes(good[:20])
    with pytest.raises(DataError, match=r"does not match"):
        translate(source, output, resume=True)
    written = journal.read_text(encoding="utf-8")
    for other in ("[]", '{"kind": 1}', written.replace('"version": 1', '"version": 2'), "{"):
        journal.write_text(other, encoding="utf-8")
        with pytest.raises(DataError):
            translate(source, output, resume=True)
    journal.unlink()
    with pytest.raises(DataError, match="has no journal"):
        translate(source, output, resume=True)
    part.write_bytes(b"")
    assert translate(source, output, resume=True) == FileResult("finished", 100, 0)


def test_one_process_at_a_time(source: Path, tmp_path: Path):
    with (tmp_path / "out.part").open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="another process is writing"):
            translate(source, tmp_path / "out", resume=True)


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_nothing_becomes_nothing(tmp_path: Path, name: str):
    (tmp_path / "in").write_bytes(b"")
    assert translate(tmp_path / "in", tmp_path / name) == FileResult("finished", 0, 0)
    data = (tmp_path / name).read_bytes()
    assert (gzip.decompress(data) if name.endswith("gz") else data) == b""


def test_lines_come_out_before_a_bad_one_is_complained_of(source: Path):
    source.write_bytes(b"a\nb\n\xff\nc\n")
    written: list[bytes] = []
    with LineReader(source) as lines, pytest.raises(DataError, match="in:3 must be UTF-8"):
        translate_lines(shout, lines, written.append)
    assert b"".join(written) == b"0/2 A\n1/2 B\n"


def test_progress_is_told(source: Path, tmp_path: Path):
    told: list[FileProgress] = []
    translate(source, tmp_path / "out", on_progress=told.append)
    size = source.stat().st_size
    assert told[-1] == FileProgress(100, size, size)
    assert [done.lines for done in told] == [*range(0, 100, 7), 100]
