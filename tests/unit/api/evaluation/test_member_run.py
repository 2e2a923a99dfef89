"""A member's translations, and what is measured while they are made."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from dragoman.api.evaluation import member_run as evaluated_member
from dragoman.api.evaluation.member_run import open_member, translate_test_set
from dragoman.api.translation.translator import Translator
from dragoman.errors import DataError
from dragoman.progress import NoProgress
from tests.unit.cli.clock import Clock
from tests.unit.cli.tiny_translators import tiny_bundle

SOURCES = [f"ab cd {number}." for number in range(10)]


class Slow:
    """A translator whose calls take 10 seconds for the first, then one second per sentence."""

    engine_reason = "slow"

    def __init__(self, clock: Clock) -> None:
        self.clock, self.calls = clock, list[list[str]]()

    def translate(self, texts: Sequence[str], **_: object) -> list[Any]:
        self.clock.now += len(texts) + (0 if self.calls else 10)
        self.calls.append(list(texts))
        return [type("Line", (), {"text": f"{text}\nx", "flags": (), "is_truncated": False}) for text in texts]


def test_the_first_call_and_what_comes_after_are_not_in_the_time(monkeypatch: pytest.MonkeyPatch):
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)

    def late(_: str) -> int:
        clock.now += 100
        return 3

    monkeypatch.setattr(evaluated_member, "count_words", late)
    slow = Slow(clock)
    found = translate_test_set(cast("Translator", slow), SOURCES, flags=False, perturb=False, progress=NoProgress())
    assert found.throughput is not None
    assert (found.throughput.seconds, found.throughput.sentences, found.throughput.source_words) == (10, 10, 30)
    assert found.hypotheses == [f"{text} x" for text in SOURCES]  # a line each
    assert [len(call) for call in slow.calls] == [4, 10]


def test_what_a_bundle_says_of_itself():
    member = open_member(tiny_bundle(), "mine", 3)
    assert member.bundle is not None
    assert (member.directions, member.seed) == ((), member.bundle.config.training.seed)
    parameters = member.parameters()
    assert parameters is not None
    assert parameters > 1000


def test_a_file_of_translations(tmp_path: Path):
    path = tmp_path / "out"
    path.write_text("a\nb\n", encoding="utf-8")
    member = open_member(path, "mine", 2)
    assert (member.lines, member.parameters(), member.directions, member.seed) == (("a", "b"), None, (), None)
    with pytest.raises(DataError, match="one translation per test sentence, 1, got 2 lines; translate"):
        open_member(path, "mine", 1)
