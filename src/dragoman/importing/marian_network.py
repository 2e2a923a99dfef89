"""Convert the weights and options of Marian Transformers: names such as encoder_l1_self_Wq, matrices [in, out]."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from dragoman.bundle.weights import Quantization
from dragoman.errors import BundleError
from dragoman.importing.file_formats.weight_table import Array, WeightTable
from dragoman.importing.imported_model import TokenOrder

_OPTION = re.compile(r"([a-z][a-z0-9-]*):[ \t]*(.*)")
_MAX_OPTIONS = 1 << 20
_MAX_SIZE = 1 << 20
_UNNAMED = "none"
_ACTIVATIONS = ("relu", "swish")
_REQUIRED = {
    "type": ("transformer",),
    "transformer-preprocess": ("",),
    "transformer-postprocess": ("dan",),
    "transformer-postprocess-emb": ("d", ""),
    "transformer-postprocess-top": ("",),
    "transformer-decoder-autoreg": ("self-attention", "rnn"),
    "transformer-ffn-depth": ("2",),
    "transformer-no-projection": ("false",),
    "transformer-no-bias": ("false",),
    "transformer-rnn-projection": ("false",),
    "transformer-train-position-embeddings": ("false",),
    "transformer-tied-layers": ("[]", ""),
    "transformer-depth-scaling": ("false", "true"),  # only at initialization
    "dec-cell": ("ssru", "gru", "lstm"),
    "lemma-dim-emb": ("0",),
    "ulr": ("false",),
}
"""Supported values of options; an absent one has the first value."""


def parse_options(data: bytes) -> dict[str, str]:
    """The plain options at the top level of a YAML document: one per line, without quotes."""
    if len(data) > _MAX_OPTIONS:
        raise BundleError(f"the options of the model must have at most {_MAX_OPTIONS:,} bytes, got {len(data):,}")
    found = (_OPTION.fullmatch(line) for line in data.decode("utf-8", "replace").splitlines())
    return {match[1]: match[2].strip().strip("\"'") for match in found if match}


def convert_network(
    options: dict[str, str], weights: WeightTable, source: TokenOrder, target: TokenOrder
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the settings of the model section and the weights by their names in Dragoman."""
    settings = _settings(options)
    found = _embeddings(weights, settings, source, target)
    for side in ("encoder", "decoder"):
        for number in range(settings[f"{side}_layers"]):
            found |= _layer(weights, side, number, settings)
    weights.check_all_taken()
    return settings, found


def convert_quantization(settings: dict[str, Any], weights: WeightTable, vocab: int) -> Quantization | None:
    """The multipliers of int8 weights by name, for `vocab` rows of a shared embedding; None if a matrix is not int8."""
    dim, inner = settings["dim"], settings["feedforward"]
    parts: dict[str, list[tuple[str, int]]] = {}
    for side in ("encoder", "decoder"):
        for number in range(settings[f"{side}_layers"]):
            theirs, ours = f"{side}_l{number + 1}", f"{side}.layers.{number}"
            attentions = {"self": "attention"} if side == "encoder" else {"context": "source_attention"}
            if side == "decoder" and settings["decoder"] == "ssru":
                parts[f"{ours}.ssru.W"] = [(f"{theirs}_rnn_W", dim)]
                parts[f"{ours}.ssru.W_f"] = [(f"{theirs}_rnn_Wf", dim)]
            elif side == "decoder":
                attentions["self"] = "self_attention"
            for their, our in attentions.items():
                parts[f"{ours}.{our}.W_qkv"] = [(f"{theirs}_{their}_W{part}", dim) for part in "qkv"]
                parts[f"{ours}.{our}.W_o"] = [(f"{theirs}_{their}_Wo", dim)]
            parts[f"{ours}.feedforward.W_1.weight"] = [(f"{theirs}_ffn_W1", inner)]
            parts[f"{ours}.feedforward.W_2.weight"] = [(f"{theirs}_ffn_W2", dim)]
    if not all(name in weights.multipliers for part in parts.values() for name, _ in part):
        return None
    found = Quantization(
        {ours: _repeated(weights.multipliers, part) for ours, part in parts.items()},
        {
            ours: _repeated(weights.input_multipliers, part)
            for ours, part in parts.items()
            if all(name in weights.input_multipliers for name, _ in part)
        },
    )
    return _with_embedding(found, weights, vocab) if settings["tie"] == "all" else found


