"""Gold links and the texts that they belong to."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman.api.alignment.gold_reader import read_gold
from dragoman.errors import DataError
from dragoman.evaluation.alignment.error_rate import GoldLinks

SOURCES, TARGETS = ["the house", "你好 。", ""], ["das Haus ist", "hello", "x"]
GOLD = [GoldLinks(frozenset({(0, 0)}), frozenset({(1, 1)})), GoldLinks(frozenset({(1, 0)})), GoldLinks()]


def written(folder: Path, text: str) -> Path:
    path = folder / "links"
    path.write_text(text, encoding="utf-8")
    return path


def test_formats(tmp_path: Path):
    assert read_gold(written(tmp_path, "0-0 1p1\n1-0\n\n"), SOURCES, TARGETS) == GOLD
    assert read_gold(written(tmp_path, "1-1 2p2\r\n2-1\r\n\r\n"), SOURCES, TARGETS, first=1) == GOLD
    naacl = "1 1 1 S\n1 2 2 P\n2 2 1\n"
    assert read_gold(written(tmp_path, naacl), SOURCES, TARGETS) == GOLD
    assert read_gold(written(tmp_path, naacl), SOURCES, TARGETS, form="naacl") == GOLD


def test_packed(tmp_path: Path):
    path = tmp_path / "links.gz"
    path.write_bytes(gzip.compress(b"0-0 1p1\n1-0\n\n"))
    assert read_gold(path, SOURCES, TARGETS) == GOLD
    assert read_gold(str(path), SOURCES, TARGETS) == GOLD


def test_words_are_what_stands_between_spaces(tmp_path: Path):
    links = written(tmp_path, "\n2-0\n\n")
    with pytest.raises(DataError, match=r"links:2: the source word of a link must be from 0 to 1, got 2"):
        read_gold(links, SOURCES, TARGETS)
    assert read_gold(links, SOURCES, TARGETS, by_spaces=False)[1] == GoldLinks(frozenset({(2, 0)}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-0\n\n", r"links must have a line of links for each of 3 sentence pairs, got 2 lines"),
        ("\n\n0-0\n", r"links:3: a link must be between words, got one of source word 0, but the source of this pair"),
        ("4 1 1 S\n", r"links:1: the number of a sentence pair must be from 1 to 3, got 4"),
        ("what\n\n\n", r"links must be links in the Pharaoh format"),
    ],
)
def test_what_does_not_fit(tmp_path: Path, text: str, expected: str):
    with pytest.raises(DataError, match=expected):
        read_gold(written(tmp_path, text), SOURCES, TARGETS)


def test_no_text(tmp_path: Path):
    path = tmp_path / "links"
    path.write_bytes(b"0-0\n\xff\n\n")
    with pytest.raises(DataError, match=r"links:2 must be UTF-8 text"):
        read_gold(path, SOURCES, TARGETS)
