"""What a model costs, against counts made by hand."""

from __future__ import annotations

from dragoman.config import Config
from dragoman.models import build_model
from dragoman.models.summary import summarize


def config(**model: object) -> Config:
    return Config.model_validate({"tokenizer": {"size": 50}, "model": model})


def test_parameters_are_those_of_the_model_and_tied_weights_count_once():
    for tie in ("none", "target", "all"):
        described = config(family="transformer", dim=8, heads=2, feedforward=16, tie=tie)
        model = build_model(described.model, 50, 50)
        assert summarize(described).parameters == sum(p.numel() for p in model.parameters())


def test_a_transformer_costs_what_its_products_cost():
    d, f, v, n, layers = 8, 16, 50, 10, 2
    described = config(
        family="transformer", dim=d, heads=2, feedforward=f, encoder_layers=layers, decoder_layers=layers
    )
    cost = summarize(described, length=n).cost
    block = 4 * d * d + 2 * d * f + 2 * n * d  # projections, feed-forward, scores and contexts: multiplications a token
    attend = 4 * d * d + 2 * n * d
    by_hand = 2 * (layers * block + layers * (block + attend) + d * v)
    assert cost.forward_flops == by_hand
    assert 2.9 * by_hand < cost.training_flops <= 3 * by_hand
    assert cost.memory_bytes == layers * 2 * d * 4 + layers  # keys, values, and a mask byte
    assert cost.state_growth_bytes == layers * 2 * d * 4


def test_a_recurrent_decoder_keeps_a_state_that_does_not_grow():
    described = config(
        family="rnn",
        embedding=8,
        encoder={"layers": 1, "hidden": 8},
        decoder={"layers": 2, "hidden": 8, "input_feeding": True},
    )
    cost = summarize(described).cost
    assert cost.state_growth_bytes == 0
    assert cost.state_bytes == 4 * (2 * 2 * 8 + 8) + 8  # two layers of (h, C), the fed state, and the position
    assert cost.memory_bytes == 4 * 8 + 1


def test_costs_of_sizes_no_machine_could_hold():
    described = config(
        family="transformer", dim=65_536, heads=64, feedforward=131_072, encoder_layers=4, decoder_layers=4
    )
    assert summarize(described, length=2).parameters > 10**11


def test_r_drop_trains_on_every_pair_twice():
    described = config(family="transformer", dim=8, heads=2, feedforward=16)
    twice = described.model_copy(update={"training": described.training.model_copy(update={"r_drop": 5.0})})
    once, both = summarize(described).cost, summarize(twice).cost
    assert both.forward_flops == once.forward_flops
    assert (both.training_flops, both.training_bytes) == (2 * once.training_flops, 2 * once.training_bytes)
