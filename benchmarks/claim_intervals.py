"""Error rates of the intervals of claims, simulated: how often an interval excludes a difference of zero that is true.

Scores are means over sentences. A value is the sum of a part of the seed, a part of the variant and the sentence, and a
part of its own, all normal. Three seeds per variant, as in the claims; levels of one, three and ten comparisons.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.reporting import heading, parser, table, write
from claims.ledger.claim import Comparison, Term
from claims.ledger.effect import compute_effect
from claims.ledger.record import ModelRecord

TRIALS, RESAMPLES = 1500, 500
SENTENCES, SEEDS = 100, 3
LEVELS = (0.05, 0.05 / 3, 0.05 / 10)
CASES = {
    "one variant, seeds only": ((1.0,), 0.0),
    "two variants, seeds only, equal spreads": ((1.0, 1.0), 0.0),
    "two variants, seeds only, spreads of 1 and 0.1": ((1.0, 0.1), 0.0),
    "two variants, mostly sentences": ((0.02, 0.02), 1.0),
    "two variants, sentences and seeds": ((0.1, 0.1), 1.0),
    "two variants, sentences and seeds, spreads of 0.3 and 0.02": ((0.3, 0.02), 1.0),
}
"""Spread of the seeds by variant, and spread of the other two parts."""


def records(draws: np.random.Generator, seed_spread: float, spread: float) -> list[ModelRecord]:
    """Return one record per seed."""
    seeds = draws.normal(0.0, seed_spread, (SEEDS, 1))
    values: NDArray[np.float64] = (
        seeds + draws.normal(0.0, spread, (1, SENTENCES)) + draws.normal(0.0, spread, (SEEDS, SENTENCES))
    )
    return [ModelRecord({"name": str(seed), "samples": {"x": row.tolist()}}) for seed, row in enumerate(values)]


def error_rates(spreads: tuple[float, ...], spread: float, trials: int, seed: int = 1) -> list[float]:
    """Return the share of trials whose interval excludes zero, by level."""
    draws = np.random.default_rng(seed)
    names = [str(place) for place in range(len(spreads))]
    terms = [Term(variant=name, weight=-1.0 if place else 1.0, search="x") for place, name in enumerate(names)]
    comparison = Comparison(name="x", measure="share", terms=terms, hypothesis=0.0)
    errors = np.zeros(len(LEVELS))
    for trial in range(trials):
        found = {name: records(draws, each, spread) for name, each in zip(names, spreads, strict=True)}
        effect = compute_effect(comparison, found, resamples=RESAMPLES, seed=trial)
        intervals = [effect.interval(level) for level in LEVELS]
        errors += [not low <= 0 <= high for low, high in intervals]
    return [float(share) for share in errors / trials]


def main() -> None:
    """Simulate all cases and write the page."""
    arguments = parser(__doc__)
    arguments.add_argument("--trials", type=int, default=TRIALS)
    options = arguments.parse_args()
    figures: dict[str, Any] = {
        "trials": options.trials,
        "levels": LEVELS,
        "error_rates": {name: error_rates(*case, options.trials) for name, case in CASES.items()},
    }
    header = ["case", *(f"nominal {100 * level:.1f} %" for level in LEVELS)]
    rows = [[name, *(f"{100 * rate:.1f} %" for rate in rates)] for name, rates in figures["error_rates"].items()]
    text = heading("Error rates of the intervals of claims", "python -m benchmarks.claim_intervals", options.threads)
    note = f"{options.trials:,} trials per case, {SENTENCES} sentences, {RESAMPLES} resamples."
    write("claim-intervals", f"{text}\n{__doc__}\n{note}\n\n{table(header, rows)}", figures)


if __name__ == "__main__":
    main()
