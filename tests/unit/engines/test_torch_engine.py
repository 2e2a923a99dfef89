"""The reference engine: scores in one pass are those of steps, and bfloat16 is close."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.data.batch import Batch
from dragoman.engines.protocol import IncrementalEngine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.search import SearchSettings
from dragoman.text import BOS_ID, EOS_ID
from testkit.presets import MODELS
from tests.unit.engines.tiny_recurrent import tiny_recurrent
from tests.unit.engines.tiny_transformers import tiny_transformer
from tests.unit.search.toy_models import SOURCES, sentences, toy_engine

TARGETS = [[7, 7, 5], [4], [], [9, 8, 5, 4], [10, 10], [5]]


@pytest.mark.parametrize("name", MODELS)
def test_scores_in_one_pass_are_those_of_steps(name: str) -> None:
    engine = toy_engine(name)
    once = engine.score(SOURCES, TARGETS, return_attention=True)
    by_steps = IncrementalEngine.score(engine, SOURCES, TARGETS, return_attention=True)
    for one, other, source, target in zip(once, by_steps, SOURCES, TARGETS, strict=True):
        assert one.tokens == other.tokens == target
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-9)
        assert one.score == pytest.approx(other.score, abs=1e-9)
        assert (one.alignment is None) == (other.alignment is None)
        if one.alignment is not None and other.alignment is not None:
            assert one.alignment.shape == (len(target) + 1, len(source) + 1)
            np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-6)


def test_nothing_to_score() -> None:
    engine = toy_engine("luong2015-desk")
    assert engine.score([], []) == engine.attention([], []) == engine.likelihoods([], []) == []


@pytest.mark.parametrize("name", MODELS)
def test_every_map_of_a_pair_is_the_same_alone_and_in_company(name: str) -> None:
    engine = toy_engine(name)
    scored = engine.score(SOURCES, TARGETS, return_attention=True)
    for return_attention in (engine.attention, engine.likelihoods):
        together = return_attention(SOURCES, TARGETS)
        for source, target, found, score in zip(SOURCES, TARGETS, together, scored, strict=True):
            (alone,) = return_attention([source], [target])
            assert (found is None) == (alone is None) == (score.alignment is None)
            if found is not None and alone is not None:
                assert found.shape[-2:] == (len(target) + 1, len(source) + 1)
                np.testing.assert_allclose(found, alone, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_where_there_is_one_place_a_step_sees_no_less(name: str) -> None:
    """A source of nothing but its end: one place alone is all there is, and its likelihood is that of the word."""
    engine = toy_engine(name)
    (found,), (scored,) = engine.likelihoods([[]], [[7, 5]]), engine.score([[]], [[7, 5]])
    if found is not None:
        assert found.sum() == pytest.approx(scored.log_prob, abs=1e-5)


def test_a_place_alone_is_what_the_equation_says() -> None:
    """Luong: softmax(W_s tanh(W_c [h_s; h_t])), with one encoder state in the place of the context."""
    engine = toy_engine("luong2015-desk")
    decoder: Any = engine.model.decoder
    assert decoder.feeding
    source, target = SOURCES[0], [7, 5]
    (found,) = engine.likelihoods([source], [target])
    assert found is not None
    with torch.inference_mode():
        memory: Any = engine.model.encode(*_encoder_input(source))
        step = decoder.step(torch.tensor([BOS_ID]), decoder.start(memory), memory)
        values = memory.attended.values[0]  # [src, value]
        h = step.state.layers[-1][0].expand(values.size(0), -1)  # [src, hidden]
        features = torch.tanh(torch.cat([values, h], -1) @ decoder.W_c.T)
        wanted = decoder.output(features)[:, target[0]]
    np.testing.assert_allclose(found[0], wanted, atol=1e-5)


def _encoder_input(source: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    batch = Batch.from_pairs([(source, ())])
    return batch.source, batch.source_lengths


@pytest.mark.parametrize("make", [tiny_recurrent, tiny_transformer])
def test_bfloat16_is_close_and_its_weights_are_cast_once(make, tmp_path: Path) -> None:
    bundle = make(tmp_path / "bundle")
    full, half = (TorchEngine.open(bundle, precision=precision) for precision in ("float32", "bfloat16"))
    assert {parameter.dtype for parameter in half.model.parameters()} == {torch.bfloat16}
    sources, targets = [[5, 6, 7], [9]], [[6, 7], [8, 8, 4]]
    for one, other in zip(full.score(sources, targets), half.score(sources, targets), strict=True):
        assert one.score == pytest.approx(other.score, abs=0.15)
        assert one.score != other.score
    found = half.search(sentences(sources), SearchSettings(beam=3, max_length=8), return_attention=True)
    for source, (best,) in zip(sources, found, strict=True):
        assert best.alignment is not None
        assert best.alignment.dtype == np.float32
        (forced,) = IncrementalEngine.score(half, [source], [best.tokens])
        if best.is_finished:
            assert best.log_prob == pytest.approx(forced.log_prob, abs=1e-2)


def test_a_search_leaves_what_it_began_with_alone() -> None:
    """States are values: two searches can continue one state."""
    engine = toy_engine("vaswani2017-desk")
    begun = engine.start(SOURCES, False)
    tokens = np.full(len(SOURCES), 5)
    first = begun.step(tokens).log_probs.copy()
    begun.step(tokens).next_state.step(tokens)
    np.testing.assert_array_equal(begun.step(tokens).log_probs, first)


@pytest.mark.parametrize("name", MODELS)
def test_first_tokens_are_those_of_the_first_step(name: str) -> None:
    """The score of an empty translation is the log p of the end as its first token."""
    engine = toy_engine(name)
    found = engine.first_token_log_probs(SOURCES)
    empty = [each.log_prob for each in engine.score(SOURCES, [[] for _ in SOURCES])]
    np.testing.assert_allclose(found[:, EOS_ID], empty, atol=1e-5)
    np.testing.assert_allclose(np.exp(found).sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(found[2], engine.first_token_log_probs([SOURCES[2]])[0], atol=1e-5)
