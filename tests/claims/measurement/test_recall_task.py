"""Delayed recall, and what recurrent cells do with it."""

from __future__ import annotations

import torch

from claims.ledger.measures import REACHED
from claims.measurement.gradient_distance import gradient_distance
from claims.measurement.recall_task import (
    RATES,
    STARTS,
    SYMBOLS,
    RecallModel,
    clipping_rates,
    recall_batch,
    recall_model,
    recall_reach,
)


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
    untrained = recall_reach(1, (4,), 1)
    assert max(untrained.values()) < [REACHED]
    learned = recall_reach(1, (1, 2), 100)
    assert learned["any 2"] >= [REACHED]
    assert learned["lstm 2"] == [max(learned[f"lstm-bias-{bias} 2"][0] for bias in (0, 1, 3))]


def test_starts_set_the_bias_of_the_gate_that_keeps_the_state_and_nothing_else():
    for cell, first, starts in (("lstm", 64, STARTS["lstm"]), ("gru-fused", 64, STARTS["gru-fused"])):
        low, *_, high = (recall_model(cell, start, 1).cell for start in starts)
        same = low.b == high.b
        assert same.nonzero().flatten().tolist() == [*range(first), *range(first + 64, len(low.b))]
        assert (high.b[first : first + 64] == 3).all()
        assert torch.equal(low.U, high.U)


def test_the_orthogonal_start_keeps_lengths():
    U = recall_model("rnn", STARTS["rnn"][1], 1).cell.U
    assert torch.allclose(U @ U.T, torch.eye(64), atol=1e-5)


def test_clipping_changes_nothing_where_the_gradient_is_small_and_keeps_a_large_rate_finite():
    samples = clipping_rates(1, 2, 20)
    assert set(samples) == {f"{name} {rate}" for name in ("clipped", "unclipped") for rate in RATES}
    assert all(0 <= share <= 1 for shares in samples.values() for share in shares)


def test_gradients_of_a_plain_cell_vanish_and_those_of_large_weights_do_not():
    samples = gradient_distance(1, (1, 16), 5, 64)
    assert max(samples["rnn 16"]) < 0.01 * min(samples["rnn 1"])
    assert min(samples["rnn-large 16"]) > max(samples["rnn 16"])
