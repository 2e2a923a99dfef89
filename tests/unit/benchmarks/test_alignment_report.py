"""What the report on word alignment chooses, and on what: never on the sentences that it is measured on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.alignment.__main__ import Half, Maps, best_way, headline, links_of, measured
from benchmarks.lengths import place_of
from dragoman.api.aligning import WordMap
from dragoman.api.attention import AttentionChoice
from dragoman.evaluation.alignment_error import Gold
from dragoman.evaluation.report import LengthScores

WORDS = ("a", "b")
STRAIGHT = WordMap(WORDS, WORDS, np.eye(2), ((0, 0), (1, 1)))
SLIPPED = WordMap(WORDS, WORDS, np.array([[1.0, 0.0], [1.0, 0.0]]), ((0, 0), (0, 1)))
MAPS: Maps = [(STRAIGHT, SLIPPED)]
FEW, MANY = Gold(frozenset({(0, 0)})), Gold(frozenset({(0, 0), (1, 1), (1, 0)}))


def test_ways():
    assert links_of(MAPS, None) == [((0, 0), (1, 1))]
    assert links_of(MAPS, "intersection") == [((0, 0),)]
    assert links_of(MAPS, "union") == [((0, 0), (1, 0), (1, 1))]


def test_the_way_is_that_of_the_sentences_given():
    assert best_way(MAPS, [FEW]) == "intersection"
    assert best_way(MAPS, [MANY]) == "union"


def test_each_half_is_measured_with_its_own_way():
    halves = [Half(slice(place, None, 2), AttentionChoice(), None, MAPS) for place in (0, 1)]
    gold = [FEW, MANY]
    assert measured(halves, ["intersection", "union"], gold).aer == 0
    assert measured(halves, ["union", "intersection"], gold).aer > 0
    assert measured(halves, [None, None], gold).found == 4


def test_the_headline_takes_no_row_that_was_chosen_on_the_gold():
    figures: dict[str, Any] = {
        "luong": {"chosen map": {"aer": 0.3}, "chosen way": {"aer": 0.25}, "union": {"aer": 0.1}},
        "transformer": {"usual map": {"aer": 0.05}, "chosen map": {"aer": 0.28}},
        "eflomal": {"grow-diag": {"aer": 0.18}},
    }
    text = headline(figures, "de-en")
    assert "luong **0.250**, transformer **0.280**" in text
    assert "The best of these 2, picked afterwards, is luong." in text
    assert "0.100" not in text
    assert headline({"eflomal": figures["eflomal"]}, "de-en") == "No model is trained yet."


@pytest.mark.parametrize(("words", "expected"), [(25, 1.1), (29, 1.5), (9, -0.5), (70, 2.5)])
def test_where_a_length_lies_on_the_axis(words: int, expected: float):
    bins = [LengthScores(low, high, 1, ()) for low, high in ((10, 19), (20, 29), (30, None))]
    assert place_of(words, bins) == pytest.approx(expected)
