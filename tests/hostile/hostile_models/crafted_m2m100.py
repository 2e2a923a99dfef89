"""Hostile folders of M2M100 and NLLB: missing files, wrong sizes and ids, languages, weights in several files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from string import ascii_lowercase
from typing import Any

from tests.hostile.hostile_models.case import Case, Content, replaced
from tests.hostile.hostile_models.crafted_texts import json_files
from tests.hostile.hostile_models.sources import Files

_SUBWORDS, _WEIGHTS = "sentencepiece.bpe.model", "model.safetensors"
_LISTS = ("special_tokens_map.json", "tokenizer_config.json")
_INDEX = f"{_WEIGHTS}.index.json"
_SIZES = ("vocab_size", "d_model", "decoder_layers", "encoder_attention_heads", "pad_token_id", "eos_token_id")
_VALUES: tuple[Any, ...] = (-1, 0, 1, 1 << 21, 1 << 62, 10**4000, 1.5, "x" * 10_000, None, [], True)
_DIGITS = "9" * 5000  # more than Python converts


def m2m100(files: Files, format_name: str) -> Iterator[Case]:
    """Cases of a folder."""
    yield from _missing(files, format_name)
    yield from _settings(files, format_name)
    yield from _languages(files, format_name)
    yield from _ids(files, format_name)
    yield from _parts(files, format_name)


def _missing(files: Files, format_name: str) -> Iterator[Case]:
    for name in ("config.json", _SUBWORDS, _WEIGHTS):
        yield Case(format_name, name, "missing file", "left out", _without(name), refuse=True)
    is_listed = "vocab.json" not in files  # the languages of M2M100 are known
    yield Case(format_name, _LISTS[0], "missing file", "no list of languages", _without(*_LISTS), refuse=is_listed)
    if not is_listed:
        yield Case(format_name, "vocab.json", "missing file", "left out", _without("vocab.json"), refuse=True)
    other = json.loads(files["config.json"]) | {"model_type": "marian"}
    yield _changed(format_name, "config.json", "another type", other, refuse=True)


def _settings(files: Files, format_name: str) -> Iterator[Case]:
    config: dict[str, Any] = json.loads(files["config.json"])
    for name, value in product(_SIZES, _VALUES):
        is_refused = not name.endswith("_id") or value not in (1, 0)
        yield _changed(format_name, "config.json", f"{name} = {str(value)[:20]}", config | {name: value}, is_refused)
    rows = config["vocab_size"]
    for title, value in {"fewer rows": rows - 20, "more rows": rows + 1, "twice the rows": 2 * rows}.items():
        yield _changed(format_name, "config.json", title, config | {"vocab_size": value}, refuse=True)
    for name in (*_LISTS, "added_tokens.json"):
        for title, data in json_files(name).items():
            yield Case(format_name, name, "hostile JSON", title, replaced(name, data))
    for title, data in json_files(_INDEX).items():
        yield Case(format_name, _INDEX, "hostile JSON", title, _index(data), refuse=True)


def _languages(files: Files, format_name: str) -> Iterator[Case]:
    codes = ["".join(each) for each in product(ascii_lowercase, repeat=3)]
    lists: dict[str, list[Any]] = {
        "17,576 languages": [f"{code}_Latn" for code in codes],
        "a language in 500 scripts": [f"deu_{code.title()}a" for code in codes[:500]],
        "a million tokens": [f"<{number}>" for number in range(1_000_000)],
        "a language twice": ["deu_Latn", "deu_Latn", "eng_Latn", "eng_Latn"],
        "tokens of the vocabulary": ["<s>", "</s>", "<unk>", "deu_Latn", "eng_Latn"],
        "a token of 1 MB": ["x" * 1_000_000, "deu_Latn", "eng_Latn"],
        "tokens with lines": ["a\nb\x1b[2J", "deu_Latn", "eng_Latn"],
        "half of a surrogate pair": ["\ud800", "deu_Latn", "eng_Latn"],
        "objects": [{"content": "deu_Latn"}, {"content": 5}],
        "nested objects": [{"content": {"content": "deu_Latn"}}],
        "one language": ["deu_Latn"],
        "numbers": [1, 2],
    }
    for title, tokens in lists.items():
        yield Case(format_name, _LISTS[0], "wrong languages", title, _listed(tokens))


def _ids(files: Files, format_name: str) -> Iterator[Case]:
    """Ids of tokens that are not in the subword model."""
    tokens: list[str] = json.loads(files[_LISTS[0]])["additional_special_tokens"]
    rows = json.loads(files["config.json"])["vocab_size"]
    table = json.loads(files[_LISTS[1]])
    for title, number in {
        "negative": -5,
        "huge": 1 << 62,
        "of 4,000 digits": 10**3999,
        "after the last row": rows,
    }.items():
        data = json.dumps({tokens[1]: number}).encode()
        making = _without_ids(table, "added_tokens.json", data)
        yield Case(format_name, "added_tokens.json", "wrong id", title, making, refuse=True)
    for title, text in {
        "negative": "-5",
        "huge": str(1 << 62),
        "of 5,000 digits": _DIGITS,
        "of another script": "\u0663",
        "a power": "\u00b2",
        "that another token has": "7",
        "the row of padding": "1",
    }.items():
        changed = table | {"added_tokens_decoder": {text: {"content": tokens[1]}}}
        yield _changed(format_name, _LISTS[1], f"an id {title}", changed, kind="wrong id")
    same = table | {"added_tokens_decoder": {str(rows - 1): tokens[0], f"0{rows - 1}": tokens[1]}}
    yield _changed(format_name, _LISTS[1], "one id of two tokens", same, refuse=True, kind="wrong id")


def _parts(files: Files, format_name: str) -> Iterator[Case]:
    """Cases of weights in several files."""
    indexes: dict[str, dict[str, Any]] = {
        "a path outside": {"a": "../model.safetensors"},
        "an absolute path": {"a": "/etc/passwd"},
        "a device": {"a": "/dev/zero"},
        "a missing file": {"a": "model-1.safetensors"},
        "the index itself": {"a": _INDEX},
        "a name with lines": {"a": "x\n\x1b[2J.safetensors"},
        "numbers": {"a": 5},
        "no files": {},
        "101 files": {str(number): f"model-{number}.safetensors" for number in range(101)},
        "a million entries": {str(number): "model-1.safetensors" for number in range(1_000_000)},
    }
    for title, names in indexes.items():
        yield Case(format_name, _INDEX, "weights in several files", title, _indexed(names), refuse=True)
    twice = {"a": "model-1.safetensors", "b": "model-2.safetensors"}
    copies = dict.fromkeys(twice.values(), files[_WEIGHTS])
    yield Case(
        format_name, _INDEX, "weights in several files", "each array twice", _indexed(twice, copies), refuse=True
    )


def _changed(
    format_name: str, name: str, title: str, table: Any, refuse: bool = False, kind: str = "wrong setting"
) -> Case:
    return Case(format_name, name, kind, title, replaced(name, json.dumps(table).encode()), refuse)


def _without(*names: str) -> Callable[[Files], Mapping[str, Any]]:
    return lambda files: {name: data for name, data in files.items() if name not in names}


def _listed(tokens: list[Any]) -> Callable[[Files], Mapping[str, Any]]:
    """Other language tokens, without ids."""
    data = json.dumps({"additional_special_tokens": tokens}).encode()
    return lambda files: files | dict.fromkeys(_LISTS, data)


def _without_ids(table: dict[str, Any], name: str, data: bytes) -> Callable[[Files], Mapping[str, Any]]:
    """A file in place of the ids of tokenizer_config.json."""
    kept = json.dumps({key: value for key, value in table.items() if key != "added_tokens_decoder"}).encode()
    return lambda files: files | {_LISTS[1]: kept, name: data}


def _indexed(names: dict[str, Any], more: Mapping[str, bytes] | None = None) -> Callable[[Files], Mapping[str, Any]]:
    return _index(json.dumps({"weight_map": names}).encode(), more)


def _index(data: Content, more: Mapping[str, bytes] | None = None) -> Callable[[Files], Mapping[str, Any]]:
    """A list of files in place of one file."""
    changed = replaced(_INDEX, data)
    return lambda files: {**changed(dict(_without(_WEIGHTS)(files))), **(more or {})}
