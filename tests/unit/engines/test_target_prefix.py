"""Translations that begin with given tokens, which no result has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.config.search import SearchSettings
from dragoman.engines.directions import TargetPrefixEngine, begin_translations
from dragoman.engines.protocol import AttentionEngine, IncrementalEngine
from dragoman.search.hypothesis import SearchTrace, TraceNode
from testkit.presets import MODELS
from tests.unit.search.toy_models import SOURCES, sentences, toy_engine

PREFIX = (7, 4)
TARGETS = [[7, 7, 5], [4], [], [9, 8, 5, 4], [10, 10], [5]]


class StepsOnly(IncrementalEngine):
    """An engine without its own scores and maps."""

    def __init__(self, engine: IncrementalEngine) -> None:
        self.engine, self.name, self.precision = engine, "steps", engine.precision

    def start(self, sources, return_attention):
        return self.engine.start(sources, return_attention)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("settings", [SearchSettings(beam=1), SearchSettings(beam=3)], ids=["greedy", "beam"])
def test_the_rest_of_what_a_search_with_the_prefix_finds(name: str, settings: SearchSettings):
    engine = toy_engine(name)
    given = [replace(each, prefix=PREFIX) for each in sentences(SOURCES)]
    expected = engine.search(given, settings, return_attention=True)
    found = begin_translations(engine, PREFIX).search(sentences(SOURCES), settings, return_attention=True)
    for ours, theirs in zip(found, expected, strict=True):
        assert [each.tokens for each in ours] == [list(each.tokens[2:]) for each in theirs]
        assert [each.score for each in ours] == [each.score for each in theirs]
        for one, other in zip(ours, theirs, strict=True):
            if other.alignment is not None:
                np.testing.assert_array_equal(one.alignment, other.alignment[2:])


@pytest.mark.parametrize("name", MODELS)
def test_steps_scores_and_maps_agree(name: str):
    """What is computed in one pass, and what is computed step by step after the prefix."""
    engine = begin_translations(toy_engine(name), PREFIX)
    assert isinstance(engine, IncrementalEngine)
    assert isinstance(engine, AttentionEngine)
    scored = engine.score(SOURCES, TARGETS, return_attention=True)
    by_steps = IncrementalEngine.score(engine, SOURCES, TARGETS, return_attention=True)
    maps = engine.attention(SOURCES, TARGETS)
    likely = engine.likelihoods(SOURCES, TARGETS)
    for number, (one, other) in enumerate(zip(scored, by_steps, strict=True)):
        assert one.tokens == other.tokens == TARGETS[number]
        assert one.log_prob < other.log_prob, "the score in one pass includes the prefix"
        if one.alignment is not None and other.alignment is not None:
            np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-6)
            for found in (maps[number], likely[number]):
                assert found is not None
                assert found.shape[-2:] == one.alignment.shape


def test_first_tokens_follow_the_prefix():
    engine = toy_engine("luong2015-desk")
    begun = begin_translations(engine, PREFIX)
    expected = engine.first_token_log_probs(SOURCES, (*PREFIX, 5))
    np.testing.assert_allclose(begun.first_token_log_probs(SOURCES, [5]), expected, atol=1e-6)
    assert np.abs(expected - engine.first_token_log_probs(SOURCES)).max() > 0.01


def test_an_engine_can_do_what_it_could():
    engine = StepsOnly(toy_engine("luong2015-desk"))
    begun = begin_translations(engine, PREFIX)
    assert isinstance(begun, TargetPrefixEngine)
    assert isinstance(begun, IncrementalEngine)
    assert not isinstance(begun, AttentionEngine)
    assert begin_translations(engine, ()) is engine
    assert begun.unsupported(SearchSettings()) is None


def test_trees_have_no_prefix():
    engine = begin_translations(toy_engine("luong2015-desk"), PREFIX)
    trace = SearchTrace()
    found = engine.search(sentences(SOURCES), SearchSettings(beam=2), trace=trace)
    for number, (best, *_) in enumerate(found):
        tree = trace.trees[number]
        assert min(node.step for node in tree) == 0
        assert all(node.parent < place for place, node in enumerate(tree))
        paths = {tuple(_path(tree, place)) for place, node in enumerate(tree) if node.is_end}
        assert tuple(best.tokens) in {path[:-1] for path in paths}


def _path(tree: list[TraceNode], place: int) -> list[int]:
    tokens: list[int] = []
    while place >= 0:
        tokens.insert(0, tree[place].token)
        place = tree[place].parent
    return tokens


def test_streamed_tokens_have_no_prefix():
    class Monitor:
        def __init__(self) -> None:
            self.seen: dict[int, list[int]] = {}

        def is_cancelled(self, sentence: int) -> bool:
            return sentence == 1

        def is_streamed(self, sentence: int) -> bool:
            return True

        def on_tokens(self, sentence: int, tokens: list[int]) -> None:
            self.seen[sentence] = tokens

    monitor = Monitor()
    begun = begin_translations(toy_engine("vaswani2017-desk"), PREFIX)
    found = begun.search(sentences(SOURCES), SearchSettings(beam=1), monitor=monitor)
    assert 1 not in monitor.seen
    assert monitor.seen
    for sentence, tokens in monitor.seen.items():
        assert list(found[sentence][0].tokens)[: len(tokens)] == list(tokens)
