"""The reference engine: scores in one pass are those of steps, and bfloat16 is close."""

from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.engines.stepping import SteppingEngine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.search import SearchSettings
from tests.presets import MODELS
from tests.unit.engines.tiny_recurrent import tiny_recurrent
from tests.unit.engines.tiny_transformers import tiny_transformer
from tests.unit.search.toys import SOURCES, sentences, toy_engine

TARGETS = [[7, 7, 5], [4], [], [9, 8, 5, 4], [10, 10], [5]]


@pytest.mark.parametrize("name", MODELS)
def test_scores_in_one_pass_are_those_of_steps(name: str) -> None:
    engine = toy_engine(name)
    once = engine.score(SOURCES, TARGETS, show=True)
    by_steps = SteppingEngine.score(engine, SOURCES, TARGETS, show=True)
    for one, other, source, target in zip(once, by_steps, SOURCES, TARGETS, strict=True):
        assert one.pieces == other.pieces == target
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-9)
        assert one.score == pytest.approx(other.score, abs=1e-9)
        assert (one.alignment is None) == (other.alignment is None)
        if one.alignment is not None and other.alignment is not None:
            assert one.alignment.shape == (len(target) + 1, len(source) + 1)
            np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-6)


def test_nothing_to_score() -> None:
    assert toy_engine("luong2015-desk").score([], []) == []


@pytest.mark.parametrize("make", [tiny_recurrent, tiny_transformer])
def test_bfloat16_is_close_and_its_weights_are_cast_once(make, tmp_path: Path) -> None:
    bundle = make(tmp_path / "bundle")
    full, half = (TorchEngine.open(bundle, precision=precision) for precision in ("float32", "bfloat16"))
    assert {parameter.dtype for parameter in half.model.parameters()} == {torch.bfloat16}
    sources, targets = [[5, 6, 7], [9]], [[6, 7], [8, 8, 4]]
    for one, other in zip(full.score(sources, targets), half.score(sources, targets), strict=True):
        assert one.score == pytest.approx(other.score, abs=0.15)
        assert one.score != other.score
    found = half.search(sentences(sources), SearchSettings(beam=3, max_length=8), show=True)
    for source, (best,) in zip(sources, found, strict=True):
        assert best.alignment is not None
        assert best.alignment.dtype == np.float32
        (forced,) = SteppingEngine.score(half, [source], [best.pieces])
        if best.is_finished:
            assert best.log_prob == pytest.approx(forced.log_prob, abs=1e-2)


def test_a_search_leaves_what_it_began_with_alone() -> None:
    """States are values: two searches can go on from one start."""
    engine = toy_engine("vaswani2017-desk")
    begun = engine.start(SOURCES, False)
    tokens = np.full(len(SOURCES), 5)
    first = begun.step(tokens).log_probs.copy()
    begun.step(tokens).after.step(tokens)
    np.testing.assert_array_equal(begun.step(tokens).log_probs, first)
