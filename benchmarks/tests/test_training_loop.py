"""Small version of the training-loop benchmark, in CPU time so that other processes do not matter."""

import time
from pathlib import Path

import pytest

from benchmarks.training_loop import compare
from dragoman.config import Config, TransformerConfig
from dragoman.data.loader import BatchLoader
from testkit.tiny_project import tiny_project, tiny_training

BOUND = 0.85
ROUNDS = 9


@pytest.fixture
def config() -> Config:
    """A small model whose update takes tens of milliseconds."""
    settings = ("training.micro_batches=1", "training.batch_tokens=512", "training.log_every=50")
    every = ("training.checkpoint_every=500", "training.validate_every=100000")
    model = TransformerConfig(family="transformer", dim=128, heads=4, feedforward=512, tie="none")
    return tiny_training("vaswani2017-desk", *settings, *every).model_copy(update={"model": model})


@pytest.mark.long
def test_loop_overhead_is_small(config: Config, tmp_path: Path):
    found = compare(config, tiny_project().folder, tmp_path / "run", every=4, rounds=ROUNDS, clock=time.process_time)
    assert len(found.ratios) >= ROUNDS
    assert found.ratio >= BOUND, found


@pytest.mark.long
def test_slow_loop_is_detected(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fast = compare(config, tiny_project().folder, tmp_path / "fast", every=4, rounds=3, clock=time.process_time)
    plain = sum(fast.plain) / len(fast.plain) / 4
    draw = BatchLoader.__next__

    def slow(loader: BatchLoader):
        end = time.process_time() + 0.5 * plain
        while time.process_time() < end:
            pass
        return draw(loader)

    monkeypatch.setattr(BatchLoader, "__next__", slow)
    found = compare(config, tiny_project().folder, tmp_path / "slow", every=4, rounds=ROUNDS, clock=time.process_time)
    assert found.ratio < BOUND, found
