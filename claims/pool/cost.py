"""Expected CPU time of trainings."""

from __future__ import annotations

from claims.ledger.claim import Ledger
from claims.ledger.record import RecordStore
from claims.pool.pool_model import PoolRun

_UNKNOWN = 15.0


def expected_minutes(ledger: Ledger, store: RecordStore, model: PoolRun) -> float:
    """Return the CPU minutes of a training: of a record of its base, or else the expectation of the ledger."""
    for record in store.all(model.base):
        if record.facts["changes"] == list(model.changes) and record.facts["corpus"] == model.corpus_name:
            return record.cpu_seconds / 60
    return ledger.pool.minutes.get(model.base, _UNKNOWN)
