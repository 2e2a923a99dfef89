"""Validation set, scorer and best score."""

import math

import pytest

from dragoman.config import TrainingConfig
from dragoman.stop_signal import StopRequested
from dragoman.training.callbacks.events import ValidationScores
from dragoman.training.step import RewardBaseline, objective
from dragoman.training.validator import BestScore, ValidationSet, is_better
from testkit.presets import EVERY_LENGTH, alone, fresh_model, sentences, tiny_config


def test_less_of_a_loss_and_more_of_a_score_is_better():
    assert is_better("loss", 1.0, than=2.0)
    assert not is_better("loss", 2.0, than=2.0)
    assert is_better("bleu", 2.0, than=1.0)
    assert not is_better("chrf", 1.0, than=1.0)
    for metric in ("loss", "bleu"):
        assert not is_better(metric, math.nan, than=1.0)


def test_the_loss_is_the_mean_over_all_tokens_without_dropout_and_smoothing():
    model = fresh_model(tiny_config("luong2015-desk"))
    batch = sentences(EVERY_LENGTH)
    config = TrainingConfig(label_smoothing=0.3)
    validation = ValidationSet([alone(batch, row) for row in range(len(EVERY_LENGTH))], config, None)
    loss, scored = validation.evaluate(model, lambda: None)
    plain = objective(model, batch, TrainingConfig(), None, RewardBaseline(0.0))
    assert loss == pytest.approx(float(plain.nll.detach()) / plain.tokens, rel=1e-5)
    assert scored == ValidationScores()


def test_the_scorer_sees_the_model_and_may_be_left_early():
    model = fresh_model(tiny_config("luong2015-desk"))
    asked = []

    def scorer(given, check):
        assert given is model
        check()
        return ValidationScores({"bleu": 3.0})

    validation = ValidationSet([sentences(EVERY_LENGTH)], TrainingConfig(), scorer)
    assert validation.evaluate(model, lambda: asked.append(1))[1].scores == {"bleu": 3.0}
    assert len(asked) == 2

    def stop() -> None:
        raise StopRequested

    with pytest.raises(StopRequested):
        validation.evaluate(model, stop)


def test_the_best_so_far_is_plain_values():
    best = BestScore(40, 1.5, validations_since=2)
    assert BestScore.from_json(best.to_json()) == best
