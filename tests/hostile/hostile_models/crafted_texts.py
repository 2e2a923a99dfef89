"""Hostile JSON files, SentencePiece models, and paths that are no regular files."""

from __future__ import annotations

import json
import os
import random
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.hostile.hostile_models.case import Case, Content, replaced
from tests.hostile.hostile_models.sources import VOCABULARY, Files, Write

_SIZES = ("d_model", "encoder_layers", "decoder_attention_heads", "encoder_ffn_dim", "pad_token_id", "eos_token_id")
_VALUES: tuple[Any, ...] = (-1, 0, 1 << 20, 1 << 62, 10**4000, 1e308, float("nan"), "x" * 10_000, None, [], {}, True)
_FLAGS = ("share_encoder_decoder_embeddings", "scale_embedding", "static_position_embeddings", "normalize_before")


def json_files(name: str) -> dict[str, Content]:
    """JSON files that no model has, by title."""
    return {
        "nothing": b"",
        "null": b"null",
        "a list": b"[]",
        "an empty object": b"{}",
        "nested lists": lambda: b"[" * 200_000,
        "nested objects": lambda: b'{"a":' * 200_000,
        "16 MiB of lists": lambda: b"[" + b"[]," * 5_500_000 + b"[]]",
        "16 MiB of numbers": lambda: b"[" + b"1," * 8_000_000 + b"1]",
        "16 MiB of keys": lambda: b"{" + b",".join(b'"%x":1' % number for number in range(1_400_000)) + b"}",
        "60 MiB of spaces": lambda: b" " * (60 << 20),
        "60 MiB of text": lambda: b'"' + b"a" * (60 << 20) + b'"',
        "16 MiB with a wide character": lambda: '["\U0001f600'.encode() + b"a" * (16 << 20) + b'"]',
        "a number of a million digits": b"9" * 1_000_000,
        "UTF-16": '{"a": 1}'.encode("utf-16"),
        "a byte order mark": b"\xef\xbb\xbf{}",
        "invalid UTF-8": b'{"a": "\xff\xfe"}',
        "a control character": b'{"a\n\x1b[2J": 1}',
        f"{name} twice": b"{}{}",
    }


def configs(files: Files) -> Iterator[Case]:
    """Cases of config.json, tokenizer_config.json and README.md of Hugging Face."""
    config: dict[str, Any] = json.loads(files["config.json"])
    for title, data in json_files("config.json").items():
        yield Case("hugging-face", "config.json", "hostile JSON", title, replaced("config.json", data), refuse=True)
    for setting in _SIZES:
        for value in _VALUES:
            changed = _dumped(config | {setting: value})
            yield _setting(f"{setting} = {str(value)[:20]}", changed)
    for setting in _FLAGS:
        for value in ("false", 2, None, []):
            yield _setting(f"{setting} = {value}", _dumped(config | {setting: value}))
    others: dict[str, dict[str, Any]] = {
        "an activation of 1 MB": {"activation_function": "x" * 1_000_000},
        "an activation with lines": {"activation_function": "a\n\x1b[2J"},
        "a name of 1 MB": {"_name_or_path": "opus-mt-" + "a-" * 500_000},
        "a name that is a list": {"_name_or_path": [1] * 10_000},
        "a name with lines": {"_name_or_path": "opus-mt-en-de\n\x1b[2J"},
    }
    for title, changes in others.items():
        yield _setting(title, _dumped(config | changes))
    for title, table in {
        "languages of 1 MB": {"source_lang": "e" * 1_000_000, "target_lang": "pt"},
        "languages with lines": {"source_lang": "en\nx", "target_lang": "\x1b[2J"},
        "languages that are paths": {"source_lang": "../../x", "target_lang": "/etc"},
        "languages that are numbers": {"source_lang": 1, "target_lang": [2]},
        "unknown languages": {"source_lang": "zzz", "target_lang": "qqq"},
    }.items():
        name = "tokenizer_config.json"
        yield Case("hugging-face", name, "wrong setting", title, replaced(name, _dumped(table)))
    for title, data in json_files("tokenizer_config.json").items():
        name = "tokenizer_config.json"
        yield Case("hugging-face", name, "hostile JSON", title, replaced(name, data))
    large = replaced("README.md", lambda: b"x" * (60 << 20))
    yield Case("hugging-face", "README.md", "wrong setting", "60 MiB", large)
    for title, text in {
        "a licence of 100 kB": "---\nlicense: " + "x" * 100_000 + "\n---\n",
        "a licence with markup": "---\nlicense: <script>alert(1)</script>\n---\n",
        "a million lines": "---\n" + "license:\n" * 100_000 + "---\n",
    }.items():
        yield Case("hugging-face", "README.md", "wrong setting", title, replaced("README.md", text.encode()))


