"""Weights and optimizer state as plain tensors by name: there and back."""

import copy

import pytest
import torch

from dragoman.config import TrainingConfig
from dragoman.training.checkpoint.state_tensors import (
    gather_optimizer_state,
    gather_weights,
    load_optimizer_state,
    load_weights,
)
from dragoman.training.optimizer import OPTIMIZERS, build_optimizer
from dragoman.training.step import train_step
from testkit.presets import EVERY_LENGTH, fresh_model, sentences, tiny_config

TIED = "luong2015-desk + model.encoder.bidirectional=true + model.tie=all"


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_an_optimizer_goes_on_as_if_it_had_never_been_put_away(optimizer: str):
    config = TrainingConfig.model_validate({"optimizer": optimizer, "learning_rate": 0.1})
    batch = sentences(EVERY_LENGTH)
    model = fresh_model(tiny_config(TIED))
    rule = build_optimizer(model, config)
    for update in (1, 2):
        train_step(model, rule, batch, config, update)
    tensors = {name: tensor.clone() for name, tensor in gather_optimizer_state(model, rule).items()}
    weights = {name: tensor.clone() for name, tensor in gather_weights(model).items()}
    other = fresh_model(tiny_config(TIED))
    fresh = build_optimizer(other, config)
    load_weights(other, weights)
    load_optimizer_state(other, fresh, tensors)
    for update in (3, 4):
        train_step(model, rule, batch, config, update)
        train_step(other, fresh, batch, config, update)
    for name, tensor in gather_weights(model).items():
        assert torch.equal(tensor, gather_weights(other)[name]), name
    again = gather_optimizer_state(other, fresh)
    assert again.keys() == tensors.keys()
    assert all(torch.equal(tensor, again[name]) for name, tensor in gather_optimizer_state(model, rule).items())


def test_names_and_what_they_hold():
    model = fresh_model(tiny_config(TIED))
    weights = gather_weights(model)
    assert list(weights) == [name for name, _ in model.named_parameters()], "tied ones once"
    assert len({tensor.data_ptr() for tensor in weights.values()}) == len(weights)
    rule = build_optimizer(model, TrainingConfig())
    assert gather_optimizer_state(model, rule) == {}
    train_step(model, rule, sentences(EVERY_LENGTH), TrainingConfig(), 1)
    first = next(iter(weights))
    assert {"exp_avg", "exp_avg_sq", "step"} == {
        place.split("/")[0] for place in gather_optimizer_state(model, rule) if place.endswith(f"/{first}")
    }


def test_loading_copies():
    model = fresh_model(tiny_config(TIED))
    weights = copy.deepcopy(gather_weights(model))
    load_weights(model, weights)
    name = next(iter(weights))
    weights[name].fill_(7.0)
    assert not torch.equal(gather_weights(model)[name], weights[name])


def test_other_names_are_a_mistake_of_ours():
    with pytest.raises(AssertionError):
        load_weights(fresh_model(tiny_config(TIED)), {"nothing": torch.ones(1)})
