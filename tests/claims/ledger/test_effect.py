"""Effects: the hierarchical bootstrap over seeds and sentences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from claims.ledger.effect import compute_effect
from claims.ledger.measures import bleu_of_totals
from tests.claims.synthetic import claim, record, records


def test_bleu_of_sums_equals_sacrebleu():
    draws = np.random.default_rng(1)
    rows = [
        [50, 60, 30, 20, 10, 5, 50, 49, 48, 47],
        [50, 40, 30, 20, 10, 0, 50, 49, 48, 47],
        [50, 40, 30, 0, 0, 0, 50, 49, 48, 47],
        [3, 4, 3, 2, 1, 0, 3, 2, 1, 0],
        [50, 40, 0, 0, 0, 0, 50, 49, 48, 47],
        record(0.6, draws).bleu_counts().sum(0).tolist(),
    ]
    metric = BLEU()
    expected = [metric._compute_score_from_stats(row).score for row in rows]
    assert bleu_of_totals(np.array(rows, float)).tolist() == pytest.approx(expected, abs=1e-9)


def test_swapped_terms_give_the_mirrored_effect_and_interval():
    found = {"new": records(0.62, 1), "old": records(0.58, 2)}
    ahead = compute_effect(claim().comparisons[0], found)
    behind = compute_effect(claim(swapped=True).comparisons[0], found)
    assert behind.value == pytest.approx(-ahead.value)
    low, high = ahead.interval(0.05)
    assert behind.interval(0.05) == pytest.approx((-high, -low))


def test_the_interval_widens_with_the_spread_of_seeds():
    comparison = claim().comparisons[0]
    calm = compute_effect(comparison, {"new": records(0.6, 1, noise=0.001), "old": records(0.6, 2, noise=0.001)})
    wild = compute_effect(comparison, {"new": records(0.6, 1, noise=0.05), "old": records(0.6, 2, noise=0.05)})
    widths = [high - low for low, high in (calm.interval(0.05), wild.interval(0.05))]
    assert widths[1] > 1.5 * widths[0]


@pytest.mark.parametrize("seeds", [(1, 1), (3, 1), (1, 3)])
def test_a_variant_with_one_seed_gives_no_interval(seeds: tuple[int, int]):
    found = {"new": records(0.9, 1, seeds=seeds[0]), "old": records(0.3, 2, seeds=seeds[1])}
    assert compute_effect(claim().comparisons[0], found).interval(0.05) == (-math.inf, math.inf)


def test_the_same_records_give_the_same_interval():
    found = {"new": records(0.62, 1), "old": records(0.58, 2)}
    first, second = (compute_effect(claim().comparisons[0], found).interval(0.05) for _ in range(2))
    assert first == second


def test_a_term_counts_only_sentences_in_its_range_of_words():
    comparison = claim().comparisons[0]
    term = comparison.terms[0].model_copy(update={"words": [8, 10]})
    short = comparison.model_copy(update={"terms": [term]})
    found = records(0.6, 1)
    counts = found[0].bleu_counts()
    words = np.array(found[0].facts["test"]["source_words"])
    expected = bleu_of_totals(counts[(words >= 8) & (words <= 10)].sum(0).astype(float))
    assert compute_effect(short, {"new": found[:1]}).value == pytest.approx(float(expected))


def test_intervals_cover_the_true_difference_of_zero():
    """Both variants are drawn from one distribution, seeds and all: nominal 95 %, at least 85 % of 60 required."""
    comparison = claim().comparisons[0]
    covered = 0
    for trial in range(60):
        found = {"new": records(0.6, 2 * trial), "old": records(0.6, 2 * trial + 1)}
        low, high = compute_effect(comparison, found, resamples=400).interval(0.05)
        covered += low <= 0 <= high
    assert covered >= 51
