"""Copying and reversing sequences."""

from __future__ import annotations

import pytest
import torch

from claims.measurement.word_order import TASKS, train_on_task, word_order
from dragoman.config import RnnConfig
from dragoman.data.batch import Batch
from dragoman.models.base import greedy_tokens
from dragoman.models.build import build_model
from dragoman.text import EOS_ID


def test_every_model_has_shares_of_both_tasks_and_lengths():
    samples = word_order(1, updates=1, test=3)
    names = ("rnn", "transformer", "no-positions")
    assert set(samples) == {f"{n} {task} {where}" for n in names for task in TASKS for where in ("trained", "longer")}
    assert all(len(shares) == 3 and 0 <= min(shares) <= max(shares) <= 1 for shares in samples.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "task", [pytest.param(each, marks=pytest.mark.long if each != "copy" else ()) for each in TASKS]
)
def test_a_recurrent_model_learns_the_task(task: str):
    part = {"layers": 1, "hidden": 64}
    table = {"family": "rnn", "embedding": 64, "dropout": 0.0, "encoder": part, "decoder": part}
    model = build_model(RnnConfig.model_validate(table), 20, 20)
    words = [EOS_ID + 1 + number for number in (3, 1, 4, 1, 5)]
    train_on_task(model, task, 1, 500)
    found = greedy_tokens(model, Batch.from_pairs([(words, words)]), 6)[0].tolist()
    assert found == [*(words if task == "copy" else words[::-1]), EOS_ID]


def test_decoding_is_deterministic():
    part = {"layers": 1, "hidden": 8}
    table = {"family": "rnn", "embedding": 8, "encoder": part, "decoder": part}
    model = build_model(RnnConfig.model_validate(table), 20, 20)
    batch = Batch.from_pairs([([5, 6], [6, 5])])
    assert torch.equal(greedy_tokens(model, batch, 3), greedy_tokens(model, batch, 3))
