"""Tiny bundles with random weights, for tests in which quality does not matter."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.bundle import Bundle, write_bundle
from dragoman.bundle.weights import weight_shapes
from dragoman.config import Config, load_config
from dragoman.models import build_model
from dragoman.text import Tokenizer, train_sentencepiece

TRANSFORMER = [
    f"model.{size}" for size in ("dim=32", "heads=2", "feedforward=64", "encoder_layers=1", "decoder_layers=1")
]
RNN = [f"model.{part}.{size}" for part in ("encoder", "decoder") for size in ("layers=1", "hidden=32")]
RNN += ["model.embedding=32"]
SIZES = {
    "vaswani2017-desk": TRANSFORMER,
    "kim2019-ssru-desk": TRANSFORMER,
    "luong2015-desk": RNN,
    "bahdanau2015-desk": RNN,
}

LETTERS = "abcdefghijklmnopqrstuvwxyzäöüßéčж中"


def words(seed: int, count: int) -> list[str]:
    """Invented words."""
    draw = random.Random(seed)
    return ["".join(draw.choices(LETTERS, k=draw.randint(1, 8))) for _ in range(count)]


def constant_weights(config: Config, tokenizers: Mapping[str, Tokenizer], value: float = 1.0) -> dict[str, Any]:
    """Weights of the model of a configuration, all equal, for tests of files; use small sizes."""
    sizes = [tokenizers[side].size for side in ("source", "target")]
    return {name: np.full(shape, value, np.float32) for name, shape in weight_shapes(config.model, *sizes)}


def random_bundle(
    folder: Path,
    preset: str = "vaswani2017-desk",
    *,
    seed: int = 1,
    tokens: int = 400,
    languages: tuple[str, str] | None = None,
) -> Bundle:
    """Write a tiny bundle of the preset's kind with a joint tokenizer; the same for the same seed.

    Tokenizers are the same for every seed, so bundles of several seeds may translate together.
    """
    draw = random.Random(0)
    vocabulary = words(0, 300)
    text = [" ".join(draw.choices(vocabulary, k=8)) for _ in range(500)]
    tokenizer = train_sentencepiece(text, size=tokens)
    data = (
        [f"data.source={languages[0]}", f"data.target={languages[1]}", 'data.train=[{files=["a", "b"]}]']
        if languages
        else []
    )
    config = load_config(preset, [*SIZES[preset], f"tokenizer.size={tokens}", "tokenizer.joint=true", *data])
    model = build_model(config.model, tokenizer.size, tokenizer.size, seed=seed)
    weights = {name: (3 * parameter).detach().numpy() for name, parameter in model.named_parameters()}
    tokenizers = {"source": tokenizer, "target": tokenizer}
    return write_bundle(folder, config, weights, tokenizers, "# Never trained\n")
