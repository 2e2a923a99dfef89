"""Read MarianMT models of Hugging Face, such as OPUS-MT, with what they share with M2M100 and NLLB."""

import re
from typing import Any

import numpy as np

from dragoman.bundle.sandboxed_parse import check_sentencepiece
from dragoman.errors import BundleError
from dragoman.importing.file_formats.pytorch_file import read_pytorch
from dragoman.importing.file_formats.weight_table import Array, WeightTable, read_safetensors
from dragoman.importing.imported_model import ImportedModel, TokenOrder, find_layout, require_values, setting
from dragoman.importing.language_tokens import add_target_tokens, find_pair
from dragoman.importing.source_files import SourceFolder
from dragoman.language_codes import is_known_language, parse_language
from dragoman.text import ImportedTokenizer

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


_TOKENIZER_CONFIG = "tokenizer_config.json"


def matches(folder: SourceFolder) -> bool:
    """Whether a folder holds such a model."""
    if not folder.has("config.json", "vocab.json", "source.spm"):
        return False
    config = folder.read_json("config.json")
    return isinstance(config, dict) and config.get("model_type") == "marian"


def read(folder: SourceFolder) -> ImportedModel:
    """Read the model; raise a `BundleError` if a file is damaged or the architecture has no equivalent."""
    config = folder.read_json("config.json")
    shared = setting(config, "share_encoder_decoder_embeddings", bool, True)
    orders = _orders(folder, config, shared=shared)
    models = [folder.read(name) for name in ("source.spm", "target.spm")]
    for model in models:
        check_sentencepiece(model)
    settings, arrays = _network(config, open_weights(folder), *orders, shared=shared)
    source, target = (ImportedTokenizer(order.tokens, model) for order, model in zip(orders, models, strict=True))
    languages, file = _languages(folder, config)
    found = ImportedModel(settings, arrays, {"source": source, "target": target}, languages, file)
    add_target_tokens(found)
    return found


# ---------------------------------------------------------------------------------------------------------- vocabulary


def _orders(folder: SourceFolder, config: dict[str, Any], *, shared: bool) -> tuple[TokenOrder, TokenOrder]:
    """The token orders of source and target; equal for a shared vocabulary."""
    pad, eos = (setting(config, name, int) for name in ("pad_token_id", "eos_token_id"))
    start = setting(config, "decoder_start_token_id", int, pad)
    source = _order(read_vocabulary(folder, "vocab.json"), eos, start, pad)
    if shared:
        return source, source
    return source, _order(read_vocabulary(folder, "target_vocab.json"), eos, start, pad)


def _order(tokens: list[str], eos: int, start: int, pad: int) -> TokenOrder:
    if "<unk>" not in tokens:
        raise BundleError("vocab.json has no <unk>; get it again")
    return TokenOrder.of(tokens, unk=tokens.index("<unk>"), eos=eos, start=start, hidden=(pad,))


# -------------------------------------------------------------------------------------------------------------- weights


def _network(
    config: dict[str, Any], weights: WeightTable, source: TokenOrder, target: TokenOrder, *, shared: bool
) -> tuple[dict[str, Any], dict[str, Array]]:
    settings = _settings(config, shared=shared)
    dim = settings["dim"]
    sizes = {"source": len(_kept(source)), "target": len(_kept(target))}
    ours = _embeddings(settings["tie"], weights, source, target, dim, sizes)
    for side, layers in (("encoder", settings["encoder_layers"]), ("decoder", settings["decoder_layers"])):
        for number in range(layers):
            ours |= layer_weights(weights, side, number, settings)
        skip_positions(weights, f"model.{side}.embed_positions.weight", dim, "sinusoidal-halves")
    weights.check_all_taken()
    return settings, ours


def _settings(config: dict[str, Any], *, shared: bool) -> dict[str, Any]:
    require_values(
        config,
        (
            ("static_position_embeddings", True, True),
            ("normalize_before", False, False),
            ("normalize_embedding", False, False),
            ("add_final_layer_norm", False, False),
        ),
    )
    tied = setting(config, "tie_word_embeddings", bool, True)
    return common_settings(config) | {
        "norm": "post",
        "positions": "sinusoidal-halves",
        "scale_embeddings": setting(config, "scale_embedding", bool, False),
        "tie": ("all" if shared else "target") if tied else "none",
    }


def _embeddings(
    tie: str, weights: WeightTable, source: TokenOrder, target: TokenOrder, dim: int, sizes: dict[str, int]
) -> dict[str, Array]:
    names = {
        "source": weights.first("model.shared.weight", "model.encoder.embed_tokens.weight", "lm_head.weight"),
        "target": weights.first("model.decoder.embed_tokens.weight", "model.shared.weight", "lm_head.weight"),
    }
    rows = {side: weights.shapes[name][0] if weights.shapes[name] else 0 for side, name in names.items()}
    for side, size in sizes.items():
        if rows[side] < size:
            raise BundleError(f"{names[side]} must have at least {size:,} rows, as the vocabulary, got {rows[side]:,}")
    ours = {"encoder.embedding.weight": source.vectors(weights.take(names["source"], (rows["source"], dim)))}
    if tie != "all":
        ours["decoder.embedding.weight"] = target.vectors(weights.take(names["target"], (rows["target"], dim)))
    if tie == "none":
        ours["decoder.output.weight"] = target.vectors(weights.take("lm_head.weight", (rows["target"], dim)))
    bias = np.zeros(rows["target"], np.float32)
    if "final_logits_bias" in weights:
        bias = weights.take("final_logits_bias", (1, rows["target"]))[0]
    ours["decoder.output.bias"] = target.biases(bias)
    weights.ignore(*EMBEDDINGS)
    return ours


def _kept(order: TokenOrder) -> range:
    return range(max(order.rows) + 1)


# ------------------------------------------------------------------------------------------------------------ languages


def _languages(folder: SourceFolder, config: dict[str, Any]) -> tuple[tuple[str, str], str]:
    """Source and target language by tokenizer_config.json or by a name such as opus-mt-en-de, and the file if any."""
    if folder.has(_TOKENIZER_CONFIG):
        table = folder.read_json(_TOKENIZER_CONFIG)
        found = [table.get(f"{side}_lang") for side in ("source", "target")] if isinstance(table, dict) else []
        codes = [parse_language(code) for code in found if isinstance(code, str) and _is_code(code)]
        if len(codes) == 2:
            return (codes[0], codes[1]), _TOKENIZER_CONFIG
    return find_pair(str(config.get("_name_or_path", ""))[:200], *folder.path.parts[:-4:-1]), ""


def _is_code(code: str) -> bool:
    return re.fullmatch(r"[A-Za-z]{2,3}(_[A-Za-z]{2,4})?", code) is not None and is_known_language(code)
