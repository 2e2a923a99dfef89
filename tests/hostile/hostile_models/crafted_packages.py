"""Argos packages: paths outside, links, bombs, entries that share data, and hostile metadata."""

from __future__ import annotations

import functools
import io
import json
import stat
import struct
import warnings
import zipfile
from collections.abc import Iterator

from tests.hostile.hostile_models.case import Case, Content, replaced
from tests.hostile.hostile_models.crafted_texts import json_files
from tests.hostile.hostile_models.sources import PACKAGE, Files, archive

_METADATA, _WEIGHTS = "en_pt/metadata.json", "en_pt/model/model.bin"
_OUTSIDE = (
    "../../escaped",
    "/escaped",
    "en_pt/../../escaped",
    "en_pt\\..\\..\\escaped",
    "C:\\escaped",
    "../metadata.json",
    "/metadata.json",
    "../model/model.bin",
    "en_pt/model/../../metadata.json",
    "../../../../../../../../tmp/escaped",
    "en_pt/./metadata.json/../../escaped",
)


def packages(files: Files) -> Iterator[Case]:
    """Cases of the whole package and of its metadata."""
    for name in _OUTSIDE:
        yield _case("path outside", name, archive({name: b"x"} | files), False)
        yield _case("path outside", f"{name} alone", archive({name: b"x"}))
    for kind, mode in {"a link": stat.S_IFLNK, "a device": stat.S_IFCHR, "a pipe": stat.S_IFIFO}.items():
        for target in (_METADATA, _WEIGHTS, "en_pt/model"):
            yield _case("no file", f"{target} is {kind}", _with_mode(files, target, mode), target != "en_pt/model")
    for target in (_METADATA, _WEIGHTS, "en_pt/sentencepiece.model", "en_pt/model/config.json"):
        for method, title in (
            (zipfile.ZIP_DEFLATED, "deflate"),
            (zipfile.ZIP_BZIP2, "bzip2"),
            (zipfile.ZIP_LZMA, "LZMA"),
        ):
            bomb = functools.partial(_bomb, files, target, method)
            yield _case("compressed data", f"{target} of 64 MiB, {title}", bomb)
    for method, title in ((zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "LZMA"), (zipfile.ZIP_STORED, "stored")):
        yield _case("compressed data", f"all in {title}", archive(files, compression=method), False)
    yield from _archives(files)
    for title, data in json_files("metadata.json").items():
        yield Case("argos", _METADATA, "hostile JSON", title, replaced(_METADATA, data))
    for title, table in {
        "codes with lines": {"from_code": "en\n\x1b[2J", "to_code": "pt"},
        "codes of 1 MB": {"from_code": "e" * 1_000_000, "to_code": "pt"},
        "codes that are paths": {"from_code": "../..", "to_code": "/etc"},
        "codes that are numbers": {"from_code": 1, "to_code": []},
        "a prefix that is a list": {"from_code": "en", "to_code": "pt", "target_prefix": [1] * 100_000},
        "a prefix of 1 MB": {"from_code": "en", "to_code": "pt", "target_prefix": "x" * 1_000_000},
        "a prefix with lines": {"from_code": "en", "to_code": "pt", "target_prefix": "a\n\x1b[2J"},
    }.items():
        yield Case("argos", _METADATA, "wrong setting", title, replaced(_METADATA, json.dumps(table).encode()))


def _with_mode(files: Files, target: str, mode: int) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as opened:
        for name, data in {target: b"/etc/passwd", **{k: v for k, v in files.items() if k != target}}.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (mode | 0o644) << 16 if name == target else 0o644 << 16
            opened.writestr(entry, data)
    return written.getvalue()


def _archives(files: Files) -> Iterator[Case]:
    """Damaged directories of the archive."""
    valid = archive(files)
    end = valid.rindex(b"PK\x05\x06")
    for place, form, field in (
        (8, "<H", "entries here"),
        (10, "<H", "entries"),
        (12, "<I", "size"),
        (16, "<I", "start"),
    ):
        for value in (0, 1, 1 << 15, (1 << 16) - 1, (1 << 31) - 1, (1 << 32) - 1):
            limit = (1 << 8 * struct.calcsize(form)) - 1
            changed = bytearray(valid)
            struct.pack_into(form, changed, end + place, min(value, limit))
            yield _case("lying size", f"{field} {value} in the end record", bytes(changed), False)
    directory = struct.unpack_from("<I", valid, end + 16)[0]
    for place, form, field in (
        (10, "<H", "method"),
        (20, "<I", "packed size"),
        (24, "<I", "size"),
        (42, "<I", "start"),
    ):
        for value in (0, 1, 99, 1 << 31, (1 << 32) - 1):
            limit = (1 << 8 * struct.calcsize(form)) - 1
            changed = bytearray(valid)
            struct.pack_into(form, changed, directory + place, min(value, limit))
            yield _case("lying size", f"{field} {value} in the directory", bytes(changed), False)
    encrypted = bytearray(valid)
    encrypted[directory + 8] |= 1
    yield _case("other archive", "encrypted", bytes(encrypted))
    yield _case("other archive", "a package in a package", archive({"en_pt/x.argosmodel": valid}))
    yield _case("other archive", "nothing", archive({}))
    yield _case("other archive", "a comment of 64 kB", valid[:-2] + b"\xff\xff" + b"x" * 65_535, False)
    yield _case("other archive", "bytes before", b"x" * 100_000 + valid, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield _case("other archive", "all entries twice", _twice(files))
    long = "en_pt/" + "x" * 60_000
    yield _case("other archive", "a name of 60 kB", archive(files | {long: b"x"}), False)
    broken = archive({long: b"x" * 100, **files}).replace(b"x" * 50, b"y" * 50, 1)
    yield _case("other archive", "a name of 60 kB that differs", broken, False)
    for count in (3000, 400_000):
        yield _case("many entries", f"{count} entries", functools.partial(_many, files, count))
    yield _case("many entries", "entries that share data", lambda: _shared(files))


def _bomb(files: Files, target: str, method: int) -> bytes:
    return archive(files | {target: bytes(64 << 20)}, compression=method)


def _many(files: Files, count: int) -> bytes:
    return archive({f"e{number}": b"" for number in range(count)} | files, compression=zipfile.ZIP_STORED)


def _twice(files: Files) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as opened:
        for _ in range(2):
            for name, data in files.items():
                opened.writestr(name, data)
    return written.getvalue()


def _shared(files: Files) -> bytes:
    """All entries have the data of one, which expands to 16 MiB."""
    names = [name for name in files if name != _METADATA]
    packed = archive({_METADATA: files[_METADATA], **dict.fromkeys(names, bytes(16 << 20))})
    changed = bytearray(packed)
    place = first = struct.unpack_from("<I", packed, packed.rindex(b"PK\x05\x06") + 16)[0]
    starts = []
    while changed[place : place + 4] == b"PK\x01\x02":
        name, extra, comment = struct.unpack_from("<HHH", changed, place + 28)
        starts.append(place)
        place += 46 + name + extra + comment
    shared = struct.unpack_from("<I", changed, starts[1] + 42)[0]
    for start in starts[1:]:
        struct.pack_into("<I", changed, start + 42, shared)
    assert first < place
    return bytes(changed)


def _case(kind: str, title: str, data: Content, refuse: bool = True) -> Case:
    return Case("argos", PACKAGE, kind, title, replaced(PACKAGE, data), refuse=refuse)
