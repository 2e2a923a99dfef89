"""Read Transformers of CTranslate2 (model.bin, vocabularies, SentencePiece if there is one), and Argos packages."""

import math
import re
from typing import Any

import numpy as np

from dragoman.bundle.sandboxed_parse import check_sentencepiece
from dragoman.errors import BundleError
from dragoman.importing.file_formats.bergamot_file import CTranslate2File, read_variables
from dragoman.importing.file_formats.weight_table import Array, WeightTable
from dragoman.importing.imported_model import ImportedModel, TokenOrder, find_layout, setting
from dragoman.importing.language_tokens import LanguageTokens
from dragoman.importing.source_files import MAX_WEIGHT_BYTES, SourceFolder
from dragoman.language_codes import parse_language
from dragoman.text import SPECIALS, CharacterTokenizer, ImportedTokenizer, Tokenizer, Vocabulary

_HEADS = {"TransformerBase": 8, "TransformerBig": 16}
_SPECIFICATIONS = (*_HEADS, "Transformer", "TransformerSpec")
_ACTIVATIONS = {0: "relu", 2: "swish", 3: "gelu"}
_KNOWN = re.compile(
    r"(?:.*/)?(?:num_heads|pre_norm|activation|embeddings_merge|alignment_layer|alignment_heads|scale_embeddings"
    r"|start_from_zero_embedding|with_source_bos|with_source_eos|with_target_bos|multiply_by_sqrt_depth|weight_scale)"
)
_SUBWORDS = ("sentencepiece.model", "spm.model", "source.spm", "target.spm")
_MAX_LAYERS = 1000


def matches(folder: SourceFolder) -> bool:
    """Whether a folder holds such a model."""
    return folder.has("model.bin") and any(
        folder.has(f"{side}_vocabulary.{ending}") for side in ("shared", "target") for ending in ("json", "txt")
    )


def read(folder: SourceFolder) -> ImportedModel:
    """Read the model; raise a `BundleError` if a file is damaged or the architecture has no equivalent."""
    models = [folder.read(name) for name in _SUBWORDS if folder.has(name)]
    return read_network(folder, models)


def read_network(folder: SourceFolder, subwords: list[bytes]) -> ImportedModel:
    """Read the model with these SentencePiece models: none, one for both sides, or one per side."""
    file = read_variables(folder.file("model.bin", max_bytes=MAX_WEIGHT_BYTES))
    config = folder.read_json("config.json") if folder.has("config.json") else {}
    settings = _settings(file, config)
    orders = _orders(folder, file, config)
    weights = _arrays(file, settings, *orders)
    return ImportedModel(settings, weights, _tokenizers(folder, orders, subwords))


# ---------------------------------------------------------------------------------------------------------- vocabulary


def _orders(folder: SourceFolder, file: CTranslate2File, config: Any) -> tuple[TokenOrder, TokenOrder]:
    source_rows = file.weights.shapes[_source_embedding(file.weights)][0]
    target_rows = file.weights.shapes[file.weights.first("decoder/embeddings/weight")][0]
    eos, unk, start = (_token(config, name, default) for name, default in _DEFAULTS)
    zero = bool(file.attribute("decoder/start_from_zero_embedding", 0))
    names = [f"{side}_vocabulary" for side in ("source", "target")]
    orders = []
    for name, rows in zip(names, (source_rows, target_rows), strict=True):
        tokens = _tokens(folder, name)
        if unk not in tokens and len(tokens) == rows - 1:
            tokens.append(unk)
        if len(tokens) > rows:
            raise BundleError(f"{name} must have at most {rows:,} tokens, as its embedding, got {len(tokens):,}")
        if missing := [each for each in (eos, unk) if each not in tokens]:
            raise BundleError(f"{name} has no {ascii(missing[0])[1:-1][:40]}; get the model again")
        first = None if zero or start not in tokens else tokens.index(start)
        hidden = [tokens.index(each) for each in ("<blank>", "<pad>") if each in tokens]
        orders.append(TokenOrder.of(tokens, unk=tokens.index(unk), eos=tokens.index(eos), start=first, hidden=hidden))
    return orders[0], orders[1]


_DEFAULTS = (("eos_token", "</s>"), ("unk_token", "<unk>"), ("decoder_start_token", "<s>"))


def _token(config: Any, name: str, default: str) -> str:
    return default if config.get(name) is None else str(setting(config, name, str))