def _setting(title: str, data: bytes) -> Case:
    return Case("hugging-face", "config.json", "wrong setting", title, replaced("config.json", data))


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def vocabularies(files: Files) -> Iterator[Case]:
    """Cases of vocab.json of Hugging Face and of the vocabularies of CTranslate2."""
    table: dict[str, int] = json.loads(files["vocab.json"])
    for title, data in json_files("vocab.json").items():
        yield Case("hugging-face", "vocab.json", "hostile JSON", title, replaced("vocab.json", data), refuse=True)
        name = "shared_vocabulary.json"
        yield Case("ctranslate2", name, "hostile JSON", title, replaced(name, data), refuse=True)
        yield Case("ctranslate2", "config.json", "hostile JSON", title, replaced("config.json", data))
    first = list(table)[5]
    renamed = {token: number for token, number in table.items() if token != first}
    for title, changed in {
        "ids twice": dict.fromkeys(table, 1),
        "negative ids": {token: -number for token, number in table.items()},
        "huge ids": table | {"x": 1 << 62},
        "a huge id": table | {"x": 10**4000},
        "fractions": table | {"x": 50.5},
        "truth values": table | {"x": True},
        "no unknown token": {token: number for token, number in table.items() if token != "<unk>"},
    }.items():
        yield Case("hugging-face", "vocab.json", "wrong value", title, replaced("vocab.json", _dumped(changed)), True)
    many = replaced("vocab.json", lambda: _dumped(table | {f"x{n}": len(table) + n for n in range(300_000)}))
    yield Case("hugging-face", "vocab.json", "wrong value", "300,000 tokens", many, refuse=True)
    for title, token in {
        "an empty token": "",
        "a token of 1 MB": "x" * 1_000_000,
        "a token with lines": "a\nb\r\x1b[2J",
        "half of a surrogate pair": "\ud800",
        "a null character": "\0",
        "a language token with controls": ">>\x1b[2J<<",
        "a language token of 1 MB": ">>" + "x" * 1_000_000 + "<<",
        "a language token with markup": ">><script>alert(1)</script><<",
        "a special token": "<s>",
    }.items():
        changed = renamed | {token: table[first]}
        yield Case("hugging-face", "vocab.json", "wrong value", title, replaced("vocab.json", _dumped(changed)))


