"""What a model costs, against counts made by hand."""

from __future__ import annotations

from dragoman.config import Config
from dragoman.models import build_model
from dragoman.models.build import model_cost


def config(**model: object) -> Config:
    return Config.model_validate({"tokenizer": {"size": 50}, "model": model})


def test_parameters_are_those_of_the_model_and_tied_weights_count_once():
    for tie in ("none", "target", "all"):
        described = config(family="transformer", dim=8, heads=2, feedforward=16, tie=tie)
        model = build_model(described.model, 50, 50)
        assert model_cost(described).parameters == sum(p.numel() for p in model.parameters())


def test_a_transformer_costs_what_its_products_cost():
    d, f, v, n, layers = 8, 16, 50, 10, 2
    described = config(
        family="transformer", dim=d, heads=2, feedforward=f, encoder_layers=layers, decoder_layers=layers
    )
    cost = model_cost(described, length=n)
    block = 4 * d * d + 2 * d * f + 2 * n * d  # projections, feed-forward, scores and contexts: multiplications a token
    attend = 4 * d * d + 2 * n * d
    by_hand = 2 * (layers * block + layers * (block + attend) + d * v)
    assert cost.forward_flops == by_hand
    assert 2.9 * by_hand < cost.training_flops <= 3 * by_hand


def test_costs_of_sizes_no_machine_could_hold():
    described = config(
        family="transformer", dim=65_536, heads=64, feedforward=131_072, encoder_layers=4, decoder_layers=4
    )
    assert model_cost(described, length=2).parameters > 10**11


def test_r_drop_trains_on_every_pair_twice():
    described = config(family="transformer", dim=8, heads=2, feedforward=16)
    twice = described.model_copy(update={"training": described.training.model_copy(update={"r_drop": 5.0})})
    once, both = model_cost(described), model_cost(twice)
    assert both.forward_flops == once.forward_flops
    assert (both.training_flops, both.training_bytes) == (2 * once.training_flops, 2 * once.training_bytes)
