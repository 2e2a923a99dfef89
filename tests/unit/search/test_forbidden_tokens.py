"""Rules of what may be written: shortest, prefix, no repeats."""

import math
from typing import Any

import pytest

from dragoman.errors import ConfigError
from dragoman.search import SearchInput, SearchSettings
from tests.unit.search.toy_models import SOURCES, WORDS, sentences, toy_engine

BOTH = [pytest.param(1, id="greedy"), pytest.param(4, id="beam")]


@pytest.mark.parametrize("beam", BOTH)
def test_no_translation_is_shorter_than_asked(beam: int) -> None:
    engine = toy_engine("luong2015-desk", push=6.0)
    short = engine.search(sentences(), SearchSettings(beam=beam, max_length=9))
    assert min(len(best.tokens) for best, *_ in short) < 3
    found = engine.search(sentences(), SearchSettings(beam=beam, min_length=3, max_length=9))
    assert min(len(best.tokens) for best, *_ in found) == 3


@pytest.mark.parametrize("beam", BOTH)
def test_a_translation_begins_with_its_prefix(beam: int) -> None:
    engine = toy_engine("bahdanau2015-desk")
    asked = [SearchInput(source, prefix=[5, 9, 5][:number]) for number, source in enumerate(SOURCES)]
    found = engine.search(asked, SearchSettings(beam=beam, max_length=9))
    for sentence, (best, *_) in zip(asked, found, strict=True):
        assert best.tokens[: len(sentence.prefix)] == list(sentence.prefix)
        if best.is_finished:
            (forced,) = engine.score([sentence.tokens], [best.tokens])
            assert best.log_prob == pytest.approx(forced.log_prob, abs=1e-6), "the prefix counts"


@pytest.mark.parametrize("beam", BOTH)
@pytest.mark.parametrize("ngram", [1, 2, 3])
def test_no_run_is_written_twice(beam: int, ngram: int) -> None:
    engine = toy_engine("luong2015-desk", push=-4.0)

    def repeats(settings: SearchSettings) -> int:
        found = engine.search(sentences(), settings)
        runs = [
            [tuple(best.tokens[place : place + ngram]) for place in range(len(best.tokens) - ngram + 1)]
            for best, *_ in found
        ]
        return sum(len(row) - len(set(row)) for row in runs)

    assert repeats(SearchSettings(beam=beam, max_length=16)) > 0
    assert repeats(SearchSettings(beam=beam, max_length=16, no_repeat_ngram=ngram)) == 0


@pytest.mark.parametrize("beam", BOTH)
def test_a_prefix_may_repeat_itself(beam: int) -> None:
    engine = toy_engine("luong2015-desk")
    settings = SearchSettings(beam=beam, no_repeat_ngram=1, max_length=9)
    for best, *_ in engine.search(sentences(prefix=[5, 5, 5]), settings):
        assert best.tokens[:3] == [5, 5, 5]
        assert len(set(best.tokens[2:])) == len(best.tokens[2:])
        assert best.score > -math.inf


@pytest.mark.parametrize("beam", BOTH)
def test_a_prefix_is_never_cut(beam: int) -> None:
    found = toy_engine("luong2015-desk").search(sentences(prefix=[5, 6, 5]), SearchSettings(beam=beam, max_length=2))
    assert [best.tokens for best, *_ in found] == [[5, 6, 5]] * len(SOURCES)


@pytest.mark.parametrize("settings", [{"beam": 1}, {"sample": True}, {"beam": 4}])
def test_where_nothing_may_be_written_the_translation_is_cut(settings: dict[str, Any]) -> None:
    """Nine words and no end: after each was written once, none is left."""
    engine = toy_engine("luong2015-desk")
    asked = SearchSettings.model_validate({**settings, "no_repeat_ngram": 1, "min_length": 30, "max_length": 40})
    for found in engine.search(sentences(), asked):
        assert found
        for best in found:
            assert sorted(best.tokens) == sorted(WORDS)
            assert not best.is_finished
            assert best.score > -math.inf


def test_settings_that_do_not_fit_each_other() -> None:
    with pytest.raises(ConfigError, match="min_length must be less than max_length, 4, which counts the end, got 4"):
        SearchSettings(min_length=4, max_length=4)
    with pytest.raises(ConfigError, match="seed must be greater than or equal to 0, got -1"):
        SearchSettings(seed=-1)
    with pytest.raises(ConfigError, match="nbest must be at most the beam, 2, got 3"):
        SearchSettings(beam=2, nbest=3)
    with pytest.raises(ConfigError, match="groups must divide the beam, 5, got 2"):
        SearchSettings(beam=5, groups=2)
