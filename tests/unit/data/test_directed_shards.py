"""Pairs in several directions, stored once."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.data.shards import DirectedShards, DirectionView, Shards
from tests.unit.data.test_shards import read, write

PAIRS = [([1, 2], [3]), ([4], [5, 6, 7]), ([8, 9, 10], [11, 12])]
OTHERS = [([20], [21]), ([22, 23], [24])]


@pytest.fixture
def directed(tmp_path: Path) -> DirectedShards:
    shards = Shards([write(tmp_path / "0.arrow", [PAIRS]), write(tmp_path / "1.arrow", [OTHERS])])
    views = [
        DirectionView(0, 3, is_swapped=False, source_prefix=(90,)),
        DirectionView(0, 3, is_swapped=True, source_prefix=(91,), target_prefix=(92, 93)),
        DirectionView(3, 2, is_swapped=True),
    ]
    return DirectedShards(shards, views)


def test_rows_are_numbered_over_all_views(directed: DirectedShards):
    assert len(directed) == 8
    everything = read(directed.gather(np.arange(8)))
    swapped = [(target, source) for source, target in PAIRS]
    assert everything == [*PAIRS, *swapped, *((target, source) for source, target in OTHERS)]


def test_language_tokens_begin_the_sides(directed: DirectedShards):
    rows = np.array([7, 1, 4])
    found = read(directed.with_language_tokens(directed.gather(rows), rows))
    assert found == [([24], [22, 23]), ([90, 4], [5, 6, 7]), ([91, 5, 6, 7], [92, 93, 4])]


def test_lengths_include_language_tokens(directed: DirectedShards):
    rows = np.array([6, 5, 0, 3])
    pairs = read(directed.with_language_tokens(directed.gather(rows), rows))
    assert directed.lengths(rows).tolist() == [[len(source), len(target)] for source, target in pairs]


def test_no_rows(directed: DirectedShards):
    none = np.empty(0, np.int64)
    assert read(directed.with_language_tokens(directed.gather(none), none)) == []
    assert directed.lengths(none).shape == (0, 2)
