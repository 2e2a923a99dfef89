"""Recurrent models, small and with random weights, as bundles."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dragoman.bundle import Bundle, write_bundle
from dragoman.config import load_config
from dragoman.models.build import build_model
from dragoman.text import EOS_ID, train_words

_SIZES = ("embedding=8", "encoder.hidden=12", "decoder.hidden=12", "decoder.output_hidden=8")


def tiny_recurrent(folder: Path, *overrides: str, preset: str = "bahdanau2015-desk", end: float = 2.0) -> Bundle:
    """A bundle of a preset made small; `end` makes the end of a sentence more likely."""
    sizes = [f"model.{size}" for size in _SIZES]
    config = load_config(preset, [*sizes, "tokenizer.kind=word", "tokenizer.joint=false", *overrides])
    source = train_words([" ".join(f"s{number}" for number in range(60))], size=64)
    target = train_words([" ".join(f"t{number}" for number in range(40))], size=44)
    generator = np.random.default_rng(1)
    model = build_model(config.model, source.size, target.size)
    weights = {
        name: generator.normal(0.0, 0.4, tuple(parameter.shape)).astype(np.float32)
        for name, parameter in model.named_parameters()
    }
    weights["decoder.output.bias"][EOS_ID] += end
    return write_bundle(folder, config, weights, {"source": source, "target": target}, "card")
