"""Sampling has the right frequencies and does not depend on the batch."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.search import SearchInput, SearchSettings
from dragoman.text import BOS_ID, PAD_ID
from tests.unit.search.toy_models import SOURCES, exhaustive, sentences, toy_engine

DRAWS = 4000


def frequencies(settings: SearchSettings) -> tuple[Counter[tuple[int, ...]], dict[tuple[int, ...], float]]:
    engine = toy_engine("luong2015-desk", push=2.0)
    with torch.no_grad():  # what is never written takes nothing of p
        engine.model.decoder.output.bias[[PAD_ID, BOS_ID]] = -50.0
    (found,) = engine.search([SearchInput(SOURCES[0])], settings)
    p = {tuple(each.tokens): float(np.exp(each.log_prob)) for each in exhaustive(engine, SOURCES[0], 3)}
    return Counter(tuple(each.tokens) for each in found if each.is_finished), p


def test_frequencies_are_probabilities() -> None:
    counted, p = frequencies(SearchSettings(sample=True, nbest=DRAWS, max_length=3))
    for words, share in sorted(p.items(), key=lambda item: -item[1])[:8]:
        expected = DRAWS * share
        assert abs(counted[words] - expected) < 5 * np.sqrt(expected), words


def test_a_low_temperature_is_greedy() -> None:
    engine = toy_engine("bahdanau2015-desk")
    cold = engine.search(sentences(), SearchSettings(sample=True, temperature=1e-4, max_length=9))
    greedy = engine.search(sentences(), SearchSettings(beam=1, max_length=9))
    assert [best.tokens for (best,) in cold] == [best.tokens for (best,) in greedy]


@pytest.mark.parametrize("cut", [{"top_k": 1}, {"top_p": 1e-6}])
def test_one_word_to_draw_from_is_greedy(cut: dict[str, Any]) -> None:
    engine = toy_engine("bahdanau2015-desk")
    drawn = engine.search(sentences(), SearchSettings(sample=True, max_length=9, **cut))
    greedy = engine.search(sentences(), SearchSettings(beam=1, max_length=9))
    assert [best.tokens for (best,) in drawn] == [best.tokens for (best,) in greedy]


def test_top_k_and_top_p_leave_the_unlikely_out() -> None:
    every, p = frequencies(SearchSettings(sample=True, nbest=500, max_length=3))
    few, _ = frequencies(SearchSettings(sample=True, nbest=500, max_length=3, top_k=2))
    some, _ = frequencies(SearchSettings(sample=True, nbest=500, max_length=3, top_p=0.6))
    assert len(few) < len(some) < len(every) <= len(p)


def test_a_draw_is_the_sentences_own() -> None:
    engine = toy_engine("vaswani2017-desk")
    settings = SearchSettings(sample=True, nbest=3, max_length=9)
    together = engine.search(sentences(), settings)
    for sentence, found in zip(sentences(), together, strict=True):
        (alone,) = engine.search([sentence], settings)
        assert [each.tokens for each in alone] == [each.tokens for each in found]
    other = engine.search(sentences(), settings.model_copy(update={"seed": 2}))
    assert [[e.tokens for e in row] for row in other] != [[e.tokens for e in row] for row in together]
