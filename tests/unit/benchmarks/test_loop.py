"""The loop's own cost, in small: a loop that does something slow at each update is found out."""

import time
from pathlib import Path

import pytest

from benchmarks.loop import compare
from dragoman.config import Config, TransformerConfig
from dragoman.data.loader import Loader
from tests.equivalence.tiny_project import tiny_project, tiny_training

BOUND = 0.85
ROUNDS = 9


@pytest.fixture
def config() -> Config:
    """Small, and yet an update takes some tens of milliseconds."""
    settings = ("training.micro_batches=1", "training.batch_tokens=512", "training.log_every=50")
    every = ("training.checkpoint_every=500", "training.validate_every=100000")
    model = TransformerConfig(family="transformer", dim=128, heads=4, feedforward=512, tie="none")
    return tiny_training("vaswani2017-desk", *settings, *every).model_copy(update={"model": model})


@pytest.mark.slow
def test_the_loop_costs_little_beside_the_plain_step(config: Config, tmp_path: Path):
    found = compare(config, tiny_project().folder, tmp_path / "run", every=4, rounds=ROUNDS)
    assert len(found.ratios) >= ROUNDS
    assert found.ratio >= BOUND, found


@pytest.mark.slow
def test_a_slow_loop_is_found_out(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fast = compare(config, tiny_project().folder, tmp_path / "fast", every=4, rounds=3)
    plain = sum(fast.plain) / len(fast.plain) / 4
    draw = Loader.__next__

    def slow(loader: Loader):
        time.sleep(0.5 * plain)
        return draw(loader)

    monkeypatch.setattr(Loader, "__next__", slow)
    found = compare(config, tiny_project().folder, tmp_path / "slow", every=4, rounds=ROUNDS)
    assert found.ratio < BOUND, found
