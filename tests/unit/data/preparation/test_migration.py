"""Prepared data of version 0.1.0 loads, and gives the same pairs, plan and batches."""

from __future__ import annotations

import hashlib
import json
import tomllib
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.bundle.bundle_config import migrate_config
from dragoman.config import Config, parse_config
from dragoman.data.loader import BatchLoader
from dragoman.data.preparation.prepared_data import FORMAT, PreparedData

FORMATS = Path(__file__).parents[3] / "fixtures" / "formats-0.1"
EXPECTED = json.loads((FORMATS / "expected.json").read_text())


def digest(numbers: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(numbers, dtype="<i8").tobytes()).hexdigest()


def config(name: str) -> Config:
    with (FORMATS / name / "dragoman.toml").open("rb") as file:
        return parse_config(migrate_config(tomllib.load(file), version=1))


@pytest.fixture(params=["rnn", "transformer"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_manifest_is_migrated(name: str):
    prepared = PreparedData.open(FORMATS / name / "prepared")
    prepared.verify()
    assert prepared.manifest["format"] == FORMAT
    assert "pieces" not in json.dumps(prepared.manifest)
    assert prepared.manifest["tokenizers"]["source"]["tokens"] == prepared.tokenizers()["source"].size


def test_pairs_are_the_same(name: str):
    prepared = PreparedData.open(FORMATS / name / "prepared")
    for split in ("train", "validation"):
        shards, expected = prepared.shards(split), EXPECTED[name]["prepared"][split]
        pairs = shards.gather(np.arange(len(shards)))
        assert len(pairs) == expected["pairs"]
        for side in ("source", "target"):
            sentences = getattr(pairs, side)
            assert prepared.manifest["splits"][split]["tokens"][side] == expected[side]["tokens"]
            assert digest(sentences.ids) == expected[side]["sha256_of_int64_ids"]
            assert digest(sentences.lengths) == expected[side]["sha256_of_int64_lengths"]


def test_batches_are_the_same(name: str):
    prepared, settings, expected = PreparedData.open(FORMATS / name / "prepared"), config(name), EXPECTED[name]
    with BatchLoader.from_prepared(prepared, settings) as loader:
        for batch, known in zip(islice(loader, 8), expected["prepared"]["first_8_training_batches"], strict=True):
            assert batch.rows.tolist() == known["rows"]
            assert digest(batch.source.numpy()) == known["sha256_of_int64_source"]
            assert digest(batch.labels.numpy()) == known["sha256_of_int64_labels"]