def sentencepiece_models(files: Files) -> Iterator[Case]:
    """Cases of the SentencePiece model of each format that has one."""
    valid = files["source.spm"]

    def entries() -> bytes:
        return valid + b"".join(_entry(f"x{number}") for number in range(200_000))

    crafted: dict[str, Content] = {
        "nothing": b"\0",
        "random bytes": random.Random(3).randbytes(100_000),
        "no tokens": b"",
        "2 million tokens": lambda: entries() * 10,
        "200,000 tokens": entries,
        "tokens without text": valid + _entry("") * 1000,
        "a token of 8 MB": lambda: valid + _entry("x" * 8_000_000),
        "a token twice": valid + _entry("▁the") * 2,
        "tokens with lines": valid + _entry("a\nb") + _entry("\x1b[2J"),
        "a token that is not UTF-8": valid + _field(1, _field(1, b"\xff\xfe\xfd")),
        "a score of NaN": valid + _field(1, _field(1, b"q") + b"\x15" + struct.pack("<f", float("nan"))),
        "a score of infinity": valid + _field(1, _field(1, b"q") + b"\x15" + struct.pack("<f", float("inf"))),
        "two unknown tokens": valid + _field(1, _field(1, b"<unk2>") + b"\x18\x02"),
        "an unknown type": valid + _field(1, _field(1, b"q") + b"\x18\x7f"),
        "a length of 2 GiB": valid + b"\x0a\xff\xff\xff\xff\x07",
        "a length of 2^63": valid + b"\x0a" + b"\xff" * 9 + b"\x01",
        "nested groups": valid + b"\x0b" * 100_000,
        "nested messages": valid + _nested(2000),
        "a normalizer of 1 MB": lambda: valid + _field(3, _field(2, random.Random(4).randbytes(1 << 20))),
        "a normalizer with a huge trie": valid + _field(3, _field(2, b"\xff\xff\xff\x7f" + bytes(100))),
        "a normalizer without an end": valid + _field(3, _field(2, struct.pack("<I", 1024) + b"\xff" * 1024)),
        "a normalizer of cycles": valid + _field(3, _field(2, struct.pack("<I", 4096) + b"\x01\x00\x00\x80" * 1100)),
        "a vocabulary of -1": valid + _field(2, b"\x20" + b"\xff" * 9 + b"\x01"),
        "another model type": valid + _field(2, b"\x18\x09"),
        "characters": valid + _field(2, b"\x18\x04"),
        "words": valid + _field(2, b"\x18\x03"),
        "the unknown token is 2^31": valid + _field(2, b"\xc0\x02\xff\xff\xff\xff\x07"),
    }
    for format_name, name in {
        "hugging-face": "source.spm",
        "firefox": VOCABULARY,
        "marian": "vocab.spm",
        "ctranslate2": "sentencepiece.model",
        "argos": "en_pt/sentencepiece.model",
        "nllb": "sentencepiece.bpe.model",
    }.items():
        for title, data in crafted.items():
            yield Case(format_name, name, "hostile SentencePiece", title, replaced(name, data))


def _field(number: int, data: bytes) -> bytes:
    """A field of Protocol Buffers with a length."""
    length, digits = len(data), b""
    while length > 127:
        digits, length = digits + bytes([length & 127 | 128]), length >> 7
    return bytes([number << 3 | 2]) + digits + bytes([length]) + data


def _entry(token: str) -> bytes:
    return _field(1, _field(1, token.encode()) + b"\x15" + struct.pack("<f", -20.0))


def _nested(depth: int) -> bytes:
    data = b""
    for _ in range(depth):
        data = _field(4, data)
    return data


def no_files() -> Iterator[Case]:
    """Devices, pipes, links and folders in place of files."""
    for format_name, names in {
        "firefox": (VOCABULARY,),
        "hugging-face": ("config.json", "model.safetensors", "vocab.json", "source.spm"),
        "ctranslate2": ("model.bin", "shared_vocabulary.json"),
        "marian": ("model.npz", "vocab.spm"),
    }.items():
        for name in names:
            for title, write in {
                "a device": lambda path: path.symlink_to("/dev/zero"),
                "a pipe": os.mkfifo,
                "a link to nothing": lambda path: path.symlink_to("missing"),
                "a link to itself": lambda path: path.symlink_to(path.name),
                "a folder": Path.mkdir,
                "a link to /proc/self/mem": lambda path: path.symlink_to("/proc/self/mem"),
                "no bytes": Path.touch,
            }.items():
                yield Case(format_name, name, "no file", title, _special(name, write), refuse=True)


def _special(name: str, write: Write) -> Callable[[Files], Mapping[str, Any]]:
    return lambda files: files | {name: write}
