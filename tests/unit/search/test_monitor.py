"""A monitor receives final tokens and can cancel a sentence between steps."""

from itertools import pairwise

import pytest

from dragoman.search import SearchSettings
from tests.unit.search.toy_models import sentences, toy_engine

SEARCHES = [
    pytest.param(SearchSettings(beam=1, max_length=12), id="greedy"),
    pytest.param(SearchSettings(beam=4, max_length=12), id="beam"),
    pytest.param(SearchSettings(beam=4, groups=2, max_length=12), id="diverse"),
]
DRAWS = pytest.param(SearchSettings(sample=True, nbest=3, max_length=12), id="sampling")


class Onlooker:
    """Records reported tokens, and cancels sentences after some words."""

    def __init__(self, off_after: dict[int, int] | None = None) -> None:
        self.told: dict[int, list[list[int]]] = {}
        self.off_after = off_after or {}
        self.asked: dict[int, int] = {}
        self.deaf: set[int] = set()

    def is_cancelled(self, sentence: int) -> bool:
        self.asked[sentence] = self.asked.get(sentence, 0) + 1
        return self.asked[sentence] > self.off_after.get(sentence, 10_000)

    def is_streamed(self, sentence: int) -> bool:
        return sentence not in self.deaf

    def on_tokens(self, sentence: int, tokens: list[int]) -> None:
        self.told.setdefault(sentence, []).append(tokens)


@pytest.mark.parametrize("settings", SEARCHES)
def test_who_does_not_listen_is_not_told(settings: SearchSettings) -> None:
    engine, onlooker = toy_engine("luong2015-desk", push=0.5), Onlooker()
    engine.search(sentences(), settings, monitor=onlooker)
    assert onlooker.told
    listened = Onlooker()
    listened.deaf = {min(onlooker.told)}
    engine.search(sentences(), settings, monitor=listened)
    assert listened.told == {number: told for number, told in onlooker.told.items() if number not in listened.deaf}


@pytest.mark.parametrize("settings", SEARCHES)
@pytest.mark.parametrize("name", ["luong2015-desk", "vaswani2017-desk"])
def test_what_is_told_grows_into_the_translation(settings: SearchSettings, name: str) -> None:
    engine, onlooker = toy_engine(name, push=0.5), Onlooker()
    found = engine.search(sentences(), settings, monitor=onlooker)
    for number, (best, *_) in enumerate(found):
        told = onlooker.told.get(number, [[]])
        assert told[-1] == best.tokens
        for before, after in pairwise(told):
            assert after[: len(before)] == before
            assert len(after) > len(before)


@pytest.mark.parametrize("settings", [*SEARCHES, DRAWS])
def test_a_sentence_that_is_called_off_leaves_the_others_alone(settings: SearchSettings) -> None:
    engine = toy_engine("luong2015-desk", push=-1.0)
    onlooker = Onlooker({2: 3, 5: 1})
    found = engine.search(sentences(), settings, monitor=onlooker)
    plain = engine.search(sentences(), settings)
    for number, hypotheses in enumerate(found):
        if number in (2, 5):
            assert hypotheses == []
            assert onlooker.asked[number] == onlooker.off_after[number] + 1, "it is not asked about again"
        else:
            assert [each.tokens for each in hypotheses] == [each.tokens for each in plain[number]]


@pytest.mark.parametrize("settings", SEARCHES)
def test_one_step_after_all_are_called_off_the_search_is_over(settings: SearchSettings) -> None:
    engine = toy_engine("luong2015-desk", push=-50.0)
    onlooker = Onlooker(dict.fromkeys(range(6), 2))
    assert engine.search(sentences(), settings, monitor=onlooker) == [[]] * 6
    assert max(onlooker.asked.values()) == 3