def _with_embedding(found: Quantization, weights: WeightTable, vocab: int) -> Quantization:
    """Add the embedding that is also the output layer; Marian gives the latter no name."""
    if "Wemb" not in weights.multipliers:
        return found
    name, inputs = "encoder.embedding.weight", dict(found.inputs)
    if _UNNAMED in weights.input_multipliers:
        inputs[name] = _repeated(weights.input_multipliers, [(_UNNAMED, vocab)])
    return Quantization({**found.weights, name: _repeated(weights.multipliers, [("Wemb", vocab)])}, inputs)


def _repeated(multipliers: Mapping[str, float], part: list[tuple[str, int]]) -> Array:
    return np.concatenate([np.full(rows, multipliers[name], np.float32) for name, rows in part])


def _settings(options: dict[str, str]) -> dict[str, Any]:
    for name, supported in _REQUIRED.items():
        got = options.get(name, supported[0])
        if got not in supported:
            legal = " or ".join(value or "empty" for value in supported)
            raise BundleError(f"the option {name} of the model must be {legal}, got {ascii(got)[:60]}; not supported")
    is_recurrent = options.get("transformer-decoder-autoreg") == "rnn"
    if is_recurrent and options.get("dec-cell") != "ssru":
        got = ascii(options.get("dec-cell", ""))[:40]
        raise BundleError(f"the option dec-cell of the model must be ssru, got {got}; this variant is not supported")
    activation = options.get("transformer-ffn-activation", "swish")
    if activation not in _ACTIVATIONS:
        raise BundleError(
            f"the option transformer-ffn-activation must be {' or '.join(_ACTIVATIONS)}, got {ascii(activation)[:40]}; "
            "this variant is not supported"
        )
    return {
        "family": "transformer",
        "dim": _size(options, "dim-emb"),
        "heads": _size(options, "transformer-heads"),
        "feedforward": _size(options, "transformer-dim-ffn"),
        "encoder_layers": _size(options, "enc-depth"),
        "decoder_layers": _size(options, "dec-depth"),
        "decoder": "ssru" if is_recurrent else "self-attention",
        "alignment_map": "guided" if is_recurrent else "penultimate",  # students are trained with it for browsers
        "norm": "post",
        "norm_epsilon": 1e-9,
        "activation": activation,
        "attention_bias": True,
        "positions": "sinusoidal-tensor2tensor",
        "dropout": 0.0 if is_recurrent else 0.1,  # students are trained without dropout, and lose quality with it
    }


def _size(options: dict[str, str], name: str) -> int:
    value = options.get(name, "")
    if not re.fullmatch(r"[0-9]{1,7}", value) or not 1 <= int(value) <= _MAX_SIZE:
        raise BundleError(f"the option {name} of the model must be a size, got {ascii(value)[:40]}; get it again")
    return int(value)