def _tokens(folder: SourceFolder, name: str) -> list[str]:
    """Tokens by id, from the file of one side or of both."""
    for stem in (name, "shared_vocabulary"):
        if folder.has(f"{stem}.json"):
            tokens = folder.read_json(f"{stem}.json")
            if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
                raise BundleError(f"{stem}.json must be a list of tokens; get the model again")
            return tokens
        if folder.has(f"{stem}.txt"):
            try:
                return folder.read(f"{stem}.txt").decode("utf-8").removesuffix("\n").split("\n")
            except UnicodeDecodeError:
                raise BundleError(f"{stem}.txt must be UTF-8 text; get the model again") from None
    raise BundleError(f"{folder.path} must hold {name}.json or .txt, got {folder.listing()}; complete the folder")


def _tokenizers(
    folder: SourceFolder, orders: tuple[TokenOrder, TokenOrder], subwords: list[bytes]
) -> dict[str, Tokenizer]:
    if subwords:
        for model in subwords:
            check_sentencepiece(model)
        models = (subwords[0], subwords[-1])
        made: list[Tokenizer] = [
            ImportedTokenizer(each.tokens, model) for each, model in zip(orders, models, strict=True)
        ]
    elif all(len(token) == 1 for order in orders for token in order.tokens[len(SPECIALS) :]):
        made = [CharacterTokenizer(Vocabulary(CharacterTokenizer.kind, order.tokens)) for order in orders]
    else:
        raise BundleError(
            f"{folder.path} must hold the SentencePiece model of its tokens, got {folder.listing()}; copy it there as "
            "sentencepiece.model"
        )
    return dict(zip(("source", "target"), made, strict=True))


# ------------------------------------------------------------------------------------------------------------- settings


def _settings(file: CTranslate2File, config: Any) -> dict[str, Any]:
    if file.specification not in _SPECIFICATIONS:
        got = ascii(file.specification)[1:-1][:60]
        raise BundleError(f"model.bin must hold a {' or '.join(_SPECIFICATIONS)}, got {got}; only these are imported")
    if unknown := [name for name, value in file.attributes.items() if value and not _KNOWN.fullmatch(name)]:
        raise BundleError(
            f"model.bin must hold a plain Transformer, got the option {ascii(min(unknown))[1:-1][:60]}; it is not "
            "supported"
        )
    if setting(config, "add_source_bos", bool, bool(file.attribute("with_source_bos", 0))):
        raise BundleError("add_source_bos must be false, got true; this variant is not supported")
    shapes = file.weights.shapes
    dim = shapes[_source_embedding(file.weights)][-1]
    inner = shapes.get("encoder/layer_0/ffn/linear_0/weight", (0,))[0]
    epsilon = config.get("layer_norm_epsilon")
    return {
        "family": "transformer",
        "dim": dim,
        "heads": int(_common(file, "num_heads", _HEADS.get(file.specification, 8))),
        "feedforward": inner,
        "encoder_layers": _layers(shapes, "encoder"),
        "decoder_layers": _layers(shapes, "decoder"),
        "norm": "pre" if _common(file, "pre_norm", 1) else "post",
        "norm_epsilon": setting(config, "layer_norm_epsilon", float) if epsilon else 1e-5,
        "activation": _activation(file),
        "attention_bias": "encoder/layer_0/self_attention/linear_0/bias" in shapes,
        "source_end": setting(config, "add_source_eos", bool, bool(file.attribute("with_source_eos", 0))),
        "scale_embeddings": _is_scaled(file, dim),
        "dropout": 0.1,
    }


def _common(file: CTranslate2File, name: str, default: float) -> float:
    """An attribute that encoder and decoder must share."""
    general = file.attribute(name, default)
    encoder, decoder = (file.attribute(f"{side}/{name}", general) for side in ("encoder", "decoder"))
    if encoder != decoder:
        raise BundleError(f"{name} of encoder and decoder must be equal, got {encoder:g} and {decoder:g}")
    return encoder


def _activation(file: CTranslate2File) -> str:
    number = int(_common(file, "activation", 0))
    if number not in _ACTIVATIONS:
        raise BundleError(f"the activation must be relu, swish or gelu, got number {number} of CTranslate2")
    return _ACTIVATIONS[number]


