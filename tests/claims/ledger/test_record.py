"""Records on disk, and the folder that contains them."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from claims.ledger.record import FORMAT, ModelRecord, RecordStore
from claims.pool.probe_run import ProbeRun
from dragoman.errors import DataError

RUN = ProbeRun("sum-of-two", 1)


def write(store: RecordStore, seed: int) -> None:
    ModelRecord({"format": FORMAT, "seed": seed}).write(store.path(RUN))


def test_a_record_is_parsed_once_and_again_after_a_change(tmp_path: Path):
    store = RecordStore(tmp_path)
    write(store, 1)
    with mock.patch.object(ModelRecord, "read", wraps=ModelRecord.read) as read:
        assert [store.read(RUN).seed, store.read(RUN).seed, *(each.seed for each in store.all(RUN.base))] == [1, 1, 1]
        assert read.call_count == 1
        write(store, 2)
        assert store.read(RUN).seed == 2
        assert read.call_count == 2


def test_a_missing_record_is_an_error(tmp_path: Path):
    with pytest.raises(DataError, match="must be a gzipped JSON file"):
        RecordStore(tmp_path).read(RUN)
