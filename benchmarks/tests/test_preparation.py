"""Small version of the preparation benchmark: planted faults are found; memory and cost per pair do not grow."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.preparation import GIB, measure

SMALL_TOKENIZER = "\n[tokenizer]\nsize = 1000\nsample_sentences = 3000\n"


SMALL, LARGE = 100_000, 200_000


@pytest.fixture(scope="module")
def sizes(once_per_run: Callable[[str, Callable[[Path], object]], Path]) -> dict[int, dict[str, Any]]:
    """Measurements by number of pairs, taken once per test run."""

    def build(folder: Path) -> None:
        folder.mkdir()
        found = {pairs: measure(pairs, 2, folder / "work", more=SMALL_TOKENIZER) for pairs in (SMALL, LARGE)}
        (folder / "measured.json").write_text(json.dumps(found))

    measured = json.loads((once_per_run("preparation", build) / "measured.json").read_text())
    return {int(pairs): found for pairs, found in measured.items()}


@pytest.mark.long
def test_all_that_was_planted_is_found(sizes: dict[int, dict[str, Any]]):
    for found in sizes.values():
        for reason, (planted, counted) in found["truth"].items():
            assert abs(counted - planted) <= 0.01 * planted, (reason, planted, counted)


@pytest.mark.long
def test_memory_does_not_grow_with_the_corpus(sizes: dict[int, dict[str, Any]]):
    small, large = (found["prepare"]["peak_anonymous_bytes"] for found in sizes.values())
    assert large < 2 * GIB
    assert large < 1.35 * small  # processes that overlap in another way change the peak by a fifth


@pytest.mark.long
def test_a_pair_costs_the_same_in_a_larger_corpus(sizes: dict[int, dict[str, Any]]):
    small, large = (found["prepare"]["cpu_seconds"] / pairs for pairs, found in sizes.items())
    assert large < 1.2 * small


@pytest.mark.long
def test_running_again_costs_next_to_nothing(sizes: dict[int, dict[str, Any]]):
    for found in sizes.values():
        assert found["again"]["cpu_seconds"] < 0.2 * found["prepare"]["cpu_seconds"]


@pytest.mark.long
@pytest.mark.measure
def test_everything_together_stays_within_reach_of_the_bare_engine(sizes: dict[int, dict[str, Any]]):
    """Polars reads, drops exact duplicates and writes; prepare also decodes, repairs, filters, tokenizes and counts."""
    found = sizes[LARGE]
    assert found["prepare"]["cpu_seconds"] < 40 * found["bare"]["cpu_seconds"]
