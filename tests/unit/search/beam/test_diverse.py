"""Diverse beam search: groups, and what they cost each other."""

import pytest

from dragoman.search import SearchSettings
from tests.unit.search.toy_models import SOURCES, sentences, toy_engine


def test_groups_that_cost_each_other_nothing_are_smaller_beams_side_by_side() -> None:
    engine = toy_engine("luong2015-desk")
    small = engine.search(sentences(), SearchSettings(beam=2, nbest=2, max_length=9))
    found = engine.search(
        sentences(), SearchSettings(beam=6, nbest=6, groups=3, diversity=0.0, patience=None, max_length=9)
    )
    for one, many in zip(small, found, strict=True):
        assert many[0].score >= one[0].score - 1e-9


def test_a_cost_makes_first_words_differ() -> None:
    engine = toy_engine("luong2015-desk", push=-2.0)

    def first_words(diversity: float) -> list[int]:
        settings = SearchSettings(beam=4, nbest=4, groups=4, diversity=diversity, max_length=6)
        return [len({each.tokens[0] for each in found}) for found in engine.search(sentences(), settings)]

    assert first_words(100.0) == [4] * len(SOURCES)
    assert sum(first_words(0.0)) < 4 * len(SOURCES)


@pytest.mark.parametrize("diversity", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("push", [-1.0, 1.5])
def test_no_translation_is_found_twice(diversity: float, push: float) -> None:
    settings = SearchSettings(beam=4, nbest=4, groups=4, diversity=diversity, max_length=9)
    for found in toy_engine("luong2015-desk", push=push).search(sentences(), settings):
        ended = [tuple(each.tokens) for each in found if each.is_finished]
        assert len(set(ended)) == len(ended)


def test_scores_leave_the_cost_out() -> None:
    engine = toy_engine("vaswani2017-desk")
    settings = SearchSettings(beam=4, nbest=4, groups=2, diversity=3.0, max_length=9)
    for source, found in zip(SOURCES, engine.search(sentences(), settings), strict=True):
        for each in (each for each in found if each.is_finished):
            (forced,) = engine.score([source], [each.tokens])
            assert each.log_prob == pytest.approx(forced.log_prob, abs=1e-4)
