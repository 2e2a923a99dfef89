"""Read M2M100 and NLLB models of Hugging Face: config.json, weights, sentencepiece.bpe.model, language tokens.

Both have one vocabulary for all languages. A source is ``[language] x </s>``; decoding starts from ``</s>``, and the
token of the target language follows.
"""

import re
from typing import Any

import numpy as np
from sentencepiece import SentencePieceProcessor

from dragoman.bundle.sandboxed_parse import check_sentencepiece
from dragoman.errors import BundleError
from dragoman.importing.file_formats.weight_table import Array, WeightTable
from dragoman.importing.hugging_face_marian import (
    EMBEDDINGS,
    common_settings,
    layer_weights,
    norm_weights,
    open_weights,
    read_vocabulary,
    skip_positions,
)
from dragoman.importing.imported_model import ImportedModel, TokenOrder, require_values, setting
from dragoman.importing.language_tokens import LanguageTokens
from dragoman.importing.source_files import SourceFolder
from dragoman.text import ImportedTokenizer

_SUBWORDS = "sentencepiece.bpe.model"
_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
_LANGUAGE = re.compile(r"__([a-z]{2,3})__|([a-z]{3}_[A-Z][a-z]{3})")
_MAX_ROWS = 1 << 21
_TOKEN_FILES = ("special_tokens_map.json", "tokenizer_config.json")
_FAIRSEQ_CODES = {
    "m2m100": (
        "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu "
        "hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt "
        "ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
    ),
    "wmt21": "en ha is ja cs ru zh de",
}
"""Language codes in the order of their tokens, which not every folder of M2M100 lists."""


def matches(folder: SourceFolder) -> bool:
    """Whether a folder holds such a model."""
    if not folder.has("config.json", _SUBWORDS):
        return False
    config = folder.read_json("config.json")
    return isinstance(config, dict) and config.get("model_type") == "m2m_100"


def read(folder: SourceFolder) -> ImportedModel:
    """Read the model; raise a `BundleError` if a file is damaged or the architecture has no equivalent."""
    config = folder.read_json("config.json")
    model = folder.read(_SUBWORDS)
    check_sentencepiece(model)
    rows = setting(config, "vocab_size", int)
    if not 1 <= rows <= _MAX_ROWS:
        raise BundleError(
            f"vocab_size in config.json must be from 1 to {_MAX_ROWS:,}, got {str(rows)[:40]}; get it again"
        )
    weights = open_weights(folder)
    _check_rows(weights, rows)
    tokens = _tokens(folder, model)
    codes = _add_languages(folder, tokens, rows)
    if not folder.has("vocab.json") and any(token.startswith("__") for token in codes):
        raise BundleError(  # the subword model has other ids
            f"{folder.path} has no vocab.json, which a model with the language tokens of M2M100 needs; get it again"
        )
    order = _order(config, tokens, rows)
    settings, arrays = _network(config, weights, order, rows)
    tokenizer = ImportedTokenizer(order.tokens, model)
    languages = LanguageTokens.of(codes, "both")
    if len(languages.names) < 2:
        raise BundleError(
            f"{' or '.join(_TOKEN_FILES)} must list the language tokens, got {len(codes)}; get the files of the "
            "tokenizer again"
        )
    return ImportedModel(settings, arrays, {"source": tokenizer, "target": tokenizer}, language_tokens=languages)


# ---------------------------------------------------------------------------------------------------------- vocabulary


def _tokens(folder: SourceFolder, model: bytes) -> dict[int, str]:
    """Tokens by id, without those of languages: vocab.json of M2M100; of NLLB, those of the subword model."""
    if folder.has("vocab.json"):
        return dict(enumerate(read_vocabulary(folder, "vocab.json")))
    processor = SentencePieceProcessor(model_proto=model)
    pieces = processor.id_to_piece(list(range(len(processor))))
    if pieces[:3] != ["<unk>", "<s>", "</s>"]:
        raise BundleError(
            f"{_SUBWORDS} must begin with <unk>, <s> and </s>, got {ascii(' '.join(pieces[:3]))[1:60]}; get it again"
        )
    return dict(enumerate([*_FIRST, *pieces[3:]]))


def _add_languages(folder: SourceFolder, tokens: dict[int, str], rows: int) -> dict[str, str]:
    """Add the language tokens to the tokens by id, and return the code of each."""
    first, known = len(tokens), set(tokens.values())
    codes = {}
    added = _listed(folder)
    if len(added) > rows:
        raise BundleError(
            f"additional_special_tokens must be fewer than vocab_size, got {len(added):,} and {rows:,}; get it again"
        )
    listed = _listed_ids(folder)
    for place, token in enumerate(each for each in added if each not in known):
        found = _LANGUAGE.fullmatch(token)
        number = listed.get(token, first + place)
        if number in tokens or not 0 <= number < rows:
            raise BundleError(
                f"the token {ascii(token)[:60]} must have its own id below vocab_size = {rows:,}, got "
                f"{str(number)[:40]}; get the model again"
            )
        tokens[number] = token
        if found:
            codes[token] = found[1] or found[2]
    return codes


