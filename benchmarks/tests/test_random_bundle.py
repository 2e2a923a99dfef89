"""Bundles that were never trained: what a seed decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from testkit.random_bundle import SIZES, random_bundle


@pytest.mark.parametrize("preset", SIZES)
def test_a_seed_decides(tmp_path: Path, preset: str):
    one, same, other = (
        random_bundle(tmp_path / name, preset, seed=seed) for name, seed in (("one", 1), ("same", 1), ("other", 2))
    )
    assert one.digest == same.digest
    assert one.digest != other.digest
    assert one.tokenizers()["source"].to_bytes() == other.tokenizers()["source"].to_bytes()
