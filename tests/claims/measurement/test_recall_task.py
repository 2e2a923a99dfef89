"""Delayed recall, and what recurrent cells do with it."""

from __future__ import annotations

import torch

from claims.measurement.gradient_distance import clipping, gradient_distance
from claims.measurement.recall_task import SYMBOLS, RecallModel, recall_batch, recall_lag


def test_the_answer_is_the_first_symbol_and_occurs_nowhere_else():
    inputs, answers = recall_batch(5, 20, torch.Generator().manual_seed(1))
    assert inputs.shape == (20, 7)
    assert torch.equal(inputs[:, 0], answers)
    assert ((inputs[:, 1:-1] >= SYMBOLS) & (inputs[:, 1:-1] < 2 * SYMBOLS)).all()
    assert (inputs[:, -1] == 2 * SYMBOLS).all()


def test_the_model_answers_after_the_question():
    torch.manual_seed(1)
    assert RecallModel("lstm", 4)(recall_batch(3, 2, torch.Generator().manual_seed(1))[0]).shape == (2, SYMBOLS)


def test_a_short_lag_is_learned_and_none_without_updates():
    assert recall_lag(1, ("gru-fused",), (1, 2), 300) == {"gru-fused": [2.0]}
    assert recall_lag(1, ("gru-fused",), (4,), 1) == {"gru-fused": [2.0]}
    assert recall_lag(1, ("gru-fused",), (4,), 300) == {"gru-fused": [4.0]}


def test_gradients_of_a_plain_cell_vanish_and_those_of_large_weights_do_not():
    samples = gradient_distance(1, (1, 16), 5, 64)
    assert max(samples["rnn 16"]) < 0.01 * min(samples["rnn 1"])
    assert min(samples["rnn-large 16"]) > max(samples["rnn 16"])


def test_the_largest_loss_of_both_conditions_starts_with_the_same_weights():
    samples = clipping(1, 2, 1, 4)
    assert samples["clipped"] == samples["unclipped"]
