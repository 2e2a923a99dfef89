"""Noise of words: a function of the text, the settings and the line number, within its limits."""

from __future__ import annotations

import gzip
import hashlib
import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman.api.synthetic import (
    LINES,
    RECORD,
    noisy,
    removal_reason,
    write_corpus,
)
from dragoman.config.synthetic import BLANK, NoiseSettings, PairFilters
from dragoman.config.validation_errors import validate
from dragoman.errors import ConfigError

TEXT = " ".join(f"w{number}" for number in range(20))


def settings(drop: float = 0.0, blank: float = 0.0, swap: int = 0, seed: int = 1) -> NoiseSettings:
    return NoiseSettings(noise=True, noise_drop=drop, noise_blank=blank, noise_swap=swap, noise_seed=seed)


def test_no_noise_changes_nothing():
    assert noisy(TEXT, settings(), 3) == TEXT


def test_draws_depend_on_seed_and_number_alone():
    every = NoiseSettings(noise=True)
    assert noisy(TEXT, every, 7) == noisy(TEXT, every, 7)
    assert len({noisy(TEXT, every, number) for number in range(20)}) == 20
    assert noisy(TEXT, every, 7) != noisy(TEXT, settings(0.1, 0.1, 3, seed=2), 7)


def test_words_move_by_at_most_the_limit():
    farthest = 0
    for number in range(200):
        words = noisy(TEXT, settings(swap=3), number).split()
        assert sorted(words) == sorted(TEXT.split())
        farthest = max([farthest, *(abs(int(word[1:]) - place) for place, word in enumerate(words))])
    assert farthest == 3


def test_rates_are_those_of_the_settings():
    dropped = [20 - len(noisy(TEXT, settings(drop=0.1), number).split()) for number in range(500)]
    blanks = [noisy(TEXT, settings(blank=0.2), number).count(BLANK) for number in range(500)]
    assert statistics.fmean(dropped) == pytest.approx(2, abs=0.25)
    assert statistics.fmean(blanks) == pytest.approx(4, abs=0.35)


def test_a_text_is_never_empty():
    assert {noisy("one", settings(drop=0.99), number) for number in range(50)} == {"one"}
    assert noisy("", settings(drop=0.99), 0) == ""


def test_scripts_without_spaces_get_none():
    assert noisy("我用Python写 code", settings(), 0) == "我用Python写code"
    assert " " not in noisy("我们今天去公园", settings(drop=0.3, swap=3), 0)


def test_settings_of_noise_require_noise():
    with pytest.raises(ConfigError, match="noise_drop needs noise"):
        validate(NoiseSettings, {"noise_drop": 0.3})


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
