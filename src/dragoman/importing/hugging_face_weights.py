"""Settings and weights that encoder-decoder models of Hugging Face have in common: MarianMT, M2M100 and NLLB."""

import re
from typing import Any

import numpy as np

from dragoman.errors import BundleError
from dragoman.importing.file_formats.pytorch_file import read_pytorch
from dragoman.importing.file_formats.safetensors_file import read_safetensors
from dragoman.importing.file_formats.weight_table import Array, WeightTable
from dragoman.importing.imported_model import find_layout, setting
from dragoman.importing.source_files import SourceFolder

EMBEDDINGS = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
"""Names of one matrix, if embeddings are shared."""

_SAFETENSORS = "model.safetensors"
_READERS = {_SAFETENSORS: read_safetensors, "pytorch_model.bin": read_pytorch}
_MAX_PARTS = 100
_PART = re.compile(r"[\w-]+\.(safetensors|bin)")
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
_MAX_SIZE = 1 << 20


def read_vocabulary(folder: SourceFolder, name: str) -> list[str]:
    """Read the tokens of a JSON file by id."""
    table = folder.read_json(name)
    if not isinstance(table, dict) or not all(type(number) is int for number in table.values()):
        raise BundleError(f"{folder.path / name} must hold one whole number per token; get it again")
    if set(table.values()) != set(range(len(table))):
        raise BundleError(f"{folder.path / name} must give every token its own id from 0; get it again")
    return sorted(table, key=table.__getitem__)


def open_weights(folder: SourceFolder) -> WeightTable:
    """Open the weights; arrays are read when they are taken."""
    for name, read in _READERS.items():
        if folder.has(name):
            return read(folder.file(name))
        if folder.has(f"{name}.index.json"):
            return WeightTable.joined([read(folder.file(part)) for part in _parts(folder, f"{name}.index.json")])
    return read_safetensors(folder.file(_SAFETENSORS))  # reports which files exist


def _parts(folder: SourceFolder, index: str) -> list[str]:
    """The files of weights that are stored in several."""
    table = setting(folder.read_json(index), "weight_map", dict, file=index)
    names = sorted({str(name) for name in table.values()})
    if not names or len(names) > _MAX_PARTS or not all(map(_PART.fullmatch, names)):
        raise BundleError(f"{index} must name 1 to {_MAX_PARTS} files of the folder; get it again")
    return names


def common_settings(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a Transformer that are independent of its variant."""
    both = {}
    for name in ("attention_heads", "ffn_dim"):
        encoder, both[name] = (_size(config, f"{side}_{name}") for side in ("encoder", "decoder"))
        if encoder != both[name]:
            raise BundleError(
                f"decoder_{name} in config.json must equal encoder_{name}, got {encoder} and {both[name]}; this "
                "variant is not supported"
            )
    activation = setting(config, "activation_function", str)
    if activation not in _ACTIVATIONS:
        raise BundleError(
            f"activation_function must be one of {', '.join(_ACTIVATIONS)}, got {ascii(activation)[:40]}; this variant "
            "is not supported"
        )
    return {
        "family": "transformer",
        "dim": _size(config, "d_model"),
        "heads": both["attention_heads"],
        "feedforward": both["ffn_dim"],
        "encoder_layers": _size(config, "encoder_layers"),
        "decoder_layers": _size(config, "decoder_layers"),
        "activation": _ACTIVATIONS[activation],
        "attention_bias": True,
        "dropout": 0.1,
    }


def _size(config: dict[str, Any], name: str) -> int:
    value: int = setting(config, name, int)
    if not 1 <= value <= _MAX_SIZE:
        raise BundleError(
            f"{name} in config.json must be from 1 to {_MAX_SIZE:,}, got {str(value)[:40]}; get the model again"
        )
    return value


def layer_weights(weights: WeightTable, side: str, number: int, settings: dict[str, Any]) -> dict[str, Array]:
    """The weights of one encoder or decoder layer, by our names."""
    theirs, ours = f"model.{side}.layers.{number}", f"{side}.layers.{number}"
    dim, inner = settings["dim"], settings["feedforward"]
    own, around = ("self_attention", "around_self") if side == "decoder" else ("attention", "around_attention")
    parts = {"self_attn": (own, around)}
    if side == "decoder":
        parts["encoder_attn"] = ("source_attention", "around_source")
    found: dict[str, Array] = {}
    for their, (our, norm) in parts.items():
        projections = [f"{theirs}.{their}.{part}_proj" for part in ("q", "k", "v")]
        found[f"{ours}.{our}.W_qkv"] = np.concatenate([weights.take(f"{p}.weight", (dim, dim)) for p in projections])
        found[f"{ours}.{our}.b_qkv"] = np.concatenate([weights.take(f"{p}.bias", (dim,)) for p in projections])
        found[f"{ours}.{our}.W_o"] = weights.take(f"{theirs}.{their}.out_proj.weight", (dim, dim))
        found[f"{ours}.{our}.b_o"] = weights.take(f"{theirs}.{their}.out_proj.bias", (dim,))
        found |= norm_weights(weights, f"{theirs}.{their}_layer_norm", f"{ours}.{norm}.norm", dim)
    for their, our, shape in (("fc1", "W_1", (inner, dim)), ("fc2", "W_2", (dim, inner))):
        found[f"{ours}.feedforward.{our}.weight"] = weights.take(f"{theirs}.{their}.weight", shape)
        found[f"{ours}.feedforward.{our}.bias"] = weights.take(f"{theirs}.{their}.bias", shape[:1])
    return found | norm_weights(weights, f"{theirs}.final_layer_norm", f"{ours}.around_feedforward.norm", dim)


def norm_weights(weights: WeightTable, theirs: str, ours: str, dim: int) -> dict[str, Array]:
    """The weights of a layer normalization, by our names."""
    return {f"{ours}.{part}": weights.take(f"{theirs}.{part}", (dim,)) for part in ("weight", "bias")}


def skip_positions(weights: WeightTable, name: str, dim: int, layout: str, offset: int = 0) -> None:
    """Compare a stored table of positions, which some files have, with the computed one."""
    if name not in weights:
        return
    rows = weights.shapes[name][0] if weights.shapes[name] else 0
    table = weights.take(name, (rows, dim))
    if find_layout(table[offset:]) != (layout, offset):
        raise BundleError(f"{name} must hold sinusoids of the layout {layout}; this variant is not supported")
