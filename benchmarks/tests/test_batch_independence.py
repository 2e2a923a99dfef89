"""The batch independence benchmark: its counts, page and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from benchmarks.batch_independence import CLOSE, NARROW, SHOWN, SIZES, USUAL, Way, page, run, settings_of
from dragoman.search import Hypothesis, SearchInput, SearchSettings

if TYPE_CHECKING:
    from dragoman.engines.protocol import Engine

SOURCES = [[number % 7 + 4] * (number % 5 + 1) for number in range(40)]


class Shaky:
    """Repeats its source; in a batch, translations or maps of the sentences that begin with 5 are off by a gap."""

    name = "shaky"

    def __init__(self, gap: float = 0.0, what: str = "text") -> None:
        self.gap, self.what = gap, what

    def search(self, sentences: Sequence[SearchInput], *_: Any, **__: Any) -> list[list[Hypothesis]]:
        return [[self._found(list(sentence.tokens), len(sentences) > 1)] for sentence in sentences]

    def _found(self, source: list[int], in_company: bool) -> Hypothesis:
        is_off = self.gap > 0 and in_company and source[0] == 5
        tokens = [*source, 9] if is_off and self.what == "text" else source
        weights = np.full((len(tokens), 2), 0.5)
        if is_off and self.what == "links":
            weights[:, 1] += self.gap
        return Hypothesis(tokens, -1.0, score=-1.0 + (self.gap if is_off else 0.0), is_finished=True, alignment=weights)


def way(engine: Shaky) -> Way:
    return Way("tiny", cast("Engine", engine), USUAL, SearchSettings(beam=1))


def test_nothing_differs():
    row = run(way(Shaky()), SOURCES)
    assert (row.compared, row.cases, row.is_good) == (len(SIZES) * 40, [], True)
    text = page([row], 1, 40)
    assert "All gaps are below 0.0001" in text
    assert "| tiny | shaky | usual | 1 | 200 | 0 | – | 3.0 |" in text
    assert "What differed" not in text


@pytest.mark.parametrize("what", ["text", "links"])
def test_what_differs_is_shown(what: str):
    row = run(way(Shaky(CLOSE / 2, what)), SOURCES)
    assert len(row.cases) == len(SIZES) * 6
    assert row.is_good
    assert {case.what for case in row.cases} == {what}
    text = page([row], 1, 40)
    assert f"What differed, the first {SHOWN} of 30:" in text
    assert text.count(f"| {what} | 5.0e-05 |") == SHOWN
    assert row.figures()["different"] == 30


@pytest.mark.parametrize("gap", [CLOSE * 1.01, float("inf")])
def test_a_gap_that_is_too_wide(gap: float):
    row = run(way(Shaky(gap)), SOURCES)
    assert not row.is_good
    assert "**NOT all gaps are below**" in page([row], 1, 40)


def test_limits():
    assert settings_of(4, USUAL, is_trained=True) == SearchSettings(beam=4)
    assert settings_of(4, USUAL, is_trained=False) == SearchSettings(beam=4, max_length=40)
    assert settings_of(1, NARROW, is_trained=True) == SearchSettings(beam=1, min_length=6, max_length=40)
