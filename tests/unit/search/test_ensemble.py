"""Several models that write together."""

import numpy as np
import pytest

from dragoman.engines.protocol import EnsembleEngine
from dragoman.search import SearchSettings
from dragoman.text import BOS_ID
from testkit.presets import MODELS
from tests.unit.search.toy_models import SOURCES, sentences, toy_engine

UNLIKE = ["luong2015-desk", "vaswani2017-desk + model.tie=none", "sutskever2014-desk", "xu2015-desk"]


@pytest.mark.parametrize("name", MODELS)
def test_an_ensemble_of_one_is_the_model(name: str) -> None:
    engine = toy_engine(name)
    settings = SearchSettings(beam=3, nbest=3, max_length=8)
    alone, together = (
        each.search(sentences(), settings, return_attention=True) for each in (engine, EnsembleEngine([engine]))
    )
    for one, other in zip(alone, together, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        assert [each.log_prob for each in one] == [each.log_prob for each in other]


def test_unlike_families_vote_by_their_mean() -> None:
    members = [toy_engine(name, seed) for seed, name in enumerate(UNLIKE)]
    tokens = np.full(len(SOURCES), BOS_ID)
    found = EnsembleEngine(members).start(SOURCES, True).step(tokens)
    each = [member.start(SOURCES, True).step(tokens) for member in members]
    np.testing.assert_allclose(np.exp(found.log_probs), np.mean([np.exp(one.log_probs) for one in each], 0), rtol=1e-6)
    maps = [one.weights for one in each if one.weights is not None]
    assert len(maps) == 3, "one of them has no attention"
    assert found.weights is not None
    np.testing.assert_allclose(found.weights, np.mean(maps, 0), atol=1e-6)


def test_what_they_find_is_scored_by_all() -> None:
    engine = EnsembleEngine([toy_engine(name, seed) for seed, name in enumerate(UNLIKE)])
    assert engine.name == "torch"
    found = engine.search(sentences(), SearchSettings(beam=4, max_length=9), return_attention=True)
    for source, (best,) in zip(SOURCES, found, strict=True):
        if best.is_finished:
            (forced,) = engine.score([source], [best.tokens], return_attention=True)
            assert best.log_prob == pytest.approx(forced.log_prob, abs=1e-6)
            assert best.alignment is not None
            assert forced.alignment is not None
            np.testing.assert_allclose(best.alignment, forced.alignment, atol=1e-6)