def _listed(folder: SourceFolder) -> list[str]:
    """Additional special tokens, in order."""
    for name in _TOKEN_FILES:
        table = folder.read_json(name) if folder.has(name) else {}
        tokens = table.get("additional_special_tokens") if isinstance(table, dict) else None
        if isinstance(tokens, list) and tokens:
            return list(dict.fromkeys(map(_content, tokens)))
    table = folder.read_json(_TOKEN_FILES[1]) if folder.has(_TOKEN_FILES[1]) else {}
    kind = str(table.get("language_codes", "m2m100")) if isinstance(table, dict) else ""
    return [f"__{code}__" for code in _FAIRSEQ_CODES.get(kind, "").split()] if folder.has("vocab.json") else []


def _content(token: Any) -> str:
    """The text of a token: a string, or an object with its properties."""
    text = token.get("content") if isinstance(token, dict) else token
    if not isinstance(text, str) or not text:
        raise BundleError("additional_special_tokens must be a list of tokens; get it again")
    return text


def _listed_ids(folder: SourceFolder) -> dict[str, int]:
    """Ids of tokens, if the folder lists them."""
    found: dict[str, int] = {}
    if folder.has("added_tokens.json"):
        table = folder.read_json("added_tokens.json")
        found |= {} if not isinstance(table, dict) else {token: n for token, n in table.items() if type(n) is int}
    if folder.has("tokenizer_config.json"):
        name = "tokenizer_config.json"
        table = setting(folder.read_json(name), "added_tokens_decoder", dict, {}, file=name)
        found |= {_content(token): int(number) for number, token in table.items() if number.isdecimal()}
    return found


def _order(config: dict[str, Any], tokens: dict[int, str], rows: int) -> TokenOrder:
    """The order of the bundle. Rows without a token, ``<s>`` and padding are never predicted, and left out."""
    if tokens and max(tokens) >= rows:
        raise BundleError(f"vocab_size in config.json must be more than {max(tokens):,}, got {rows:,}; get it again")
    eos, pad = (setting(config, name, int, default) for name, default in (("eos_token_id", 2), ("pad_token_id", 1)))
    if not 0 <= pad < rows:
        raise BundleError(f"pad_token_id in config.json must be below {rows:,}, got {str(pad)[:40]}; get it again")
    start = setting(config, "decoder_start_token_id", int, eos)
    unknown = [number for number, token in tokens.items() if token == _FIRST[3]]
    if len(unknown) != 1:
        raise BundleError(f"the vocabulary must hold <unk> once, got {len(unknown)}; get the model again")
    names = [tokens.get(number, f"#{number}") for number in range(rows)]
    hidden = [number for number in range(rows) if tokens.get(number, "<pad>") in (*_FIRST[:2], "<mask>")]
    return TokenOrder.of(names, unk=unknown[0], eos=eos, start=start, hidden=[*hidden, pad])


# -------------------------------------------------------------------------------------------------------------- weights


def _check_rows(weights: WeightTable, rows: int) -> None:
    """Compare the size of the vocabulary with that of the embedding, before anything is made of this size."""
    name = weights.first(*EMBEDDINGS)
    if (shape := weights.shapes[name])[:1] != (rows,):
        raise BundleError(
            f"vocab_size in config.json must be the number of rows of {name}, got {rows:,} and the shape "
            f"{str(list(shape))[:60]}; get the model again"
        )


def _network(
    config: dict[str, Any], weights: WeightTable, order: TokenOrder, rows: int
) -> tuple[dict[str, Any], dict[str, Array]]:
    require_values(config, (("tie_word_embeddings", True, True),))
    offset = setting(config, "pad_token_id", int, 1) + 1
    settings = common_settings(config) | {
        "norm": "pre",
        "positions": "sinusoidal-tensor2tensor",
        "position_offset": offset,
        "scale_embeddings": setting(config, "scale_embedding", bool, True),
        "tie": "all",
    }
    dim = settings["dim"]
    ours = {
        "encoder.embedding.weight": order.vectors(weights.take(weights.first(*EMBEDDINGS), (rows, dim))),
        "decoder.output.bias": order.biases(np.zeros(rows, np.float32)),
    }
    weights.ignore(*EMBEDDINGS)
    for side in ("encoder", "decoder"):
        for number in range(settings[f"{side}_layers"]):
            ours |= layer_weights(weights, side, number, settings)
        ours |= norm_weights(weights, f"model.{side}.layer_norm", f"{side}.norm", dim)
        skip_positions(weights, f"model.{side}.embed_positions.weights", dim, "sinusoidal-tensor2tensor", offset)
    weights.check_all_taken()
    return settings, ours
