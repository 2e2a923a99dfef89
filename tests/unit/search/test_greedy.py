"""Greedy search of a batch is the plain loop over its sentences, for every model there is."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engines.torch_engine import TorchEngine
from dragoman.models import Model
from dragoman.search import Hypothesis, SearchInput, SearchSettings
from dragoman.search.greedy import _draw
from dragoman.text import BOS_ID, EOS_ID, PAD_ID
from testkit.presets import MODELS
from tests.unit.search.toy_models import SOURCES, eager_to_end, exhaustive, sentences, toy_engine

LIMIT = 8
GREEDY = SearchSettings(beam=1, max_length=LIMIT)
DRAWS = 4000


def plain(model: Model[Any, Any], source: Sequence[int], limit: int) -> Hypothesis:
    """One sentence, read off the protocol: nothing is batched, nothing leaves."""
    source_ids = torch.tensor([[*source, EOS_ID]])
    memory = model.encode(source_ids, torch.tensor([source_ids.size(1)]))
    state, token = model.decoder.start(memory), BOS_ID
    tokens: list[int] = []
    total, rows = 0.0, []
    while len(tokens) < limit and token != EOS_ID:
        step = model.decoder.step(torch.tensor([token]), state, memory)
        log_probs = step.log_probs[0].clone()
        log_probs[[PAD_ID, BOS_ID]] = -torch.inf
        state, token = step.state, int(log_probs.argmax())
        total += float(log_probs[token])
        tokens.append(token)
        if step.alignment is not None:
            rows.append(step.alignment.one_map(source_ids.size(1))[0, 0].float().numpy())
    written = [token for token in tokens if token != EOS_ID]
    return Hypothesis(
        written, total, np.stack(rows) if rows else None, total / len(tokens), is_finished=tokens[-1] == EOS_ID
    )


def assert_same(found: Hypothesis, wanted: Hypothesis) -> None:
    assert found.tokens == wanted.tokens
    assert found.is_finished == wanted.is_finished
    assert found.log_prob == pytest.approx(wanted.log_prob, abs=1e-9)
    assert found.score == pytest.approx(wanted.score, abs=1e-9)
    assert (found.alignment is None) == (wanted.alignment is None)
    if found.alignment is not None and wanted.alignment is not None:
        assert found.alignment.dtype == np.float32
        np.testing.assert_allclose(found.alignment, wanted.alignment, atol=1e-6)


def assert_plain(model: Model[Any, Any], sources: Sequence[Sequence[int]]) -> None:
    found = TorchEngine(model).search(sentences(sources), GREEDY, return_attention=True)
    with torch.no_grad():
        for source, (hypothesis,) in zip(sources, found, strict=True):
            assert_same(hypothesis, plain(model, source, LIMIT))


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_is_the_plain_loop_over_its_sentences(name: str) -> None:
    assert_plain(eager_to_end(name), SOURCES)


@given(
    name=st.sampled_from(MODELS),
    sources=st.lists(st.lists(st.integers(4, 10), max_size=7), min_size=1, max_size=5),
    seed=st.integers(0, 1000),
    push=st.floats(0, 4),
)
def test_any_batch_is_too(name: str, sources: list[list[int]], seed: int, push: float) -> None:
    assert_plain(eager_to_end(name, seed, push), sources)


def test_nothing_to_translate() -> None:
    assert toy_engine("luong2015-desk").search([], GREEDY) == []


def test_alignments_come_only_when_asked_for() -> None:
    ((best,),) = toy_engine("luong2015-desk").search(sentences([[5, 6]]), GREEDY)
    assert best.alignment is None


def test_a_translation_that_never_ends_is_cut() -> None:
    ((best,),) = toy_engine("luong2015-desk", push=-50.0).search(sentences([[5, 6]]), GREEDY)
    assert len(best.tokens) == LIMIT
    assert not best.is_finished


def test_without_a_limit_it_is_twice_the_source_and_20() -> None:
    settings = SearchSettings(beam=1)
    ((best,),) = toy_engine("luong2015-desk", push=-50.0).search(sentences([[5, 6]]), settings)
    assert len(best.tokens) == 24
    assert settings.limit(30, 16) == 16, "nor more than the model can write"


def frequencies(settings: SearchSettings) -> tuple[Counter[tuple[int, ...]], dict[tuple[int, ...], float]]:
    engine = toy_engine("luong2015-desk", push=2.0)
    with torch.no_grad():  # what is never written takes nothing of p
        engine.model.decoder.output.bias[[PAD_ID, BOS_ID]] = -50.0
    (found,) = engine.search([SearchInput(SOURCES[0])], settings)
    p = {tuple(each.tokens): float(np.exp(each.log_prob)) for each in exhaustive(engine, SOURCES[0], 3)}
    return Counter(tuple(each.tokens) for each in found if each.is_finished), p


def test_frequencies_are_probabilities() -> None:
    drawn = [
        frequencies(SearchSettings(sample=True, nbest=1000, seed=seed, max_length=3)) for seed in range(DRAWS // 1000)
    ]
    counted, p = sum((found for found, _ in drawn), Counter[tuple[int, ...]]()), drawn[0][1]
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


@pytest.mark.parametrize(
    "settings", [{}, {"temperature": 0.6}, {"top_k": 5}, {"top_k": 400}, {"top_p": 0.9}, {"top_p": 0.9, "top_k": 50}]
)
def test_a_token_of_a_large_vocabulary_is_that_of_the_sorted_distribution(settings: dict[str, Any]) -> None:
    search, random = SearchSettings(sample=True, **settings), np.random.default_rng(1)
    for size, spread in ((5, 1.0), (300, 4.0), (2000, 1.0), (2000, 4.0)) * 15:
        log_probs = (random.normal(size=size) * spread).round(1).astype(np.float32)  # some are equal
        log_probs[random.random(size) < 0.3] = -np.inf
        log_probs[0], uniform = 0.0, random.random()
        scores = log_probs.astype(np.float64) / search.temperature
        order = np.argsort(-scores, kind="stable")[: search.top_k or None]
        p = np.exp(scores[order]) / np.exp(scores[order]).sum()
        p = p[: int(np.searchsorted(p.cumsum(), search.top_p)) + 1]
        place = int(np.searchsorted(p.cumsum(), uniform * p.sum(), side="right"))
        assert _draw(log_probs, uniform, search) == order[min(place, len(p) - 1)]
