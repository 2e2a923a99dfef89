"""Pairs of lines, all of them or an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.api.files import parallel_lines
from dragoman.api.files.parallel_lines import read_pairs
from dragoman.errors import ConfigError, DataError


def files(folder: Path, *texts: str) -> list[Path]:
    paths = [folder / f"side{number}" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    return paths


def test_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parallel_lines, "_PAIRS", 2)
    paths = files(tmp_path, "a\nb\n\nd\u2028\ne", "1\n2\n3\n\n5\n")
    assert list(read_pairs(*paths)) == [[("a", "1"), ("b", "2")], [("", "3"), ("d\u2028", "")], [("e", "5")]]


def test_unequal_files_are_never_cut(tmp_path: Path):
    paths = files(tmp_path, "a\n" * 5000, "b\n" * 4999)
    with pytest.raises(DataError, match=r"side0 and .*side1 must have the same number of lines, got 5,000 and 4,999;"):
        list(read_pairs(*paths))
    with pytest.raises(DataError, match=r"got 4,999 and 5,000;"):
        list(read_pairs(*reversed(paths)))
    assert list(read_pairs(*files(tmp_path, "", ""))) == []


def test_a_tab_between_two_sides(tmp_path: Path):
    (path,) = files(tmp_path, "a\t1\nb c\t2 3\n\t\n")
    assert list(read_pairs(path)) == [[("a", "1"), ("b c", "2 3"), ("", "")]]
    (path,) = files(tmp_path, "a\t1\nb c\n")
    with pytest.raises(DataError, match=r"side0:2 must be a source and a target with a tab between them, got 1 field;"):
        list(read_pairs(path))


def test_what_cannot_be_read(tmp_path: Path):
    paths = files(tmp_path, "a\nb\n", "x\n")
    paths[1].write_bytes(b"x\n\xff\n")
    with pytest.raises(DataError, match=r"side1:2 must be UTF-8 text"):
        list(read_pairs(*paths))
    with pytest.raises(ConfigError, match="standard input cannot be both"):
        list(read_pairs("-", "-"))
