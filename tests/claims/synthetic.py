"""Synthetic records: sentence statistics of systems whose true quality is chosen."""

from __future__ import annotations

import numpy as np

from claims.ledger.claim import Claim
from claims.ledger.record import MAIN_SEARCH, ModelRecord

SENTENCES = 300


def record(quality: float, draws: np.random.Generator, *, seed: int = 1, noise: float = 0.01) -> ModelRecord:
    """A model whose n-grams match the reference with about this probability; seeds differ by `noise`."""
    hidden = np.random.default_rng(7)  # the same sentences for all models
    words = hidden.integers(8, 20, SENTENCES)
    hardness = hidden.normal(0.0, 0.05, SENTENCES)
    share = np.clip(quality + hardness + draws.normal(0.0, noise), 0.05, 0.95)
    matches = [draws.binomial(np.maximum(words - order, 0), share ** (1 + order)) for order in range(4)]
    columns = [words, words, *matches]
    facts = {
        "name": f"synthetic-{seed}",
        "key": f"{quality}-{seed}-{draws.integers(1 << 30)}",
        "seed": seed,
        "training": {"cpu_seconds": 60.0},
        "test": {"source_words": words.tolist()},
        "searches": {MAIN_SEARCH: {"counts": [column.tolist() for column in columns]}},
    }
    return ModelRecord(facts)


def records(quality: float, start: int, *, seeds: int = 3, noise: float = 0.01) -> list[ModelRecord]:
    """One record per seed, drawn from the stream of `start`."""
    draws = np.random.default_rng(start)
    return [record(quality, draws, seed=seed, noise=noise) for seed in range(1, seeds + 1)]


def claim(*, swapped: bool = False, least: float = 0.5, rule: str = "difference") -> Claim:
    """A claim that the variant "new" is better than "old"; `swapped` exchanges them."""
    first, second = ("old", "new") if swapped else ("new", "old")
    return Claim.model_validate(
        {
            "id": "C1",
            "title": "new is better than old",
            "column": "cells",
            "statement": {"en": "New is better.", "zh": "新的更好。"},
            "origin": {"note": "000"},
            "decision": "the whole interval is above the smallest effect",
            "variants": {"new": {"base": "x"}, "old": {"base": "y"}},
            "comparisons": [
                {
                    "name": "new minus old",
                    "terms": [{"variant": first}, {"variant": second, "weight": -1.0}],
                    "hypothesis": 1.0,
                    "smallest_effect": least,
                    "rule": rule,
                }
            ],
        }
    )
