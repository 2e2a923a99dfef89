"""Untrusted bundles, each a change of a valid one. Manifests match unless stated otherwise."""

import hashlib
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save, save_file

SIGNAL = "code-ran"  # a file of this name in the working directory would show that code of a bundle was run

Case = Callable[[Path], Path | None]
"""Changes the good bundle at a path; returns what is to be opened where that is something else."""

CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__.replace("_", " ")] = function
    return function


def written(manifest: Any) -> bytes:
    return (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()


def manifest_of(folder: Path) -> dict[str, Any]:
    paths = [path for path in folder.iterdir() if path.name != "manifest.json" and path.is_file()]
    files = {path.name: {"size": path.stat().st_size, "sha256": sha256(path)} for path in paths}
    return {"format": "dragoman-verified-folder", "version": 2, "files": files}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def reseal(folder: Path, **changes: Any) -> None:
    (folder / "manifest.json").write_bytes(written(manifest_of(folder) | changes))


def put(folder: Path, name: str, data: bytes) -> None:
    (folder / name).write_bytes(data)
    reseal(folder)


# ---------------------------------------------------------------------------------------------------- additional files


def _with_file(name: str, data: bytes = b"x") -> Case:
    return lambda folder: put(folder, name, data)


PICKLE = b"cos\nsystem\n(S'touch " + SIGNAL.encode() + b"'\ntR."
for extra in ("model.pkl", "pytorch_model.bin", "setup.py", "__init__.py", "conftest.py", "sitecustomize.py"):
    CASES[f"extra {extra}"] = _with_file(extra, PICKLE if extra.endswith(("pkl", "bin")) else b"open('code-ran','w')")
for extra in (".hidden", "Weights.safetensors", "tokenizer.json", "source.tokenizer.model", "dragoman.toml.bak", "ü"):
    CASES[f"extra {extra}"] = _with_file(extra)


def _without(name: str, sealed: bool) -> Case:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        if sealed:
            reseal(folder)

    return change


for name in ("dragoman.toml", "weights.safetensors", "card.md", "tokenizer.model"):
    CASES[f"no {name}"] = _without(name, sealed=False)
    CASES[f"no {name}, not listed"] = _without(name, sealed=True)
CASES["no manifest.json"] = _without("manifest.json", sealed=False)


@case
def a_symlink_to_a_file_elsewhere(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere")
    (folder / "card.md").rename(elsewhere)
    (folder / "card.md").symlink_to(elsewhere)


@case
def a_symlinked_manifest(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere")
    (folder / "manifest.json").rename(elsewhere)
    (folder / "manifest.json").symlink_to(elsewhere)


@case
def a_dangling_symlink(folder: Path) -> None:
    (folder / "extra").symlink_to("/nonexistent")


@case
def a_pipe_that_never_ends(folder: Path) -> None:
    (folder / "card.md").unlink()
    os.mkfifo(folder / "card.md")


@case
def an_endless_device(folder: Path) -> None:
    (folder / "weights.safetensors").unlink()
    (folder / "weights.safetensors").symlink_to("/dev/zero")


@case
def a_folder_inside(folder: Path) -> None:
    (folder / "inside").mkdir()


@case
def a_thousand_files(folder: Path) -> None:
    for number in range(1000):
        (folder / f"{number}").touch()


@case
def unlisted_file(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(PICKLE)


# ------------------------------------------------------------------------------------------------------ the manifest


def _manifest(data: bytes | Any) -> Case:
    def change(folder: Path) -> None:
        (folder / "manifest.json").write_bytes(data if isinstance(data, bytes) else written(data))

    return change


def _entry(**changes: Any) -> Case:
    def change(folder: Path) -> None:
        manifest = manifest_of(folder)
        manifest["files"]["card.md"] |= changes
        (folder / "manifest.json").write_bytes(written(manifest))

    return change


def _named(name: str) -> Case:
    def change(folder: Path) -> None:
        manifest = manifest_of(folder)
        manifest["files"][name] = {"size": 0, "sha256": hashlib.sha256(b"").hexdigest()}
        (folder / "manifest.json").write_bytes(written(manifest))

    return change


MANIFESTS: dict[str, Any] = {
    "empty": b"",
    "a pickle": PICKLE,
    "not UTF-8": b'{"format": "\xff"}',
    "a list": [],
    "null": None,
    "a number of 60,000 digits": b"1" * 60_000,
    "nested deeply": b"[" * 60_000,
    "too large": b" " * 100_000,
    "NaN": b'{"format": "dragoman-verified-folder", "version": NaN, "files": {}}',
    "of the next version": {"format": "dragoman-verified-folder", "version": 3, "files": {}},
    "of version true": {"format": "dragoman-verified-folder", "version": True, "files": {}},
    "of version 2.0": {"format": "dragoman-verified-folder", "version": 2.0, "files": {}},
    "with files a list": {"format": "dragoman-verified-folder", "version": 2, "files": []},
    "with no files": {"format": "dragoman-verified-folder", "version": 2, "files": {}},
    "with a lone surrogate": b'{"format": "dragoman-verified-folder", "version": 2, "files": {"\\ud800": 1}}',
}
for title, manifest in MANIFESTS.items():
    CASES[f"manifest {title}"] = _manifest(manifest)
ENTRIES: dict[str, dict[str, Any]] = {
    "size as text": {"size": "4"},
    "size negative": {"size": -1},
    "size true": {"size": True},
    "size as a fraction": {"size": 4.0},
    "size enormous": {"size": 10**30},
    "hash in capitals": {"sha256": "A" * 64},
    "hash short": {"sha256": "ab"},
    "hash a number": {"sha256": 12},
    "hash wrong": {"sha256": "0" * 64},
    "one key more": {"url": "https://example.org/card.md"},
}
for title, changes in ENTRIES.items():
    CASES[f"manifest entry {title}"] = _entry(**changes)
for bad in ("../escaped", "/etc/passwd", "a/b", "..", "", "a\0b", "manifest.json", "C:\\x", "x" * 300, "-rf"):
    CASES[f"manifest names {ascii(bad)[:30]}"] = _named(bad)
CASES["manifest with one key more"] = lambda folder: reseal(folder, load="os.system")


@case
def manifest_with_a_name_twice(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"files": {', b'"files": {}, "files": {'))


# ------------------------------------------------------------------------------------------------- the configuration


def _config(old: str, new: str) -> Case:
    def change(folder: Path) -> None:
        text = (folder / "dragoman.toml").read_text(encoding="utf-8")
        assert old in text
        put(folder, "dragoman.toml", text.replace(old, new, 1).encode())

    return change


for title, new in {
    "that extends a file": 'extends = "../../secret.toml"\n',
    "that extends a preset": 'extends = "luong2015"\n',
    "with an unknown setting": 'hook = "os.system"\n',
    "with a number of 5,000 digits": f"x = {'9' * 5000}\n",
    "with deep nesting": f"x = {'[' * 50_000}\n",
    "with a key of 20,000 parts": "a" + ".a" * 20_000 + " = 1\n",
    "with 20,000 tables": "".join(f"[t{number}]\n" for number in range(20_000)),
    "with a table of 20,000 parts": "[" + "a." * 20_000 + "a]\n",
    "with a key of 20,000 parts inside": "x = {" + "a." * 20_000 + "a = 1}\n",
    "with a key of 20,000 parts in a list": "x = [{" + "a." * 20_000 + "a = 1}]\n",
    "with 3,000 tables": "".join(f"[t{number}]\n" for number in range(3_000)),
    "with 3,000 settings": "".join(f"t{number} = 1\n" for number in range(3_000)),
    "with a long string": 'x = "' + "\\u0041" * 40_000 + '"\n',
    "with a string of many lines": 'x = """\n\n"""\n',
    "too large": "#" * 300_000,
}.items():
    CASES[f"config {title}"] = _config("description", f"{new}description")
CASES["config with NaN"] = _config("dropout = ", "dropout = nan #")
CASES["config with infinity"] = _config("learning_rate = ", "learning_rate = inf #")
CASES["config with an import path"] = _config('family = "rnn"', 'family = "os:system"')
CASES["config for another tokenizer"] = _config('kind = "sentencepiece"', 'kind = "word"')
CASES["config for two tokenizers"] = _config("joint = true", "joint = false")
CASES["config not UTF-8"] = _with_file("dragoman.toml", b"description = '\xff'")
CASES["config a pickle"] = _with_file("dragoman.toml", PICKLE)
CASES["card not UTF-8"] = _with_file("card.md", b"\xff")
CASES["card too large"] = _with_file("card.md", b" " * (1 << 20) + b" ")


# -------------------------------------------------------------------------------------------------------- the weights


def _header(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def _tensor(**changes: Any) -> dict[str, Any]:
    return {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changes}


for title, content in {
    "empty": b"",
    "a pickle": PICKLE,
    "a zip as torch writes it": b"PK\x03\x04" + bytes(100),
    "with a header said to be 2^63": struct.pack("<Q", 1 << 63),
    "with a header said to be 90 MB": struct.pack("<Q", 90_000_000) + b"{",
    "with a header of 5 MB": _header(b"{" + b" " * 5_000_000 + b"}"),
    "with a header of 3 MB of brackets": _header(b"[" * 3_000_000),
    "with a header that is no JSON": _header(b"nothing"),
    "without tensors": _header({}),
    "beyond the end": _header(_tensor(data_offsets=[0, 800], shape=[200]), bytes(8)),
    "before the beginning": _header(_tensor(data_offsets=[-8, 0]), bytes(8)),
    "with bytes that belong to nobody": _header(_tensor(), bytes(4000)),
    "with a shape that is too large": _header(_tensor(shape=[1 << 40, 1 << 40]), bytes(8)),
    "with a shape below zero": _header(_tensor(shape=[-2]), bytes(8)),
    "with an empty tensor of great width": _header(_tensor(shape=[0, 1 << 50], data_offsets=[0, 0])),
    "of 20 dimensions": _header(_tensor(shape=[1] * 19 + [2]), bytes(8)),
    "that overlap": _header(_tensor() | {"v": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}, bytes(12)),
    "with numbers in the metadata": _header({"__metadata__": {"a": 1}} | _tensor(), bytes(8)),
    "of an unknown type": _header(_tensor(dtype="PYOBJECT"), bytes(8)),
    "in bfloat16": _header(_tensor(dtype="BF16", data_offsets=[0, 4]), bytes(4)),
    "in float16": save({"w": np.ones(2, dtype=np.float16)}),
    "in float64": save({"w": np.ones(2, dtype=np.float64)}),
    "in integers": save({"w": np.ones(2, dtype=np.int64)}),
    "in booleans": save({"w": np.ones(2, dtype=np.bool_)}),
}.items():
    CASES[f"weights {title}"] = _with_file("weights.safetensors", content)


@case
def weights_of_another_bundle(folder: Path) -> None:
    weights = load_file(folder / "weights.safetensors")
    save_file({name: np.zeros_like(array) for name, array in weights.items()}, folder / "weights.safetensors")


# ------------------------------------------------------------------------------------------------------ the tokenizer


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])


def _token(text: bytes) -> bytes:
    return _field(1, _field(1, text) + b"\x15" + struct.pack("<f", -9.0))


def _more_tokens() -> bytes:
    return b"".join(_token(b"q%xz" % number) for number in range(900_000))


def _tokenizer(change: Callable[[bytes], bytes]) -> Case:
    return lambda folder: put(folder, "tokenizer.model", change((folder / "tokenizer.model").read_bytes()))


for title, changed in {
    "empty": lambda data: b"",
    "a pickle": lambda data: PICKLE,
    "cut off": lambda data: data[:-1],
    "of zeros": lambda data: bytes(len(data)),
    "too large": lambda data: data + _field(15, bytes(1 << 24)),
    "that takes long to read": lambda data: data + _more_tokens(),
    "with a normaliser of garbage": lambda data: data + _field(3, _field(2, b"\xff" * 5000)),
    "with a normaliser whose table points outside": lambda data: (
        data + _field(3, _field(2, struct.pack("<I", 1 << 10) + b"\xff\xff\xff\x7f" * 256))
    ),
    "with the same token twice": lambda data: data + _token(b"twice") * 2,
    "with a token that is empty": lambda data: data + _token(b""),
    "with a token that is not UTF-8": lambda data: data + _token(b"\xff\xfe"),
    "with other special tokens": lambda data: _token(b"first") + data,
}.items():
    CASES[f"tokenizer {title}"] = _tokenizer(changed)


def _word_tokenizer(data: bytes) -> Case:
    def change(folder: Path) -> None:
        (folder / "tokenizer.model").unlink()
        (folder / "tokenizer.json").write_bytes(data)
        _config('kind = "sentencepiece"', 'kind = "word"')(folder)

    return change


for title, content in {
    "that is no JSON": b"nothing",
    "nested deeply": b"[" * 1_000_000,
    "of numbers": b'{"format": "dragoman-vocabulary", "version": 1, "kind": "word", "tokens": [1, 2, 3, 4, 5]}',
    "of another kind": b'{"format": "dragoman-vocabulary", "version": 1, "kind": "os", "tokens": []}',
    "of the next version": b'{"format": "dragoman-vocabulary", "version": 2, "kind": "word", "tokens": []}',
    "of a million digits": b"1" * 1_000_000,
    "of 3,000,000 empty tokens": json.dumps(
        {"format": "dragoman-vocabulary", "version": 1, "kind": "word", "tokens": [""] * 3_000_000}
    ).encode(),
}.items():
    CASES[f"words {title}"] = _word_tokenizer(content)


# ------------------------------------------------------------------------------------------------------- the archive


def _archive(folder: Path) -> Path:
    path = folder.with_name("bundle.zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    return path


CASES["an archive of a good bundle"] = _archive
