"""What the report on word alignment chooses, and on what: never on the sentences that it is measured on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.alignment.__main__ import best_way, headline, links_of, model_errors, select_map
from benchmarks.lengths import place_of
from dragoman.api.alignment.word_attention import WordAttention
from dragoman.config.alignment import AttentionChoice
from dragoman.evaluation.results import LengthBin
from dragoman.evaluation.word_alignment import GoldLinks

WORDS = ("a", "b")
STRAIGHT = WordAttention(WORDS, WORDS, np.eye(2), ((0, 0), (1, 1)))
SLIPPED = WordAttention(WORDS, WORDS, np.array([[1.0, 0.0], [1.0, 0.0]]), ((0, 0), (0, 1)))
FEW, MANY = GoldLinks(frozenset({(0, 0)})), GoldLinks(frozenset({(0, 0), (1, 1), (1, 0)}))
FIRST, SECOND = AttentionChoice(1, None, "predicted"), AttentionChoice(2, None, "posterior")


def test_ways():
    assert links_of([STRAIGHT], [SLIPPED], None) == [((0, 0), (1, 1))]
    assert links_of([STRAIGHT], [SLIPPED], "intersection") == [((0, 0),)]
    assert links_of([STRAIGHT], [SLIPPED], "union") == [((0, 0), (1, 0), (1, 1))]


def test_the_way_is_that_of_the_sentences_given():
    assert best_way([STRAIGHT], [SLIPPED], [FEW]) == "intersection"
    assert best_way([STRAIGHT], [SLIPPED], [MANY]) == "union"


def test_maps_are_chosen_on_one_half_and_measured_on_the_other():
    """In the first half the first map is right, in the second the second one: each half gets the other's, and errs."""
    maps = {FIRST: [STRAIGHT, SLIPPED], SECOND: [SLIPPED, STRAIGHT]}
    sentences: Any = SimpleNamespace(
        gold=[GoldLinks(frozenset({(0, 0), (1, 1)}))] * 2, halves=(slice(0, 1), slice(1, 2))
    )
    assert select_map(maps, sentences.gold, slice(0, 1), ["predicted", "posterior"]) == FIRST
    assert select_map(maps, sentences.gold, slice(1, 2), ["predicted", "posterior"]) == SECOND
    assert select_map(maps, sentences.gold, slice(1, 2), ["predicted"]) == FIRST
    others = {AttentionChoice(1, None, reading): [STRAIGHT, STRAIGHT] for reading in ("input", "lexical")}
    found = model_errors(maps | others, None, sentences)
    assert found["input"]["aer"] == 0
    assert found["predicted"]["aer"] == found["posterior"]["aer"] == 0.25
    assert found["chosen map"]["aer"] == 0.5


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
    bins = [LengthBin(low, high, 1, ()) for low, high in ((10, 19), (20, 29), (30, None))]
    assert place_of(words, bins) == pytest.approx(expected)
