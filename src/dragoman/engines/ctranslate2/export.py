"""Export a saved Transformer model to the CTranslate2 format. Imports no torch.

Positions are written as a table, since the sinusoids of CTranslate2 have other frequencies and another order. All other
parts of our Transformers have an equivalent.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.bundle.position_table import longest_sentence as longest_positions
from dragoman.bundle.position_table import position_table
from dragoman.config import Config
from dragoman.config.schema import TransformerConfig, has_guided_alignment
from dragoman.engines.ctranslate2.token_id_client import import_ctranslate2
from dragoman.engines.export_cache import Precision
from dragoman.errors import CombinationError
from dragoman.text import BOS_ID, EOS_ID, SPECIALS, UNK_ID, Tokenizer

FORMAT = 1
"""Increased whenever the exported files change."""
PACKAGES = ("ctranslate2",)
"""Their versions may decide the exported files."""

Array = NDArray[np.float32]


def export_ctranslate2(bundle: Bundle, folder: Path, precision: Precision) -> None:
    """Write model.bin, config.json and the vocabularies to a folder; int8 has one scale per row of a matrix."""
    config = _transformer(bundle.config)
    is_guided = has_guided_alignment(config)
    specs = import_ctranslate2("ctranslate2.specs")
    spec = specs.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=_activation(specs, config),
        alignment_layer=config.decoder_layers - 1 if is_guided else max(config.decoder_layers - 2, 0),
        alignment_heads=1 if is_guided else 0,  # 0: the mean of all
    )
    source, target = (vocabulary_of(bundle.tokenizers()[side]) for side in ("source", "target"))
    _fill(spec, config, _Weights(bundle), len(source), len(target))
    _name(spec, source, target, config)
    spec.validate()
    spec.optimize(quantization=precision)
    spec.save(str(folder))


def longest_sentence(config: Config) -> int:
    """Maximum length of source and target of an exported model, including the end."""
    return longest_positions(_transformer(config))


def vocabulary_of(tokenizer: Tokenizer) -> list[str]:
    """The CTranslate2 vocabulary: the tokens by id. All are different."""
    tokens = [tokenizer.id_to_token(number) for number in range(tokenizer.size)]
    assert len(set(tokens)) == len(tokens), "a vocabulary holds each token once"
    return tokens


def _transformer(config: Config) -> TransformerConfig:
    if not isinstance(config.model, TransformerConfig):
        raise CombinationError(
            f"model.family must be transformer for CTranslate2, got {config.model.family}; use the engine onnx or torch"
        )
    if config.model.decoder != "self-attention":
        raise CombinationError(
            f"model.decoder must be self-attention for CTranslate2, got {config.model.decoder}; use the engine onnx or "
            "torch"
        )
    if config.model.norm_form != "variance":
        raise CombinationError(
            f"model.norm_form must be variance for CTranslate2, got {config.model.norm_form}; use the engine torch"
        )
    return config.model


class _Weights:
    """The weights of a bundle, which match its configuration; `left` are the names of unused ones."""

    def __init__(self, bundle: Bundle) -> None:
        self.arrays = bundle.weights()
        self.left = set(self.arrays)

    def take(self, name: str, *shape: int) -> Array:
        """Return a copy, since CTranslate2 quantises in place."""
        assert self.arrays[name].shape == shape
        self.left.discard(name)
        return self.arrays[name].copy()


def _fill(spec: Any, config: TransformerConfig, weights: _Weights, source: int, target: int) -> None:
    """Copy every weight to the specification. `source` and `target` are the sizes of the vocabularies."""
    dim = config.dim
    words = weights.take("encoder.embedding.weight", source, dim)
    spec.encoder.embeddings[0].weight = words
    written = words.copy() if config.tie == "all" else weights.take("decoder.embedding.weight", target, dim)
    spec.decoder.embeddings.weight = written
    tied = config.tie != "none"
    spec.decoder.projection.weight = written.copy() if tied else weights.take("decoder.output.weight", target, dim)
    spec.decoder.projection.bias = weights.take("decoder.output.bias", target)
    for side, part in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        part.scale_embeddings = config.scale_embeddings  # × √dim
        part.position_encodings.encodings = position_table(config, weights.arrays, side)
        weights.left.discard(f"{side}.positions.weight")
        if config.norm == "pre":
            _norm(part.layer_norm, weights, f"{side}.norm", dim)
        for number, layer in enumerate(part.layer):
            _layer(layer, config, weights, f"{side}.layers.{number}")
    assert not weights.left


def _layer(layer: Any, config: TransformerConfig, weights: _Weights, name: str) -> None:
    """Copy an encoder or decoder layer. Encoder layers have no attention to the source, and another attribute name."""
    is_decoder = hasattr(layer, "attention")
    own, around = ("self_attention", "around_self") if is_decoder else ("attention", "around_attention")
    dim, inner = config.dim, config.feedforward
    _attention(layer.self_attention, config, weights, f"{name}.{own}", (slice(3 * dim),))
    _norm(layer.self_attention.layer_norm, weights, f"{name}.{around}.norm", dim)
    if is_decoder:
        parts = (slice(dim), slice(dim, 3 * dim))
        _attention(layer.attention, config, weights, f"{name}.source_attention", parts)
        _norm(layer.attention.layer_norm, weights, f"{name}.around_source.norm", dim)
    for linear, part, shape in (("linear_0", "W_1", (inner, dim)), ("linear_1", "W_2", (dim, inner))):
        getattr(layer.ffn, linear).weight = weights.take(f"{name}.feedforward.{part}.weight", *shape)
        getattr(layer.ffn, linear).bias = weights.take(f"{name}.feedforward.{part}.bias", shape[0])
    _norm(layer.ffn.layer_norm, weights, f"{name}.around_feedforward.norm", dim)


def _attention(spec: Any, config: TransformerConfig, weights: _Weights, name: str, parts: Sequence[slice]) -> None:
    """Copy an attention; each of `parts` of the rows of queries, keys and values is one projection of CTranslate2."""
    dim = config.dim
    rows, joined = weights.take(f"{name}.W_qkv", 3 * dim, dim), weights.take(f"{name}.W_o", dim, dim)
    for linear, part in zip(spec.linear, parts, strict=False):
        linear.weight = rows[part].copy()
    spec.linear[-1].weight = joined
    if config.attention_bias:
        biases = weights.take(f"{name}.b_qkv", 3 * dim)
        for linear, part in zip(spec.linear, parts, strict=False):
            linear.bias = biases[part].copy()
        spec.linear[-1].bias = weights.take(f"{name}.b_o", dim)


def _activation(specs: Any, config: TransformerConfig) -> Any:
    names = {"relu": "RELU", "gelu": "GELU", "swish": "SWISH"}
    return getattr(specs.Activation, names[config.activation])


def _norm(norm: Any, weights: _Weights, name: str, dim: int) -> None:
    norm.gamma = weights.take(f"{name}.weight", dim)
    norm.beta = weights.take(f"{name}.bias", dim)


def _name(spec: Any, source: Sequence[str], target: Sequence[str], config: TransformerConfig) -> None:
    """Set the vocabularies and the special tokens."""
    spec.register_source_vocabulary(list(source))
    spec.register_target_vocabulary(list(target))
    spec.config.unk_token = SPECIALS[UNK_ID]
    spec.config.bos_token = spec.config.decoder_start_token = SPECIALS[BOS_ID]
    spec.config.eos_token = SPECIALS[EOS_ID]
    spec.config.add_source_bos = False
    spec.config.add_source_eos = config.source_end
    spec.config.layer_norm_epsilon = config.norm_epsilon
