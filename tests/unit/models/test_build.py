"""A configuration and a seed decide a model; nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dragoman.bundle import Bundle, write_bundle
from dragoman.config import Config, TransformerConfig, load_config
from dragoman.errors import BundleError, ConfigError
from dragoman.models import build
from dragoman.models.build import build_model, load_model, model_cost
from dragoman.models.transformer import TransformerEncoder
from dragoman.text import SentencePieceTokenizer, train_sentencepiece
from testkit.presets import MODELS, tiny_config

TEXT = ["the house is small", "das Haus ist klein", "a small house"] * 20


def weights(seed: int) -> list[torch.Tensor]:
    return list(build_model(TransformerConfig(family="transformer", dim=8), 9, 9, seed).state_dict().values())


def test_the_seed_decides_the_weights_and_the_ambient_generator_is_left_alone():
    before = torch.get_rng_state()
    first = weights(3)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(5)
    assert all(torch.equal(a, b) for a, b in zip(first, weights(3), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, weights(4), strict=True))


def test_weights_that_do_not_fit_into_memory_are_an_error_in_one_line(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 byte")

    monkeypatch.setattr(build, "_rnn", refuse)
    config = load_config("luong2015-desk").model
    with pytest.raises(ConfigError, match="do not fit into memory; use a smaller model"):
        build_model(config, 10, 10)
    with pytest.raises(ConfigError, match=r"model\.dim must be less than or equal to 131072"):
        load_config("vaswani2017-desk", [f"model.dim={10**15}"])


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
def test_every_kind_of_model_has_a_cost(name: str):
    described = Config.model_validate({"tokenizer": {"size": 20}, "model": tiny_config(name).model_dump()})
    cost = model_cost(described, length=4)
    assert cost.parameters > 0
    assert cost.training_flops > 2 * cost.forward_flops
    assert cost.training_bytes > 0


@pytest.fixture(scope="module")
def tokenizer() -> SentencePieceTokenizer:
    return train_sentencepiece(TEXT, size=300)


def bundle_of(folder: Path, name: str, tokenizer: SentencePieceTokenizer, *, other: str = "") -> Bundle:
    """A bundle of one model; with the weights of another, where one is named."""
    config: Config = load_config(name.split(" + ", maxsplit=1)[0]).model_copy(update={"model": tiny_config(name)})
    torch.manual_seed(5)
    model = build_model(tiny_config(other or name), tokenizer.size, tokenizer.size, seed=5)
    weights = {each: parameter.detach().numpy() for each, parameter in model.named_parameters()}
    return write_bundle(folder, config, weights, {"source": tokenizer, "target": tokenizer}, "# A card\n")


@pytest.mark.parametrize("name", ["luong2015-desk", "xu2015-desk", "cho2014-desk", "vaswani2017-desk"])
def test_the_model_comes_back(name: str, tokenizer: SentencePieceTokenizer, tmp_path: Path):
    bundle = bundle_of(tmp_path / "bundle", name, tokenizer)
    model = load_model(Bundle.open(tmp_path / "bundle"))
    weights = bundle.weights()
    found = dict(model.named_parameters())
    assert found.keys() == weights.keys()
    assert all(torch.equal(found[each], torch.from_numpy(weights[each])) for each in weights)
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_weights_of_another_model_are_refused(tokenizer: SentencePieceTokenizer, tmp_path: Path):
    with pytest.raises(BundleError, match="not those of the model that its configuration describes"):
        bundle_of(tmp_path / "bundle", "luong2015-desk", tokenizer, other="cho2014-desk")
