"""The scale benchmark in small: all that was planted is found, and neither memory nor cost a pair grows."""

from typing import Any

import pytest

from benchmarks.preparation import GIB, measure

SMALL_TOKENIZER = "\n[tokenizer]\nsize = 2000\nsample_sentences = 20000\n"


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    work = tmp_path_factory.mktemp("scale")
    return {pairs: measure(pairs, 2, work, more=SMALL_TOKENIZER) for pairs in (200_000, 400_000)}


@pytest.mark.slow
def test_all_that_was_planted_is_found(sizes: dict[int, dict[str, Any]]):
    for found in sizes.values():
        for reason, (planted, counted) in found["truth"].items():
            assert abs(counted - planted) <= 0.01 * planted, (reason, planted, counted)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(sizes: dict[int, dict[str, Any]]):
    small, large = (found["prepare"]["peak_anonymous_bytes"] for found in sizes.values())
    assert large < 2 * GIB
    assert large < 1.15 * small


@pytest.mark.slow
def test_a_pair_costs_the_same_in_a_larger_corpus(sizes: dict[int, dict[str, Any]]):
    small, large = (found["prepare"]["cpu_seconds"] / pairs for pairs, found in sizes.items())
    assert large < 1.2 * small


@pytest.mark.slow
def test_running_again_costs_next_to_nothing(sizes: dict[int, dict[str, Any]]):
    for found in sizes.values():
        assert found["again"]["cpu_seconds"] < 0.2 * found["prepare"]["cpu_seconds"]


@pytest.mark.slow
def test_everything_together_stays_within_reach_of_the_bare_engine(sizes: dict[int, dict[str, Any]]):
    """Polars reads, drops exact duplicates and writes; we do that, decode, mend, filter, cut into pieces and count."""
    found = sizes[400_000]
    assert found["prepare"]["cpu_seconds"] < 40 * found["bare"]["cpu_seconds"]
