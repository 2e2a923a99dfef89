"""From a bundle to its model."""

from pathlib import Path

import pytest
import torch

from dragoman.bundle import Bundle, write_bundle
from dragoman.config import Config, load_config
from dragoman.errors import BundleError
from dragoman.models.build import build_model
from dragoman.models.load import load_model
from dragoman.text import SentencePieceTokenizer, train_sentencepiece
from testkit.presets import tiny_config

TEXT = ["the house is small", "das Haus ist klein", "a small house"] * 20


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
    with pytest.raises(BundleError, match="must be those of the model that its configuration describes"):
        bundle_of(tmp_path / "bundle", "luong2015-desk", tokenizer, other="cho2014-desk")
