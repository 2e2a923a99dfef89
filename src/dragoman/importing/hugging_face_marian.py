"""Read MarianMT models of Hugging Face, such as OPUS-MT: config.json, weights, two SentencePiece models, vocab.json."""

import re
from typing import Any

import numpy as np

from dragoman.bundle.sandboxed_parse import check_sentencepiece
from dragoman.errors import BundleError
from dragoman.importing.file_formats.weight_table import Array, WeightTable
from dragoman.importing.hugging_face_weights import (
    EMBEDDINGS,
    common_settings,
    layer_weights,
    open_weights,
    read_vocabulary,
    skip_positions,
)
from dragoman.importing.imported_model import ImportedModel, TokenOrder, require_values, setting
from dragoman.importing.language_pairs import find_pair
from dragoman.importing.language_tokens import add_target_tokens
from dragoman.importing.source_files import SourceFolder
from dragoman.language_codes import is_known_language, parse_language
from dragoman.text import ImportedTokenizer

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
