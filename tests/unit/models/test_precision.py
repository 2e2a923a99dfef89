"""What bfloat16 may touch, and what it may not."""

from __future__ import annotations

import pytest
import torch

from dragoman.config import AttentionConfig, RnnConfig
from dragoman.data.batch import Batch
from dragoman.models import build_model
from dragoman.nn.attention.single_head import build_attention
from dragoman.nn.embedding import Output
from dragoman.nn.recurrent import CELLS
from dragoman.training.step import cross_entropy


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("attend", ["none", "before", "after"])
def test_states_stay_in_float32_under_autocast(cell: str, attend: str):
    shape = {"cell": cell, "layers": 2, "hidden": 8}
    config = RnnConfig.model_validate(
        {
            "family": "rnn",
            "embedding": 8,
            "encoder": shape | {"bidirectional": True, "join": "linear"},
            "decoder": shape | {"attend": attend},
        }
    )
    model = build_model(config, 20, 20)
    batch = Batch.from_pairs([([5, 6, 7], [8, 9]), ([4], [5])])
    with torch.autocast("cpu", torch.bfloat16):
        memory = model.encode(batch.source, batch.source_lengths)
        step = model.decoder.step(batch.inputs[:, 0], model.decoder.start(memory), memory)
        decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
    for layer in step.state.layers:
        assert all(part.dtype == torch.float32 for part in layer)
    assert step.log_probs.dtype == torch.float32
    decoded.features.float().sum().backward()


def test_local_p_finds_its_place_in_a_long_sentence_with_weights_in_bfloat16():
    torch.manual_seed(0)
    attention = build_attention(AttentionConfig(alignment="local-p", window=4), 16, 16)
    states, query, lengths = torch.randn(1, 3000, 16), torch.randn(1, 5, 16), torch.tensor([3000])
    positions = torch.arange(5)
    _, wide = attention(query, attention.make_memory(states, states, lengths), positions)
    attention = attention.bfloat16()
    narrow_states = states.bfloat16()
    memory = attention.make_memory(narrow_states, narrow_states, lengths)
    _, narrow = attention(query.bfloat16(), memory, positions)
    assert narrow.centre is not None
    assert wide.centre is not None
    assert narrow.centre.dtype == torch.float32
    assert not torch.equal(narrow.centre, narrow.centre.bfloat16().float()), "a place above 256 needs more digits"
    gaussian = narrow.weights / narrow.weights.sum(-1, keepdim=True)
    assert (gaussian.diff(dim=-1) != 0).all(), "neighbouring places have weights of their own"


def test_the_loss_of_weights_in_bfloat16_is_that_of_the_output_layer():
    torch.manual_seed(0)
    output = Output(16, 500).bfloat16()
    features, labels = torch.randn(4, 60, 16).bfloat16(), torch.randint(0, 500, (4, 60))
    likelihood = cross_entropy(output, features, labels, torch.full((4,), 60), chunk=50)
    expected = -output(features).detach().gather(-1, labels.unsqueeze(-1)).sum()
    assert likelihood.total.dtype == torch.float32
    assert float(likelihood.total.detach()) == pytest.approx(float(expected), rel=1e-6)


def test_a_mean_over_any_number_of_tokens_scales_gradients_without_bias():
    """1/4099 has no near neighbour in bfloat16; the gradient of features must not be off by that rounding."""
    torch.manual_seed(0)
    output, labels = Output(16, 50), torch.randint(0, 50, (1, 400))
    features = torch.randn(1, 400, 16, requires_grad=True)
    ratios = []
    for tokens in (1, 4099):
        with torch.autocast("cpu", torch.bfloat16):
            total = cross_entropy(output, features, labels, torch.tensor([400])).total
        (gradient,) = torch.autograd.grad(total / tokens, features)
        ratios.append(float(gradient.double().norm()) * tokens)
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-4)
