"""The names and shapes of the weights of every model are known without building it."""

import itertools
import time

import pytest

from dragoman.bundle.weights import weight_shapes
from dragoman.config import ModelConfig, TransformerConfig, parse_config
from dragoman.errors import ConfigError
from testkit.presets import MODELS, SOURCE_VOCAB, TARGET_VOCAB, fresh_model, tiny_config


def check(config: ModelConfig) -> None:
    source = TARGET_VOCAB if config.tie == "all" else SOURCE_VOCAB
    wanted = {name: tuple(parameter.shape) for name, parameter in fresh_model(config).named_parameters()}
    found = list(weight_shapes(config, source, TARGET_VOCAB))
    assert dict(found) == wanted
    assert len(found) == len(wanted)


@pytest.mark.parametrize("name", MODELS)
def test_they_are_those_of_the_model(name: str):
    check(tiny_config(name))


def test_they_are_those_of_every_transformer():
    choices = itertools.product(("post", "pre"), ("sinusoidal", "learned", "none"), ("none", "target", "all"))
    for norm, positions, tie in choices:
        sizes = {"dim": 6, "heads": 2, "feedforward": 5, "encoder_layers": 2, "decoder_layers": 1, "max_positions": 7}
        table = {"family": "transformer", "norm": norm, "positions": positions, "tie": tie} | sizes
        check(TransformerConfig.model_validate(table))
        more = {"attention_bias": True, "decoder": "ssru", "position_offset": 2}
        check(TransformerConfig.model_validate(table | more))


def test_the_first_shapes_of_the_largest_model_take_no_time():
    config = parse_config({"model": {"family": "transformer", "encoder_layers": 1000, "dim": 2**17, "heads": 1}})
    assert len(list(itertools.islice(weight_shapes(config.model, 9, 9), 1000))) == 1000


@pytest.mark.parametrize("heads", [10**18, 2**17 - 2])
def test_the_advice_on_heads_takes_no_time(heads: int):
    began = time.process_time()
    with pytest.raises(ConfigError, match=r"model\.heads must divide"):
        parse_config({"model": {"family": "transformer", "dim": 2**17 - 1, "heads": heads}})
    assert time.process_time() - began < 1


def test_the_window_of_local_attention_is_limited():
    with pytest.raises(ConfigError, match=r"model\.attention\.window"):
        parse_config({"model": {"family": "rnn", "attention": {"window": 10**9}}})
