"""Parsing of systems on the command line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman.api.evaluation.system_arguments import System, bundle_of, parse_system, parse_systems, run_of
from dragoman.api.files.input_lines import read_lines
from dragoman.errors import ConfigError, DataError


@pytest.fixture
def room(tmp_path: Path) -> Path:
    for name in ("small/run/bundle", "large/bundle"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "manifest.json").write_text("{}", encoding="utf-8")
    (tmp_path / "small/run/run.json").write_text("{}", encoding="utf-8")
    (tmp_path / "out.txt").write_text("a\nb\n", encoding="utf-8")
    return tmp_path


def test_names(room: Path):
    assert parse_system(f"{room}/small/run") == System("small", (room / "small/run",))
    assert parse_system(f"{room}/small/run/bundle").name == "small"
    assert parse_system(f"{room}/large/bundle").name == "large"
    assert parse_system(f"{room}/out.txt").name == "out"
    assert parse_system(f"mine={room}/out.txt") == System("mine", (room / "out.txt",))
    assert parse_system(f"{room}/out.txt,{room}/large").members == (room / "out.txt", room / "large")
    assert parse_system(f"x y={room}/out.txt,{room}/large").name == "x y"


def test_a_run_that_was_trained_further_is_noted(room: Path):
    run, told = room / "small/run", list[str]()
    (run / "bundle/card.md").write_text("| Updates | 400 |\n", encoding="utf-8")
    state = run / "checkpoints/step_900/state.json"
    state.parent.mkdir(parents=True)
    state.touch()
    parse_system(str(run), tell=told.append)
    (note,) = told
    assert note.startswith("note    the bundle is of update 400, but the run was trained further, to update 900; ")


def test_a_path_that_is_there_may_hold_anything(room: Path):
    for name in ("a=b.txt", "a,b.txt", "a=b,c"):
        (room / name).write_text("x\n", encoding="utf-8")
        assert parse_system(f"{room}/{name}").members == (room / name,)
        assert parse_system(f"n={room}/{name}") == System("n", (room / name,))


def test_names_are_made_unique(room: Path):
    out = f"{room}/out.txt"
    assert [system.name for system in parse_systems([out, out, f"out-2={out}", out])] == [
        "out",
        "out-3",
        "out-2",
        "out-4",
    ]
    with pytest.raises(ConfigError, match="names of systems must differ, got a twice"):
        parse_systems([f"a={out}", f"a={out}"])


@pytest.mark.parametrize("text", ["", "a=", "=x", "a=x,,y"])
def test_what_cannot_be_read(text: str):
    with pytest.raises((ConfigError, DataError), match="must be"):
        parse_system(text)


def test_nothing_there(room: Path):
    with pytest.raises(DataError, match=r"none.txt does not exist; name a run folder"):
        parse_system(f"a={room}/out.txt,none.txt")


def test_what_a_member_is(room: Path):
    assert bundle_of(room / "out.txt") is None
    assert bundle_of(room / "small/run") == room / "small/run/bundle"
    assert bundle_of(room / "large/bundle") == room / "large/bundle"
    with pytest.raises(DataError, match="has no model; name"):
        bundle_of(room)
    (room / "begun").mkdir()
    (room / "begun" / "log.jsonl").touch()
    with pytest.raises(
        DataError,
        match=r"run in .*begun has no checkpoint yet; continue it with dragoman train --output .*begun --resume",
    ):
        bundle_of(room / "begun")
    assert run_of(room / "small/run") == run_of(room / "small/run/bundle") == room / "small/run"
    assert run_of(room / "large/bundle") is None


def test_lines(room: Path):
    (room / "out.gz").write_bytes(gzip.compress(b"a\r\n\nb"))
    assert read_lines(room / "out.txt") == ["a", "b"]
    assert read_lines(room / "out.gz") == ["a", "", "b"]
    (room / "bad").write_bytes(b"a\n\xff\n")
    with pytest.raises(DataError, match="bad:2 must be UTF-8"):
        read_lines(room / "bad")
