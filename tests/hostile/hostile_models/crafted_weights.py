"""Weight files with lying sizes, huge shapes and wrong values: Firefox, safetensors, CTranslate2 and .npz."""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from testkit.random_models.random_firefox import options
from tests.hostile.hostile_models.case import Case, Content, replaced
from tests.hostile.hostile_models.sources import LEXICON, MODEL, Files, archive

_LIES = (0, 1, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 64) - 1)
_SHAPES = ((1 << 31) - 1, -1, 0, 65_536)


def firefox(files: Files) -> Iterator[Case]:
    """Cases of model.*.bin and lex.*.bin."""
    data = files[MODEL]
    count = struct.unpack_from("<Q", data, 8)[0]
    for value in _LIES:
        yield _case("firefox", MODEL, "lying size", f"{value} arrays", _packed(data, 8, "<Q", value))
        yield _case("firefox", MODEL, "lying size", f"version {value}", _packed(data, 0, "<Q", value), value != 1)
    for number in (0, 1, count // 2, count - 1):
        for place, field in enumerate(("name length", "type", "dimensions", "bytes")):
            for value in _LIES:
                changed = _packed(data, 16 + 32 * number + 8 * place, "<Q", value)
                yield _case("firefox", MODEL, "lying size", f"{field} {value} of array {number}", changed, False)
    shapes = 16 + 32 * count + sum(struct.unpack_from("<Q", data, 16 + 32 * n)[0] for n in range(count))
    for place in (4, 12, 100, 200):
        for value in _SHAPES:
            changed = _packed(data, shapes + place, "<i", value)
            yield _case("firefox", MODEL, "huge shape", f"{value} at dimension {place // 4}", changed, False)
    for changes in _OPTIONS:
        text = options(**changes).rstrip(b"\0")
        yield _case("firefox", MODEL, "wrong setting", str(changes)[:60], _with_options(data, text))
    for title, text in (
        ("2 MiB of options", b"a: b\n" * 400_000),
        ("nested YAML", b"type: " + b"[" * 50_000),
        ("YAML aliases", b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n" * 50),
        ("YAML with code", b"type: !!python/object/apply:os.system [touch code-ran]\n"),
    ):
        yield _case("firefox", MODEL, "wrong setting", title, _with_options(data, text))
    yield from _gzip_files(files)
    yield from _lexicons(files[LEXICON])


_OPTIONS: tuple[dict[str, Any], ...] = (
    {"dim_emb": 1 << 20},
    {"dim_emb": 10**30},
    {"dim_emb": "-16"},
    {"transformer_heads": 0},
    {"transformer_heads": 7},
    {"enc_depth": 1 << 20},
    {"dec_depth": 1 << 20},
    {"transformer_dim_ffn": 1 << 20},
    {"transformer_ffn_activation": "x" * 100_000},
    {"type": "\x1b[2J"},
)


def _with_options(data: bytes, text: bytes) -> bytes:
    """Replace the options, which are the first array."""
    length = struct.unpack_from("<Q", data, 16 + 24)[0]
    start = data.index(b"type: transformer")
    head = bytearray(data[:start])
    struct.pack_into("<Q", head, 16 + 24, len(text))
    return bytes(head) + text + data[start + length :]


def _gzip_files(files: Files) -> Iterator[Case]:
    packed = gzip.compress(files[MODEL], mtime=0)
    crafted: dict[str, Content] = {
        "256 MiB of zeros": lambda: gzip.compress(bytes(256 << 20), 9, mtime=0),
        "a bomb in a bomb": lambda: gzip.compress(gzip.compress(bytes(64 << 20), mtime=0), mtime=0),
        "two streams": packed + packed,
        "bytes after the end": packed + b"x" * 100,
        "no end": packed[:-9],
        "wrong checksum": packed[:-8] + bytes(8),
        "not compressed": files[MODEL],
        "lying length": packed[:-4] + b"\xff" * 4,
    }
    for title, data in crafted.items():
        yield _gzip_case(MODEL, title, data)
    for name in (LEXICON, "vocab.enpt.spm"):
        yield _gzip_case(name, "64 MiB of zeros", lambda: gzip.compress(bytes(64 << 20), 9, mtime=0))
        yield _gzip_case(name, "no end", gzip.compress(files[name], mtime=0)[:-9])


def _gzip_case(name: str, title: str, data: Content) -> Case:
    def make(files: Files) -> dict[str, Any]:
        changed = {each: content for each, content in files.items() if each != name}
        return changed | {f"{name}.gz": data() if callable(data) else data}

    return Case("firefox", f"{name}.gz", "compressed data", title, make, refuse=True)


def _lexicons(data: bytes) -> Iterator[Case]:
    for place, field in enumerate(("magic", "checksum", "frequent", "best", "offsets", "tokens")):
        for value in _LIES:
            changed = _packed(data, 8 * place, "<Q", value)
            yield _case("firefox", LEXICON, "lying size", f"{field} {value}", changed, place in (0, 4, 5))
    count = struct.unpack_from("<Q", data, 32)[0]
    for number in (0, 1, count - 1):
        for value in _LIES[1:]:
            changed = _packed(data, 48 + 8 * number, "<Q", value)
            yield _case("firefox", LEXICON, "lying size", f"offset {value} of list {number}", changed, False)
    yield _case("firefox", LEXICON, "wrong value", "tokens outside", data[:-4] + b"\xff\xff\xff\x7f")
    for tokens in (100_000, 4_000_000):
        offsets = np.full(count, tokens, "<u8")
        offsets[0] = 0
        numbers = np.random.default_rng(1).integers(0, 40, tokens).astype("<u4")
        content = data[:40] + struct.pack("<Q", tokens) + offsets.tobytes() + numbers.tobytes()
        yield _case("firefox", LEXICON, "huge list", f"{tokens} tokens", content, False)


# ---------------------------------------------------------------------------------------------------------- safetensors


def safetensors(files: Files) -> Iterator[Case]:
    """Cases of model.safetensors."""
    data = files["model.safetensors"]
    length = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    body = data[8 + length :]
    for value in (*_LIES, length - 1, length + 1, len(data)):
        changed = _packed(data, 0, "<Q", value)
        yield _case("hugging-face", "model.safetensors", "lying size", f"header of {value}", changed)
    name = next(each for each in header if each != "__metadata__")
    end = header[name]["data_offsets"][1]
    for title, entry in {
        "huge shape": {"shape": [1 << 62, 1 << 62]},
        "shape with an overflow": {"shape": [1 << 32, 1 << 32]},
        "negative shape": {"shape": [-1, -1]},
        "shape of fractions": {"shape": [1.5, 2]},
        "shape of text": {"shape": "x"},
        "no shape": {"shape": None},
        "100,000 dimensions": {"shape": [1] * 100_000},
        "unknown type": {"dtype": "F3"},
        "unknown type with lines": {"dtype": "x\n\x1b[2J" * 50},
        "a type of 1 MB": {"dtype": "x" * 1_000_000},
        "offsets in reverse": {"data_offsets": [end, 0]},
        "offsets outside": {"data_offsets": [0, 1 << 62]},
        "negative offsets": {"data_offsets": [-8, end]},
        "three offsets": {"data_offsets": [0, 1, end]},
        "overlap": {"data_offsets": [0, end + 64]},
        "an entry that is no object": None,
    }.items():
        changed_header = header | {name: header[name] | entry if entry is not None else 5}
        kind = "huge shape" if "shape" in title or "dimensions" in title else "wrong value"
        yield _case("hugging-face", "model.safetensors", kind, title, _tensors(changed_header, body))
    for title, other in {
        "a name with lines": {"a\nb\x1b[2J": header[name]},
        "a name of 1 MB": {"x" * 1_000_000: header[name] | {"data_offsets": [0, 1 << 40]}},
        "an empty name": {"": header[name]},
        "one more array": {"extra": {"dtype": "F32", "shape": [0], "data_offsets": [len(body), len(body)]}},
        "an empty array": {"e": {"dtype": "F32", "shape": [0, 1 << 60], "data_offsets": [len(body), len(body)]}},
        "200,000 empty arrays": {
            f"e{number}": {"dtype": "F32", "shape": [0], "data_offsets": [len(body), len(body)]}
            for number in range(200_000)
        },
        "metadata of 8 MB": {"__metadata__": {"a": "x" * 8_000_000}},
    }.items():
        refuse = "metadata" not in title
        yield _case("hugging-face", "model.safetensors", "wrong value", title, _tensors(header | other, body), refuse)
    for title, text in {
        "nested header": b"[" * 1_000_000,
        "nested objects": b'{"a":' * 300_000,
        "no object": b"[]",
        "10 MiB of numbers": b"[" + b"1," * 5_000_000 + b"1]",
        "10 MiB of lists": b'{"a":[' + b"[]," * 3_400_000 + b"[]]}",
        "UTF-16": json.dumps(header).encode("utf-16"),
        "not a number": json.dumps(header).replace('"shape"', '"x": NaN, "shape"').encode(),
    }.items():
        content = len(text).to_bytes(8, "little") + text + body
        yield _case("hugging-face", "model.safetensors", "hostile header", title, content, title != "not a number")
    values = np.frombuffer(body, "<f4").copy()
    for title, number in {"NaN": np.nan, "infinity": np.inf}.items():
        values[5] = number
        content = data[: 8 + length] + values.tobytes()
        yield _case("hugging-face", "model.safetensors", "wrong value", title, content)


def _tensors(header: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


# ---------------------------------------------------------------------------------------------------------- CTranslate2


def ctranslate2(files: Files) -> Iterator[Case]:
    """Cases of model.bin."""
    data = files["model.bin"]
    fields = list(_fields(data))
    for place, form, field in fields[:4] + random.Random(2).sample(fields[4:], 26):
        for value in _LIES[:4]:
            limit = (1 << 8 * struct.calcsize(form)) - 1
            changed = _packed(data, place, form, min(value, limit))
            yield _case("ctranslate2", "model.bin", "lying size", f"{field} {value}", changed, False)
    matrix = _string("w") + struct.pack("<BIIBI", 2, 500, 500, 0, 1_000_000) + bytes(1_000_000)
    head = struct.pack("<I", 6) + _string("TransformerSpec") + struct.pack("<II", 7, 1)
    for title, tail in {
        "100,000 aliases of a matrix": b"".join(_string(f"a{n}") + _string("w") for n in range(100_000)),
        "aliases of aliases": b"".join(_string(f"a{n}") + _string(f"a{n - 1}" if n else "w") for n in range(100_000)),
        "an alias of itself": (_string("w") + _string("w")) * 100_000,
        "aliases of nothing": (_string("a") + _string("b")) * 100_000,
    }.items():
        yield _case("ctranslate2", "model.bin", "aliases", title, head + matrix + struct.pack("<I", 100_000) + tail)
    scalars = b"".join(_string(f"s{n}") + struct.pack("<BBIf", 0, 0, 4, 1.0) for n in range(100_000))
    many = struct.pack("<I", 6) + _string("TransformerSpec") + struct.pack("<II", 7, 100_000) + scalars + bytes(4)
    yield _case("ctranslate2", "model.bin", "lying size", "100,000 attributes", many)
    long = struct.pack("<I", 6) + _string("x" * 60_000) + struct.pack("<III", 7, 0, 0)
    yield _case("ctranslate2", "model.bin", "wrong value", "a specification of 60 kB", long)


def _string(text: str) -> bytes:
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"


def _fields(data: bytes) -> Iterator[tuple[int, str, str]]:
    """Place, format and name of every number in the headers."""
    yield 0, "<I", "version"
    yield 4, "<H", "length of the specification"
    place = 6 + struct.unpack_from("<H", data, 4)[0]
    yield place, "<I", "revision"
    yield place + 4, "<I", "variables"
    count = struct.unpack_from("<I", data, place + 4)[0]
    place += 8
    for number in range(count):
        yield place, "<H", f"name length of variable {number}"
        place += 2 + struct.unpack_from("<H", data, place)[0]
        dimensions = data[place]
        yield place, "<B", f"dimensions of variable {number}"
        for _ in range(dimensions):
            yield place + 1, "<I", f"dimension of variable {number}"
            place += 4
        yield place + 1, "<B", f"type of variable {number}"
        yield place + 2, "<I", f"bytes of variable {number}"
        place += 6 + struct.unpack_from("<I", data, place + 2)[0]
    yield place, "<I", "aliases"


# ----------------------------------------------------------------------------------------------------------------- .npz


def npz(files: Files) -> Iterator[Case]:
    """Cases of model.npz."""
    with zipfile.ZipFile(io.BytesIO(files["model.npz"])) as opened:
        arrays = {entry.filename: opened.read(entry) for entry in opened.infolist()}
    code = b"cposix\nsystem\n(S'touch code-ran'\ntR."
    signature = "{'descr': %s, 'fortran_order': False, 'shape': %s, }"
    for title, header, content in (
        ("huge shape", signature % ("'<f4'", "(4611686018427387904, 4)"), bytes(64)),
        ("shape with an overflow", signature % ("'<f4'", "(4294967296, 4294967296)"), bytes(64)),
        ("negative shape", signature % ("'<f4'", "(-1,)"), bytes(64)),
        ("shape of text", signature % ("'<f4'", "'x'"), bytes(64)),
        ("10,000 dimensions", signature % ("'<f4'", "(" + "1," * 1800 + ")"), bytes(64)),
        ("objects with code", signature % ("'|O'", "(1,)"), code),
        ("structures", signature % ("[('a', '<f4'), ('b', '|O')]", "(1,)"), code),
        ("a type of 1 GB", signature % ("'|S1073741824'", "(1,)"), bytes(64)),
        ("code in the header", signature % ("__import__('os').system('touch code-ran')", "(1,)"), bytes(64)),
        ("nested header", "(" * 4000, bytes(64)),
        ("a power in the header", signature % ("'<f4'", "(9**9**9,)"), bytes(64)),
        ("complex numbers", signature % ("'<c16'", "(4,)"), bytes(64)),
        ("dates", signature % ("'<M8[s]'", "(8,)"), bytes(64)),
        ("another header", "{'descr': '<f4'}", bytes(64)),
    ):
        for version in (1, 2, 3):
            changed = arrays | {"Wemb.npy": _npy(header, content, version)}
            yield _npz_case("huge shape" if "shape" in title else "hostile header", f"{title}, {version}", changed)
    long = arrays | {"Wemb.npy": _npy(signature % ("'<f4'", "(1,)") + " " * 60_000, bytes(4), 2)}
    yield _npz_case("hostile header", "a header of 60 kB", long)
    yield _case(
        "marian", "model.npz", "compressed data", "a bomb", lambda: archive(arrays | {"Wemb.npy": bytes(64 << 20)})
    )
    stored = archive(arrays, compression=zipfile.ZIP_STORED)
    lying = stored.replace(struct.pack("<II", *[len(arrays["Wemb.npy"])] * 2), struct.pack("<II", 100, 1 << 31))
    yield _case("marian", "model.npz", "lying size", "an entry of 2 GiB", lying)
    yield _case("marian", "model.npz", "many entries", "150,000 entries", _many_entries)
    for changes in _OPTIONS:
        config = _npy(f"{{'descr': '|i1', 'fortran_order': False, 'shape': ({len(options(**changes))},), }}", b"", 1)
        changed = arrays | {"special:model.yml.npy": config + options(**changes)}
        yield _npz_case("wrong setting", str(changes)[:60], changed)


def _many_entries() -> bytes:
    return archive({f"e{number}": b"" for number in range(150_000)}, compression=zipfile.ZIP_STORED)


def _npz_case(kind: str, title: str, arrays: Files) -> Case:
    return _case("marian", "model.npz", kind, title, archive(arrays, compression=zipfile.ZIP_STORED))


def _npy(header: str, content: bytes, version: int) -> bytes:
    text = header.encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + content


def _packed(data: bytes, place: int, form: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(form, changed, place, value)
    return bytes(changed)


def _case(format_name: str, file: str, kind: str, title: str, content: Content, refuse: bool = True) -> Case:
    return Case(format_name, file, kind, title, replaced(file, content), refuse=refuse)
