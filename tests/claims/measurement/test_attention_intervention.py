"""Interventions on attention weights."""

from __future__ import annotations

import pytest
import torch

from claims.measurement.attention_intervention import drop_top, intervene, keep_top, shuffle, uniform
from dragoman.config import parse_config
from dragoman.data.batch import Batch
from dragoman.errors import ConfigError
from dragoman.models.build import build_model

WEIGHTS = torch.tensor([[0.5, 0.3, 0.2, 0.0], [0.1, 0.6, 0.2, 0.1]])
RNN = {"family": "rnn", "embedding": 8, "encoder": {"hidden": 8}, "decoder": {"hidden": 8}}
TRANSFORMER = {"family": "transformer", "dim": 8, "heads": 2, "feedforward": 8}


def test_keeping_the_largest_weights_scales_them_to_one():
    assert torch.allclose(keep_top(2)(WEIGHTS), torch.tensor([[0.625, 0.375, 0.0, 0.0], [0.0, 0.75, 0.25, 0.0]]))


def test_keeping_more_weights_than_positions_changes_nothing():
    assert torch.allclose(keep_top(9)(WEIGHTS), WEIGHTS)


def test_dropping_the_largest_weight_scales_the_rest_to_one():
    assert torch.allclose(drop_top(1)(WEIGHTS), torch.tensor([[0.0, 0.6, 0.4, 0.0], [0.25, 0.0, 0.5, 0.25]]))


def test_the_only_weight_is_not_dropped():
    assert drop_top(1)(torch.tensor([[1.0, 0.0]])).tolist() == [[1.0, 0.0]]


def test_uniform_weights_leave_padding_at_zero():
    assert torch.allclose(uniform()(WEIGHTS)[0], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0]))


def test_shuffling_permutes_the_weights_of_real_positions_only():
    rows = WEIGHTS[:1].expand(200, -1)
    shuffled = shuffle()(rows)
    assert torch.allclose(shuffled.sort(-1).values, rows.sort(-1).values)
    assert (shuffled[:, 3] == 0).all()
    assert len({tuple(row.tolist()) for row in shuffled}) == 6


@pytest.mark.parametrize("model", [RNN, TRANSFORMER])
def test_a_model_decodes_with_the_edited_weights_and_is_unchanged_afterwards(model: dict[str, object]):
    network = build_model(parse_config({"model": model}).model, 20, 20).eval()
    batch = Batch.from_pairs([([4, 5, 6, 7], [8, 9, 10])])
    inputs = (batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
    with torch.inference_mode():
        before = network(*inputs, return_attention=True)
        with intervene(network, keep_top(1)):
            edited = network(*inputs, return_attention=True)
            fused = network(*inputs)
        after = network(*inputs, return_attention=True)
    assert ((edited.alignment.weights > 0).sum(-1) == 1).all()
    assert torch.allclose(edited.features, fused.features, atol=1e-6)
    assert not torch.allclose(before.features, edited.features, atol=1e-4)
    assert torch.equal(before.features, after.features)


def test_a_model_without_attention_is_rejected():
    plain = RNN | {"decoder": {"hidden": 8, "attend": "none"}}
    network = build_model(parse_config({"model": plain}).model, 20, 20)
    with pytest.raises(ConfigError, match="needs a model with global attention"), intervene(network, uniform()):
        pass