def _is_scaled(file: CTranslate2File, dim: int) -> bool:
    """Whether embeddings are multiplied by √dim: a flag, or the factor itself."""
    found = set()
    for side, embedding in (("encoder", _source_embedding(file.weights)), ("decoder", "decoder/embeddings/weight")):
        name = f"{side}/scale_embeddings"
        if name in file.attributes and name not in file.flags:
            factor = file.attributes[name]
            if not (math.isclose(factor, 1.0) or math.isclose(factor, math.sqrt(dim), rel_tol=1e-5)):
                raise BundleError(f"{name} must be 1 or the root of the width, got {factor:g}; it is not supported")
            found.add(not math.isclose(factor, 1.0) or dim == 1)
        else:
            older = file.attribute(embedding.removesuffix("weight") + "multiply_by_sqrt_depth", 1)
            found.add(bool(file.attribute(name, older)))
    if len(found) > 1:
        raise BundleError("encoder and decoder must both scale their embeddings, or neither")
    return found.pop()


def _layers(shapes: dict[str, tuple[int, ...]], side: str) -> int:
    names = {name.split("/")[1] for name in shapes if name.startswith(f"{side}/layer_") and name.count("/") > 1}
    count = sum(re.fullmatch(r"layer_\d+", name) is not None for name in names)
    if not 1 <= count <= _MAX_LAYERS:
        raise BundleError(f"the {side} must have 1 to {_MAX_LAYERS} layers, got {count}; get the model again")
    return count


# -------------------------------------------------------------------------------------------------------------- weights


def _source_embedding(weights: WeightTable) -> str:
    name = weights.first("encoder/embeddings_0/weight", "encoder/embeddings/weight")
    if len(weights.shapes[name]) != 2:
        raise BundleError(f"{name} must have two dimensions, got {len(weights.shapes[name])}; get the model again")
    return name


def _arrays(
    file: CTranslate2File, settings: dict[str, Any], source: TokenOrder, target: TokenOrder
) -> dict[str, Array]:
    weights, dim = file.weights, settings["dim"]
    found = _embeddings(weights, settings, source, target)
    found |= _positions(weights, settings)
    for side in ("encoder", "decoder"):
        if settings["norm"] == "pre":
            found |= _norm(weights, f"{side}/layer_norm", f"{side}.norm", dim)
        for number in range(settings[f"{side}_layers"]):
            found |= _layer(weights, f"{side}/layer_{number}", f"{side}.layers.{number}", settings)
    weights.check_all_taken()
    return found


def _embeddings(
    weights: WeightTable, settings: dict[str, Any], source: TokenOrder, target: TokenOrder
) -> dict[str, Array]:
    """Embeddings and output; equal ones become tied, and `tie` is set."""
    dim, name = settings["dim"], _source_embedding(weights)
    rows = weights.shapes["decoder/embeddings/weight"][0]
    read = weights.take(name, weights.shapes[name])
    written = weights.take("decoder/embeddings/weight", (rows, dim))
    output = weights.take("decoder/projection/weight", (rows, dim))
    bias = np.zeros(rows, np.float32)
    if "decoder/projection/bias" in weights:
        bias = weights.take("decoder/projection/bias", (rows,))
    found = {"encoder.embedding.weight": source.vectors(read), "decoder.output.bias": target.biases(bias)}
    settings["tie"] = "all"
    if not np.array_equal(read, written) or source != target or not np.array_equal(written, output):
        settings["tie"] = "target"
        found["decoder.embedding.weight"] = target.vectors(written)
    if not np.array_equal(written, output):
        settings["tie"] = "none"
        found["decoder.output.weight"] = target.vectors(output)
    return found


def _positions(weights: WeightTable, settings: dict[str, Any]) -> dict[str, Array]:
    """Tables of positions that are sinusoids are computed; others are learned positions; without any: CTranslate2's."""
    dim, names = settings["dim"], [f"{side}/position_encodings/encodings" for side in ("encoder", "decoder")]
    if not any(name in weights for name in names):
        settings |= {"positions": "sinusoidal-tensor2tensor", "position_offset": 1}
        return {}
    rows = weights.shapes[weights.first(names[0])][0]
    tables = [weights.take(name, (rows, dim)) for name in names]
    layouts = {find_layout(table) for table in tables}
    layout = layouts.pop() if len(layouts) == 1 else None
    if layout is not None:
        settings |= {"positions": layout[0], "position_offset": layout[1]}
        return {}
    settings |= {"positions": "learned", "max_positions": rows}
    return {f"{side}.positions.weight": table for side, table in zip(("encoder", "decoder"), tables, strict=True)}


