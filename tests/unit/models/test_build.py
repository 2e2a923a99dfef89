"""A configuration and a seed decide a model; nothing else does."""

from __future__ import annotations

import pytest
import torch

from dragoman.config import Config, TransformerConfig
from dragoman.errors import ConfigError
from dragoman.models import build_model
from dragoman.models.summary import summarize
from dragoman.models.transformer import TransformerEncoder
from testkit.presets import MODELS, tiny_config


def weights(seed: int) -> list[torch.Tensor]:
    return list(build_model(TransformerConfig(family="transformer", dim=8), 9, 9, seed).state_dict().values())


def test_the_seed_decides_the_weights_and_the_ambient_generator_is_left_alone():
    before = torch.get_rng_state()
    first = weights(3)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(5)
    assert all(torch.equal(a, b) for a, b in zip(first, weights(3), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, weights(4), strict=True))


def test_tied_vocabularies_must_be_of_one_size():
    with pytest.raises(ConfigError, match=r"model\.tie must be target or none"):
        build_model(TransformerConfig(family="transformer", tie="all"), 9, 10)


def test_no_positions_are_zero_also_on_memory_that_was_never_written():
    config = TransformerConfig(family="transformer", dim=8, heads=2, positions="none")
    with torch.device("meta"):
        model = build_model(config, 9, 9)
    model = model.to_empty(device="cpu")
    assert isinstance(model.encoder, TransformerEncoder)
    assert torch.equal(model.encoder.positions(torch.arange(3)).float(), torch.zeros(()))


@pytest.mark.parametrize("name", MODELS, ids=str)
def test_every_kind_of_model_can_be_summarized(name: str):
    described = Config.model_validate({"tokenizer": {"size": 20}, "model": tiny_config(name).model_dump()})
    summary = summarize(described, length=4)
    assert summary.parameters > 0
    assert summary.cost.training_flops > 2 * summary.cost.forward_flops
    assert summary.cost.training_bytes > 0
