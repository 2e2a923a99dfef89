"""A wide beam finds the results of exhaustive search, with correct scores."""

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.search import Hypothesis, SearchInput, SearchSettings, SearchTrace
from dragoman.search.beam.algorithms import StandardBeam
from dragoman.search.beam.search import beam_search
from dragoman.text import EOS_ID
from testkit.presets import MODELS
from tests.unit.search.toy_models import SOURCES, WORDS, exhaustive, sentences, toy_engine

Penalty = Literal["average", "gnmt", "none"]
LONGEST = 4
WIDE = len(WORDS) ** (LONGEST - 1)
FAMILIES = ["luong2015-desk", "bahdanau2015-desk", "sutskever2014-desk", "xu2015-desk", "vaswani2017-desk"]


@pytest.mark.parametrize(
    ("name", "penalty"),
    [*((name, "average") for name in MODELS), *((name, penalty) for name in FAMILIES for penalty in ("gnmt", "none"))],
)
def test_a_wide_beam_is_exhaustive_search(name: str, penalty: Penalty) -> None:
    settings = SearchSettings(beam=WIDE, nbest=5, patience=None, max_length=LONGEST, length_penalty=penalty, alpha=0.7)
    engine = toy_engine(name)
    source = SOURCES[0]
    (found,) = engine.search([SearchInput(source)], settings)
    wanted = exhaustive(engine, source, LONGEST)
    weighed = sorted(wanted, key=lambda each: -weigh(each, penalty, 0.7))[:5]
    assert [each.tokens for each in found] == [each.tokens for each in weighed]
    for each, other in zip(found, weighed, strict=True):
        assert each.log_prob == pytest.approx(other.log_prob, abs=1e-9)
        assert each.score == pytest.approx(weigh(other, penalty, 0.7), abs=1e-9)


def weigh(hypothesis: Hypothesis, penalty: Penalty, alpha: float) -> float:
    length = len(hypothesis.tokens) + 1
    base = {"average": float(length), "gnmt": (5 + length) / 6, "none": 1.0}[penalty]
    return hypothesis.log_prob / math.pow(base, alpha)


@pytest.mark.parametrize("name", MODELS)
def test_a_beam_of_one_is_greedy_search(name: str) -> None:
    engine = toy_engine(name)
    settings = SearchSettings(beam=1, max_length=8)
    greedy = engine.search(sentences(), settings, return_attention=True)
    beam = beam_search(engine.start, sentences(), settings, StandardBeam(1), return_attention=True)
    for (one,), (other,) in zip(greedy, beam, strict=True):
        assert one.tokens == other.tokens
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-9)
        assert one.is_finished == other.is_finished
        if one.alignment is not None and other.alignment is not None:
            np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_scores_and_alignments_are_those_of_forced_decoding(name: str) -> None:
    engine = toy_engine(name)
    found = engine.search(sentences(), SearchSettings(beam=4, nbest=3, max_length=9), return_attention=True)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        for each in (each for each in hypotheses if each.is_finished):
            (forced,) = engine.score([source], [each.tokens], return_attention=True)
            assert each.log_prob == pytest.approx(forced.log_prob, abs=1e-5)
            assert (each.alignment is None) == (forced.alignment is None)
            if each.alignment is not None and forced.alignment is not None:
                assert each.alignment.shape == (len(each.tokens) + 1, len(source) + 1)
                np.testing.assert_allclose(each.alignment, forced.alignment, atol=1e-6)


@given(
    name=st.sampled_from(MODELS),
    sources=st.lists(st.lists(st.integers(4, 10), max_size=7), min_size=1, max_size=6),
    seed=st.integers(0, 1000),
    push=st.floats(-1, 3),
    beam=st.integers(1, 6),
)
def test_company_changes_nothing(name: str, sources: list[list[int]], seed: int, push: float, beam: int) -> None:
    engine = toy_engine(name, seed, push)
    settings = SearchSettings(beam=beam, nbest=beam, max_length=9)
    together = engine.search(sentences(sources), settings, return_attention=True)
    for source, found in zip(sources, together, strict=True):
        (alone,) = engine.search([SearchInput(source)], settings, return_attention=True)
        assert [each.tokens for each in found] == [each.tokens for each in alone]
        for one, other in zip(found, alone, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-9)
            if one.alignment is not None and other.alignment is not None:
                np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-6)


def test_the_best_comes_first_and_they_differ() -> None:
    for hypotheses in toy_engine("luong2015-desk").search(sentences(), SearchSettings(beam=5, nbest=5, max_length=9)):
        scores = [each.score for each in hypotheses if each.is_finished]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(each.tokens) for each in hypotheses}) == len(hypotheses) == 5


def test_more_patience_never_finds_worse() -> None:
    engine = toy_engine("bahdanau2015-desk")
    hasty, patient, tireless = (
        engine.search(sentences(), SearchSettings(beam=4, patience=patience, max_length=12))
        for patience in (0.25, 1.0, None)
    )
    for (one,), (two,), (three,) in zip(hasty, patient, tireless, strict=True):
        assert one.score <= two.score <= three.score


def test_those_that_were_cut_come_last() -> None:
    found = toy_engine("luong2015-desk", push=1.0).search(sentences(), SearchSettings(beam=5, nbest=5, max_length=3))
    flags = [[each.is_finished for each in hypotheses] for hypotheses in found]
    assert any(False in row for row in flags)
    assert any(True in row for row in flags)
    assert all(row == sorted(row, reverse=True) for row in flags)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_coverage_penalty_weighs_what_was_not_looked_at(name: str) -> None:
    engine = toy_engine(name)
    settings = SearchSettings(beam=WIDE, patience=None, max_length=3, coverage_penalty=0.4)
    (found,) = engine.search([SearchInput(SOURCES[0])], settings)
    (best,) = found
    weighed = []
    for each in exhaustive(engine, SOURCES[0], 3):
        (forced,) = engine.score([SOURCES[0]], [each.tokens], return_attention=True)
        cover = 0.0
        if forced.alignment is not None:
            seen = forced.alignment[:, : len(SOURCES[0])].sum(0).clip(np.finfo(np.float32).tiny, 1.0)
            cover = 0.4 * float(np.log(seen).sum())
        weighed.append((each.score + cover, each.tokens))
    score, tokens = max(weighed)
    assert best.tokens == tokens
    assert best.score == pytest.approx(score, abs=1e-5)


def test_the_tree_holds_every_translation_that_was_found() -> None:
    trace = SearchTrace()
    settings = SearchSettings(beam=3, nbest=3, max_length=9)
    found = toy_engine("luong2015-desk").search(sentences(), settings, trace=trace)
    for number, hypotheses in enumerate(found):
        tree = trace.trees[number]
        paths = {}
        for node in tree:
            words, parent = [node.token], node.parent
            while parent >= 0:
                words.append(tree[parent].token)
                parent = tree[parent].parent
            paths[tuple(reversed(words))] = node
        for each in (each for each in hypotheses if each.is_finished):
            node = paths[(*each.tokens, EOS_ID)]
            assert node.is_end
            assert node.log_prob == pytest.approx(each.log_prob)
            assert node.step == len(each.tokens)
    plain = toy_engine("luong2015-desk").search(sentences(), settings)
    assert [[each.tokens for each in row] for row in plain] == [[each.tokens for each in row] for row in found]
