"""Pairs of translated lines, the reasons why others are removed, and the record."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman.api.synthetic.settings import PairFilters
from dragoman.api.synthetic.synthetic_corpus import LINES, RECORD, nearest, removal_reason, write_corpus


def line(source: str = "ein Hund", text: str = "a dog", **others: Any) -> dict[str, Any]:
    values = {"log_prob": -3.0, "tokens": ["▁a", "▁dog"], "is_truncated": False}
    return {"source": source, "text": text, **values, **others}


@pytest.mark.parametrize(
    ("translated", "filters", "reason"),
    [
        (line(), {}, None),
        (line(source="  "), {}, "empty"),
        (line(text=""), {}, "empty"),
        (line(source="12", text="12", tokens=[]), {}, "not translated"),
        (line(is_truncated=True), {}, "translation without an end"),
        (line(), {"min_score": -1.0}, None),  # -3 for two tokens and the end
        (line(), {"min_score": -0.99}, "score"),
        (line(log_prob=None), {"min_score": -99.0}, "score"),
        (line(round_trip={"chrf": 40.0}), {"min_chrf": 40.0}, None),
        (line(round_trip={"chrf": 39.9}), {"min_chrf": 40.0}, "round trip"),
    ],
)
def test_reasons(translated: dict[str, Any], filters: dict[str, float], reason: str | None):
    assert removal_reason(translated, PairFilters(**filters)) == reason


def test_files_and_record(tmp_path: Path):
    lines = [line(), line(text=""), line("zwei\u2028Hunde", "two dogs"), line(is_truncated=True)]
    with gzip.open(tmp_path / LINES, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in lines)
    (tmp_path / RECORD).write_text("old", encoding="utf-8")
    numbers = []

    def make_pair(number: int, each: Mapping[str, Any]) -> tuple[str, str] | str:
        numbers.append(number)
        return removal_reason(each, PairFilters()) or (each["text"], each["source"])

    found = write_corpus(tmp_path, ("en", "de"), make_pair, {"kind": "test"})

    assert numbers == [0, 1, 2, 3]
    assert [path.name for path in found.files] == ["synthetic.en", "synthetic.de"]
    assert found.files[0].read_bytes() == b"a dog\ntwo dogs\n"
    assert found.files[1].read_text(encoding="utf-8") == "ein Hund\nzwei\u2028Hunde\n"
    record = json.loads((tmp_path / RECORD).read_text(encoding="utf-8"))
    assert record["kind"] == "test"
    removed = {"empty": 1, "translation without an end": 1}
    assert record["pairs"] == {"read": 4, "kept": 2, "removed": removed}
    for path in found.files:
        assert record["files"][path.name]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_failure_leaves_no_record(tmp_path: Path):
    with gzip.open(tmp_path / LINES, "wt", encoding="utf-8") as file:
        file.write(json.dumps(line()) + "\n")
    (tmp_path / RECORD).write_text("old", encoding="utf-8")

    def fail(number: int, each: Mapping[str, Any]) -> str:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_corpus(tmp_path, ("", ""), fail, {})
    assert [path.name for path in tmp_path.iterdir()] == [LINES]


def test_nearest_hypothesis():
    candidates = [
        {"text": text, "is_truncated": cut} for text, cut in (("a cat", False), ("a dog", True), ("a dig", False))
    ]
    assert nearest(line(nbest=candidates), "a dog")["text"] == "a dig"
    assert nearest(line(nbest=candidates), "a cat")["text"] == "a cat"
    assert nearest(line(nbest=candidates[1:2]), "a dog") == line(nbest=candidates[1:2])
    assert nearest(line(), "a cat")["text"] == "a dog"