def _embeddings(
    weights: WeightTable, settings: dict[str, Any], source: TokenOrder, target: TokenOrder
) -> dict[str, Array]:
    """Embeddings and output layer; sets `tie`."""
    dim = settings["dim"]
    read, written = weights.first("Wemb", "encoder_Wemb"), weights.first("Wemb", "decoder_Wemb")
    sizes = {"source": max(source.rows) + 1, "target": max(target.rows) + 1}
    vectors = weights.take(read, (sizes["source"], dim))
    found = {"encoder.embedding.weight": source.vectors(vectors)}
    settings["tie"] = "all" if read == written else "target"
    if read != written:
        found["decoder.embedding.weight"] = target.vectors(weights.take(written, (sizes["target"], dim)))
    elif sizes["source"] != sizes["target"]:
        raise BundleError("The model has two vocabularies, but one shared embedding; get the model again")
    if "decoder_ff_logit_out_W" in weights:
        if settings["tie"] == "all":
            found["decoder.embedding.weight"] = target.vectors(vectors)
        settings["tie"] = "none"
        output = weights.take("decoder_ff_logit_out_W", (dim, sizes["target"]))
        found["decoder.output.weight"] = target.vectors(np.ascontiguousarray(output.T))
    bias = weights.take("decoder_ff_logit_out_b", (1, sizes["target"]))[0]
    found["decoder.output.bias"] = target.biases(bias)
    return found


def _layer(weights: WeightTable, side: str, number: int, settings: dict[str, Any]) -> dict[str, Array]:
    theirs, ours = f"{side}_l{number + 1}", f"{side}.layers.{number}"
    dim, inner = settings["dim"], settings["feedforward"]
    found: dict[str, Array] = {}
    if side == "encoder":
        found |= _attention(weights, f"{theirs}_self", f"{ours}.attention", f"{ours}.around_attention", dim)
    else:
        if settings["decoder"] == "ssru":
            found |= _ssru(weights, f"{theirs}_rnn", ours, dim)
        else:
            found |= _attention(weights, f"{theirs}_self", f"{ours}.self_attention", f"{ours}.around_self", dim)
        found |= _attention(weights, f"{theirs}_context", f"{ours}.source_attention", f"{ours}.around_source", dim)
    for their, our, shape in (("1", "W_1", (dim, inner)), ("2", "W_2", (inner, dim))):
        found[f"{ours}.feedforward.{our}.weight"] = _transposed(weights, f"{theirs}_ffn_W{their}", shape)
        found[f"{ours}.feedforward.{our}.bias"] = weights.take(f"{theirs}_ffn_b{their}", (1, shape[1]))[0]
    return found | _norm(weights, f"{theirs}_ffn_ffn", f"{ours}.around_feedforward", dim)


def _attention(weights: WeightTable, theirs: str, ours: str, around: str, dim: int) -> dict[str, Array]:
    matrices = [_transposed(weights, f"{theirs}_W{part}", (dim, dim)) for part in "qkv"]
    biases = [weights.take(f"{theirs}_b{part}", (1, dim))[0] for part in "qkv"]
    return {
        f"{ours}.W_qkv": np.concatenate(matrices),
        f"{ours}.b_qkv": np.concatenate(biases),
        f"{ours}.W_o": _transposed(weights, f"{theirs}_Wo", (dim, dim)),
        f"{ours}.b_o": weights.take(f"{theirs}_bo", (1, dim))[0],
        **_norm(weights, f"{theirs}_Wo", around, dim),
    }


def _ssru(weights: WeightTable, theirs: str, ours: str, dim: int) -> dict[str, Array]:
    return {
        f"{ours}.ssru.W": _transposed(weights, f"{theirs}_W", (dim, dim)),
        f"{ours}.ssru.W_f": _transposed(weights, f"{theirs}_Wf", (dim, dim)),
        f"{ours}.ssru.b_f": weights.take(f"{theirs}_bf", (1, dim))[0],
        **_norm(weights, f"{theirs}_ffn", f"{ours}.around_self", dim),
    }


def _norm(weights: WeightTable, theirs: str, ours: str, dim: int) -> dict[str, Array]:
    return {
        f"{ours}.norm.weight": weights.take(f"{theirs}_ln_scale", (1, dim))[0],
        f"{ours}.norm.bias": weights.take(f"{theirs}_ln_bias", (1, dim))[0],
    }


def _transposed(weights: WeightTable, name: str, shape: tuple[int, int]) -> Array:
    return np.ascontiguousarray(weights.take(name, shape).T)
