"""Looking at the validation set."""

import math

import pytest

from dragoman.config import TrainingConfig
from dragoman.stopping import Stopped
from dragoman.training.losses import Baseline
from dragoman.training.progress import Scored
from dragoman.training.step import objective
from dragoman.training.validation import Best, Validation, better
from tests.presets import EVERY_LENGTH, alone, fresh_model, sentences, tiny_config


def test_less_of_a_loss_and_more_of_a_score_is_better():
    assert better("loss", 1.0, than=2.0)
    assert not better("loss", 2.0, than=2.0)
    assert better("bleu", 2.0, than=1.0)
    assert not better("chrf", 1.0, than=1.0)
    for metric in ("loss", "bleu"):
        assert not better(metric, math.nan, than=1.0)


def test_the_loss_is_the_mean_over_all_pieces_without_dropout_and_smoothing():
    model = fresh_model(tiny_config("luong2015-desk"))
    batch = sentences(EVERY_LENGTH)
    config = TrainingConfig(label_smoothing=0.3)
    validation = Validation([alone(batch, row) for row in range(len(EVERY_LENGTH))], config, None)
    loss, scored = validation.look(model, lambda: None)
    plain = objective(model, batch, TrainingConfig(), None, Baseline(0.0))
    assert loss == pytest.approx(float(plain.nll.detach()) / plain.tokens, rel=1e-5)
    assert scored == Scored()


def test_the_scorer_sees_the_model_and_may_be_left_early():
    model = fresh_model(tiny_config("luong2015-desk"))
    asked = []

    def scorer(given, check):
        assert given is model
        check()
        return Scored({"bleu": 3.0})

    validation = Validation([sentences(EVERY_LENGTH)], TrainingConfig(), scorer)
    assert validation.look(model, lambda: asked.append(1))[1].scores == {"bleu": 3.0}
    assert len(asked) == 2

    def stop() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        validation.look(model, stop)


def test_the_best_so_far_is_plain_values():
    best = Best(40, 1.5, since=2)
    assert Best.from_json(best.to_json()) == best
