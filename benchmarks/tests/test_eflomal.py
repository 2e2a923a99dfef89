"""The statistical aligner of the alignment benchmark: stored links are read again. Nothing is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.alignment.eflomal import eflomal_errors, eflomal_links, gold_of, kept_files
from dragoman.errors import DataError
from dragoman.evaluation.word_alignment import GoldLinks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {"gold.de": "eins zwei\ndrei\n", "gold.en": "one two\nthree four\n", "gold.links": "1-1 2p2\n1-2\n"}
    texts |= {"train.de": "null\n" + texts["gold.de"], "train.en": "zero\n" + texts["gold.en"]}
    (tmp_path / "de-en").mkdir()
    for name, text in texts.items():
        (tmp_path / "de-en" / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_gold(folder: Path):
    assert gold_of(folder, "de-en") == [
        GoldLinks(frozenset({(0, 0)}), frozenset({(1, 1)})),
        GoldLinks(frozenset({(0, 1)})),
    ]
    (folder / "de-en" / "gold.links").write_text("1-1\n2-2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"gold\.links:2: the source word of a link must be from 1 to 1, got 2"):
        gold_of(folder, "de-en")


def test_links_that_are_kept(folder: Path):
    files = kept_files(folder, folder, "de-en")
    for name, text in {"forward": "0-0 1-1\n0-0\n", "reverse": "0-0\n0-1\n"}.items():
        files[name].write_text(text, encoding="utf-8")
    found = eflomal_links(folder, "de-en", keep=folder)
    assert found["forward"] == [((0, 0), (1, 1)), ((0, 0),)]
    assert found["intersection"] == [((0, 0),), ()]
    assert found["grow-diag-final"][1] == ((0, 0), (0, 1))
    errors = eflomal_errors(found, gold_of(folder, "de-en"))
    assert errors["reverse"].aer == 0
    assert errors["intersection"].aer == pytest.approx(1 - 2 / 3)


def test_links_of_another_text_are_not_taken(folder: Path):
    before = kept_files(folder, folder, "de-en")
    assert all(re.fullmatch(rf"de-en\.[0-9a-f]{{12}}\.{name}\.links", path.name) for name, path in before.items())
    assert kept_files(folder, folder, "de-en") == before
    for side in ("de", "en"):
        with (folder / "de-en" / f"train.{side}").open("a", encoding="utf-8") as file:
            file.write("x\n")
        after = kept_files(folder, folder, "de-en")
        assert set(after.values()).isdisjoint(before.values())
        before = after
