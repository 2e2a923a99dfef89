"""Error rates of verdicts on claims, simulated: how often a claim whose truth is on its limit gets a wrong verdict.

Scores are means over sentences. A value is the sum of a part of the seed, a part of the variant and the sentence, and a
part of its own, all normal. Three seeds per variant, as in the claims. The effect of one comparison is its limit, the
others are far from theirs on the side that makes its verdict decide: the worst case of each rule. Ten other models
lend their spread of seeds, all similar, or half of them with a five times larger one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.reporting import heading, parser, table, write
from claims.ledger.claim import Claim
from claims.ledger.peers import Peers
from claims.ledger.record import ModelRecord
from claims.ledger.verdict import ClaimVerdict, decide

TRIALS, RESAMPLES = 1000, 400
SENTENCES, SEEDS, PEERS, CLAIMS = 100, 3, 10, 26
FAR = 100.0
SPREADS = {"seeds only": (1.0, 0.0), "sentences and seeds": (0.1, 1.0), "mostly sentences": (0.02, 1.0)}
"""Spread of the seeds, and of the other two parts."""
POOLS = ("none", "alike", "unlike")


def records(draws: np.random.Generator, name: str, effects: list[float], spread: tuple[float, float]) -> list[Any]:
    """Return one record per seed, with a condition per comparison."""
    of_seeds, other = spread
    facts = {"base": "x", "corpus": "x", "changes": [name], "searches": {}, "training": {"cpu_seconds": 0.0}}
    values: NDArray[np.float64] = (
        np.array(effects)[:, None, None]
        + draws.normal(0.0, of_seeds, (len(effects), SEEDS, 1))
        + draws.normal(0.0, other, (len(effects), 1, SENTENCES))
        + draws.normal(0.0, other, (len(effects), SEEDS, SENTENCES))
    )
    return [
        ModelRecord(
            facts
            | {"name": name, "key": f"{name}-{seed}", "samples": {str(at): row.tolist() for at, row in enumerate(rows)}}
        )
        for seed, rows in enumerate(values.transpose(1, 0, 2))
    ]


def claim(comparisons: int) -> Claim:
    """Return a claim whose comparisons all have a limit of 0."""
    return Claim.model_validate(
        {
            "id": "C1",
            "title": "x",
            "column": "cells",
            "statement": {"en": "x"},
            "origin": {"note": "x"},
            "variants": {"new": {"base": "x"}, "old": {"base": "x"}},
            "comparisons": [
                {
                    "name": str(at),
                    "measure": "share",
                    "terms": [
                        {"variant": "new", "search": str(at)},
                        {"variant": "old", "weight": -1, "search": str(at)},
                    ],
                    "hypothesis": 1.0,
                }
                for at in range(comparisons)
            ],
        }
    )


def error_rates(comparisons: int, spread: tuple[float, float], pool: str, trials: int) -> tuple[float, float]:
    """Return the shares of trials with a wrong verdict: that it holds, and that it does not.

    For the first all other comparisons hold; for the second all effects are on their limits.
    """
    draws = np.random.default_rng(1)
    asked = claim(comparisons)
    wrong = [0, 0]
    for _ in range(trials):
        peers = None
        if pool != "none":
            larger = [1.0 if pool == "alike" or number % 2 else 5.0 for number in range(PEERS)]
            groups = [
                records(draws, f"peer-{number}", [0.0] * comparisons, (factor * spread[0], spread[1]))
                for number, factor in enumerate(larger)
            ]
            peers = Peers.of(record for group in groups for record in group)
        for place, others in enumerate((FAR, 0.0)):
            effects = [0.0, *[others] * (comparisons - 1)]
            found = {
                "new": records(draws, "new", effects, spread),
                "old": records(draws, "old", [0.0] * comparisons, spread),
            }
            verdict = decide(asked, found, peers, resamples=RESAMPLES).verdict
            wrong[place] += verdict == (ClaimVerdict.HOLDS, ClaimVerdict.FAILS)[place]
    return wrong[0] / trials, wrong[1] / trials


def main() -> None:
    """Simulate all cases and write the page."""
    arguments = parser(__doc__)
    arguments.add_argument("--trials", type=int, default=TRIALS)
    options = arguments.parse_args()
    rates = {
        (name, pool, number): error_rates(number, spread, pool, options.trials)
        for name, spread in SPREADS.items()
        for pool in POOLS
        for number in (1, 3)
    }
    worst = max(holds + fails for holds, fails in rates.values())
    figures: dict[str, Any] = {
        "trials": options.trials,
        "wrong": {" | ".join(map(str, case)): found for case, found in rates.items()},
        "expected_wrong": CLAIMS * worst,
    }
    header = ["spread", "pool", "comparisons", "wrong “holds”", "wrong “does not hold”"]
    rows = [[*map(str, case), *(f"{100 * rate:.1f} %" for rate in found)] for case, found in rates.items()]
    text = heading("Error rates of verdicts on claims", "python -m benchmarks.claim_intervals", options.threads)
    note = f"{options.trials:,} trials per case, {SENTENCES} sentences, {RESAMPLES} resamples; nominal: 2.5 % each."
    end = (
        f"In the worst case, with every truth on its limit, {100 * worst:.1f} % of the verdicts are wrong: "
        f"{CLAIMS * worst:.1f} of {CLAIMS}."
    )
    write("claim-intervals", f"{text}\n{__doc__}\n{note}\n\n{table(header, rows)}\n{end}\n", figures)


if __name__ == "__main__":
    main()
