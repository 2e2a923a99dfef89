"""Find the runs that claims still require."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from claims.ledger.claim import Claim, Ledger
from claims.ledger.measures import has_counts, measure
from claims.ledger.record import ModelRecord, RecordStore
from claims.pool.cost import expected_minutes
from claims.pool.pool_model import PoolRun, pool_models, variant_models


@dataclass(frozen=True)
class RemainingRuns:
    """The runs that claims still require, and the CPU minutes of their training."""

    missing: int
    """Number of runs without a record."""
    incomplete: int
    """Number of runs whose record lacks statistics."""
    total: int
    """Number of all runs of the claims."""
    minutes: float


def remaining_runs(ledger: Ledger, claims: Sequence[Claim], store: RecordStore) -> RemainingRuns:
    """Count the runs that claims still require, each once."""
    lacking = missing_runs(ledger, claims, store)
    incomplete = sum(store.has(run) for run in lacking)
    minutes = sum(expected_minutes(ledger, store, run) for run in lacking)
    return RemainingRuns(len(lacking) - incomplete, incomplete, len(pool_models(ledger, claims)), minutes)


def missing_runs(ledger: Ledger, claims: Iterable[Claim], store: RecordStore) -> list[PoolRun]:
    """Return the runs that have no record, or whose record lacks statistics that a comparison requires.

    Statistics of translations do not count: they are added to a record without the model.
    """
    claims = list(claims)
    lacking: set[str] = set()
    for claim in claims:
        for name, variant in claim.variants.items():
            for run in variant_models(ledger, claim, variant):
                if not store.has(run) or _lacks(claim, name, store.read(run)):
                    lacking.add(run.key)
    return [run for run in pool_models(ledger, claims) if run.key in lacking]


def _lacks(claim: Claim, variant: str, record: ModelRecord) -> bool:
    return any(
        not measure(each.measure).from_texts and not has_counts(each, variant, record) for each in claim.comparisons
    )
