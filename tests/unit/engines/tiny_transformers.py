"""Transformers of every kind, small and with random weights, as bundles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from dragoman.bundle import Bundle, write_bundle
from dragoman.config import load_config
from dragoman.models.build import build_model
from dragoman.text import BOS_ID, EOS_ID, PAD_ID, Tokenizer, train_words

KINDS: dict[str, dict[str, str]] = {
    "pre-norm, all tied": {},
    "post-norm": {"norm": "post"},
    "output tied": {"tie": "target"},
    "guided alignment": {"alignment_map": "guided"},
    "nothing tied, two vocabularies": {"tie": "none", "joint": "false"},
    "learned positions": {"positions": "learned", "max_positions": "40"},
    "no positions, post-norm": {"positions": "none", "norm": "post"},
    "biases, swish, sinusoids in halves": {
        "attention_bias": "true",
        "activation": "swish",
        "positions": "sinusoidal-halves",
        "norm": "post",
        "norm_epsilon": "0.1",
    },
    "gelu, no scale, tensor2tensor's sinusoids from 1": {
        "activation": "gelu",
        "scale_embeddings": "false",
        "positions": "sinusoidal-tensor2tensor",
        "position_offset": "1",
        "dim": "18",
        "heads": "3",
    },
    "learned positions from 2": {"positions": "learned", "max_positions": "40", "position_offset": "2"},
    "the end of the source is not encoded": {"source_end": "false"},
    "one layer": {"encoder_layers": "1", "decoder_layers": "1"},
    "unequal depths, odd width": {"encoder_layers": "1", "decoder_layers": "4", "dim": "15", "heads": "3"},
}

_SIZES = {"norm": "pre", "dim": "16", "heads": "2", "encoder_layers": "2", "decoder_layers": "3", "feedforward": "24"}


def tiny_transformer(
    folder: Path, settings: Mapping[str, str] = MappingProxyType({}), *, seed: int = 1, end: float = 0.0
) -> Bundle:
    """A bundle; `settings` are those of the model, and `joint`. `end` makes the end of a sentence more likely."""
    model_settings = _SIZES | dict(settings)
    joint = model_settings.pop("joint", "true")
    overrides = [f"model.{name}={value}" for name, value in model_settings.items()]
    config = load_config("vaswani2017-desk", [*overrides, "tokenizer.kind=word", f"tokenizer.joint={joint}"])
    source = train_words([" ".join(f"s{number}" for number in range(60))], size=64)
    target: Tokenizer = source
    if joint == "false":
        target = train_words([" ".join(f"t{number}" for number in range(40))], size=44)
    model = build_model(config.model, source.size, target.size, seed)
    generator = np.random.default_rng(seed)
    weights = {
        name: (value.numpy() + 0.2 * generator.standard_normal(value.shape)).astype(np.float32)
        for name, value in ((name, parameter.detach()) for name, parameter in model.named_parameters())
    }
    weights["decoder.output.bias"][[PAD_ID, BOS_ID]] = -50.0  # our search never writes them
    weights["decoder.output.bias"][EOS_ID] += end
    return write_bundle(folder, config, weights, {"source": source, "target": target}, "card")


def random_sentences(count: int, *, seed: int = 1, longest: int = 12, vocab: int = 44) -> list[list[int]]:
    generator = np.random.default_rng(seed)
    return [generator.integers(4, vocab, generator.integers(1, longest + 1)).tolist() for _ in range(count)]