def _layer(weights: WeightTable, theirs: str, ours: str, settings: dict[str, Any]) -> dict[str, Array]:
    dim, inner, biased = settings["dim"], settings["feedforward"], settings["attention_bias"]
    is_decoder = ours.startswith("decoder")
    own, around = ("self_attention", "around_self") if is_decoder else ("attention", "around_attention")
    parts: list[tuple[str, str, str, tuple[int, ...]]] = [("self_attention", own, around, (3 * dim,))]
    if is_decoder:
        parts.append(("attention", "source_attention", "around_source", (dim, 2 * dim)))
    found: dict[str, Array] = {}
    for their, our, norm, sizes in parts:
        linears = [f"{theirs}/{their}/linear_{number}" for number in range(len(sizes))]
        last = f"{theirs}/{their}/linear_{len(sizes)}"
        rows = [weights.take(f"{name}/weight", (size, dim)) for name, size in zip(linears, sizes, strict=True)]
        found |= {
            f"{ours}.{our}.W_qkv": np.concatenate(rows),
            f"{ours}.{our}.W_o": weights.take(f"{last}/weight", (dim, dim)),
        }
        if biased:
            rows = [weights.take(f"{name}/bias", (size,)) for name, size in zip(linears, sizes, strict=True)]
            found |= {
                f"{ours}.{our}.b_qkv": np.concatenate(rows),
                f"{ours}.{our}.b_o": weights.take(f"{last}/bias", (dim,)),
            }
        found |= _norm(weights, f"{theirs}/{their}/layer_norm", f"{ours}.{norm}.norm", dim)
    for their, our, shape in (("linear_0", "W_1", (inner, dim)), ("linear_1", "W_2", (dim, inner))):
        found[f"{ours}.feedforward.{our}.weight"] = weights.take(f"{theirs}/ffn/{their}/weight", shape)
        found[f"{ours}.feedforward.{our}.bias"] = weights.take(f"{theirs}/ffn/{their}/bias", shape[:1])
    return found | _norm(weights, f"{theirs}/ffn/layer_norm", f"{ours}.around_feedforward.norm", dim)


def _norm(weights: WeightTable, theirs: str, ours: str, dim: int) -> dict[str, Array]:
    return {
        f"{ours}.weight": weights.take(f"{theirs}/gamma", (dim,)),
        f"{ours}.bias": weights.take(f"{theirs}/beta", (dim,)),
    }


_ARGOS_SUBWORDS = "sentencepiece.model"


def matches_argos(folder: SourceFolder) -> bool:
    """Whether a folder holds an unpacked package."""
    return folder.has("metadata.json", "model/model.bin")


def read_argos(folder: SourceFolder) -> ImportedModel:
    """Read the model; raise a `BundleError` if a file is damaged or the architecture has no equivalent."""
    metadata = folder.read_json("metadata.json")
    if not folder.has(_ARGOS_SUBWORDS):
        raise BundleError(
            f"{folder.path} must hold {_ARGOS_SUBWORDS}, got {folder.listing()}; packages with bpe.model are not "
            "supported"
        )
    subwords = [folder.read(_ARGOS_SUBWORDS)]
    inner = SourceFolder(folder.path / "model", folder.used, prefix="model/")
    imported = read_network(inner, subwords)
    codes = [str(setting(metadata, name, str, "", file="metadata.json"))[:20] for name in ("from_code", "to_code")]
    if all(codes):
        imported.languages = parse_language(codes[0]), parse_language(codes[1])
        imported.languages_file = "metadata.json"
    prefix = metadata.get("target_prefix") if isinstance(metadata, dict) else None
    if prefix:
        imported.language_tokens = _target_prefix(prefix, imported)
    return imported


def _target_prefix(prefix: object, imported: ImportedModel) -> LanguageTokens:
    """The token that begins every translation."""
    tokenizer, (source, target) = imported.tokenizers["target"], imported.languages
    if not isinstance(prefix, str) or tokenizer.token_to_id(prefix) < len(SPECIALS):
        raise BundleError(
            f"target_prefix in metadata.json must be a token of the target vocabulary, got {ascii(prefix)[:60]}; get "
            "the package again"
        )
    if not (source and target):
        raise BundleError("metadata.json has a target_prefix, but no from_code or to_code")
    return LanguageTokens("target", {target: prefix}, (source,), (target,))
