"""A member's translations, and what is measured while they are made."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from dragoman.api import evaluated_member
from dragoman.api.counting import Counting
from dragoman.api.evaluated_member import open_subject, translated
from dragoman.api.translator import Translator
from dragoman.data.progress import Silent
from dragoman.errors import DataError
from tests.unit.cli.clock import Clock
from tests.unit.cli.tiny_translators import tiny_bundle

SOURCES = [f"ab cd {number}." for number in range(10)]


class Slow:
    """A translator whose calls take 10 seconds for the first, then one a sentence."""

    why = "slow"

    def __init__(self, clock: Clock) -> None:
        self.clock, self.calls = clock, list[list[str]]()

    def translate_batch(self, texts: Sequence[str], **_: object) -> list[Any]:
        self.clock.now += len(texts) + (0 if self.calls else 10)
        self.calls.append(list(texts))
        return [type("Line", (), {"text": f"{text}\nx", "flags": (), "is_truncated": False}) for text in texts]


def test_the_first_call_and_what_comes_after_are_not_in_the_time(monkeypatch: pytest.MonkeyPatch):
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)

    def late(_: str) -> int:
        clock.now += 100
        return 3

    monkeypatch.setattr(evaluated_member, "source_length", late)
    slow = Slow(clock)
    with Counting(SOURCES, metrics=("bleu",), language="") as counting:
        found = translated(
            cast("Translator", slow), SOURCES, flags=False, probes=False, progress=Silent(), counting=counting
        )
        assert len(counting.statistics()[0]) == len(SOURCES)
    assert found.speed is not None
    assert (found.speed.seconds, found.speed.sentences, found.speed.source_words) == (10, 10, 30)
    assert found.hypotheses == [f"{text} x" for text in SOURCES]  # a line each
    assert [len(call) for call in slow.calls] == [4, 10]


def test_what_a_bundle_says_of_itself():
    subject = open_subject(tiny_bundle(), "mine", 3)
    assert subject.bundle is not None
    assert (subject.languages, subject.seed) == (None, subject.bundle.config.training.seed)
    parameters = subject.parameters()
    assert parameters is not None
    assert parameters > 1000


def test_a_file_of_translations(tmp_path: Path):
    path = tmp_path / "out"
    path.write_text("a\nb\n", encoding="utf-8")
    subject = open_subject(path, "mine", 2)
    assert (subject.lines, subject.parameters(), subject.languages, subject.seed) == (("a", "b"), None, None, None)
    with pytest.raises(DataError, match="as many translations as the test set has sentences, 1, got 2 lines; see"):
        open_subject(path, "mine", 1)
