"""The check that users can make on their own data."""

import pytest

from dragoman.config import Config
from dragoman.training import checkpoint
from testkit.resume_check import verify_resume
from testkit.tiny_project import tiny_project, tiny_training


@pytest.fixture
def config() -> Config:
    return tiny_training("luong2015-desk", "training.ema_decay=0.9", "training.patience=1", "training.stop_on=bleu")


def test_the_same_bits(config: Config):
    verdict = verify_resume(config, tiny_project().folder, updates=6, stops=(2, 3))
    assert verdict.differences == ()
    assert (verdict.updates, verdict.stops) == (6, (2, 3))
    assert verdict.tensors > 10
    assert not (tiny_project().folder / "run").exists()


def test_what_is_forgotten_is_found(config: Config, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkpoint, "load_optimizer_state", lambda *_: None)
    verdict = verify_resume(config, tiny_project().folder, updates=6, stops=(3,))
    assert any(name.startswith("weights ") for name in verdict.differences)
    assert any(name.startswith("optimizer ") for name in verdict.differences)
