"""PyTorch checkpoints that hold code, or that claim more than they hold."""

from __future__ import annotations

import functools
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.hostile_models.case import Case, Content, replaced
from tests.hostile.hostile_models.sources import PICKLE, Files, tensor, torch_archive

_LEGACY_HEAD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}q\x00."
"""Magic number, protocol and system information of files before torch 1.6, each a pickle."""


def pickles(files: Files, signal: Path) -> Iterator[Case]:
    """Cases of pytorch_model.bin; code that runs creates the file `signal`."""
    for title, code in _codes(signal).items():
        yield _case("code", f"{title}, pickle", b"\x80\x02" + code + b".")
        yield _case("code", f"{title}, before 1.6", _LEGACY_HEAD + b"\x80\x02" + code + b".\x80\x02]q\x00.")
        yield _case("code", f"{title}, archive", torch_archive(b"\x80\x02" + code + b".", {}))
        inside = b"\x80\x02}" + _text("model.shared.weight") + code + b"s."
        yield _case("code", f"{title}, in a state", torch_archive(inside, {}))
    yield from _claims()
    valid = files[PICKLE]
    script = {"archive/constants.pkl": b"\x80\x02).", "archive/code/__torch__.py": b"import os\n"}
    yield _case("other archive", "TorchScript", torch_archive(b"\x80\x02}.", script))
    yield _case("other archive", "a nested archive", torch_archive(b"\x80\x02}.", {"archive/data/0": valid}))
    yield _case("other archive", "paths outside", torch_archive(b"\x80\x02}.", {"../../data/0": b"x", "/tmp/x": b"x"}))
    yield _case("other archive", "no pickle", torch_archive(b"", {}))


def _codes(signal: Path) -> dict[str, bytes]:
    """Opcodes that run a command or open a file when they are executed, by title."""
    command, path = _text(f"touch {signal}"), _text(str(signal))
    expression = _text(f"open({str(signal)!r}, 'w')")
    return {
        "os.system": b"cos\nsystem\n(" + command + b"tR",
        "posix.system": b"cposix\nsystem\n(" + command + b"tR",
        "subprocess": b"csubprocess\nPopen\n((" + _text("touch") + path + b"ltR",
        "eval": b"cbuiltins\neval\n(" + expression + b"tR",
        "exec": b"cbuiltins\nexec\n(" + expression + b"tR",
        "eval by its old name": b"c__builtin__\neval\n(" + expression + b"tR",
        "open": b"cbuiltins\nopen\n(" + path + _text("w") + b"tR",
        "pathlib": b"cpathlib\nPath.touch\n(cpathlib\nPath\n(" + path + b"tRtR",
        "getattr": b"cbuiltins\ngetattr\n(cos\nsystem\n" + _text("__call__") + b"tR(" + command + b"tR",
        "an instance": b"(" + command + b"ios\nsystem\n",
        "an object": b"(cos\nsystem\n" + command + b"o",
        "a new object": b"csubprocess\nPopen\n(" + path + b"t\x81",
        "a stack global": b"\x8c\x02os\x8c\x06system\x93(" + command + b"tR",
        "a build": b"cos\nsystem\n}" + _text("__setstate__") + b"cos\nsystem\nsb(" + command + b"tR",
        "runpy": b"crunpy\n_run_code\n(" + expression + b"}tR",
        "importlib": b"cimportlib\nimport_module\n(" + _text("antigravity") + b"tR",
        "torch.load": b"ctorch\nload\n(" + path + b"tR",
        "torch.hub": b"ctorch.hub\nload\n(" + path + _text("x") + b"tR",
        "torch.save": b"ctorch\nsave\n(}" + path + b"tR",
        "torch.jit": b"ctorch.jit\nload\n(" + path + b"tR",
        "a class of torch": b"ctorch.serialization\n_open_file\n(" + path + _text("w") + b"tR",
        "numpy": b"cnumpy\nload\n(" + path + b"tR",
        "numpy.save": b"cnumpy\nsave\n(" + path + b"NtR",
        "codecs": b"c_codecs\nopen\n(" + path + _text("w") + b"tR",
        "shutil": b"cshutil\ncopy\n(" + _text("/etc/hostname") + path + b"tR",
    }


def _claims() -> Iterator[Case]:
    """Tensors, strings and archives that claim more than they hold."""
    name = _text("model.shared.weight")
    for title, opcodes in {
        "a tensor of 2^62 numbers": tensor("0", 4, (1 << 31, 1 << 31)),
        "a tensor without strides": tensor("0", 4, (1 << 31, 1 << 31), (0, 0)),
        "a tensor of 4 GiB without strides": tensor("0", 4, (1 << 15, 1 << 15), (0, 0)),
        "a tensor of 200 MB without strides": tensor("0", 4, (7000, 7000), (0, 0)),
        "negative sizes": tensor("0", 4, (-1, 4)),
        "negative strides": tensor("0", 4, (2, 2), (-1, -2)),
        "a storage of 2^60 numbers": tensor("0", 1 << 60, (2, 2)),
        "a storage of 1 GiB": tensor("0", 1 << 28, (2, 2)),
        "a storage of -1 numbers": tensor("0", -1, (2, 2)),
        "a storage that is missing": tensor("9", 4, (2, 2)),
        "a string of 4 GiB": b"X\xff\xff\xff\xffabc",
        "a number of 2 GiB": b"\x8b\xff\xff\xff\x7fabc",
        "bytes of 2^63": b"\x8e" + b"\xff" * 8,
        "nested tuples": b"(" * 1_000_000 + b"t" * 1_000_000,
        "nested lists": b"]" * 200_000 + b"a" * 199_999,
        "2 million lists": b"](" + b"]" * 2_000_000 + b"e",
        "a memo of a billion entries": b"]r\xff\xff\xff\x3f" + b"h\xff",
        "doubled tuples": b"N" + b"2\x86" * 1000,
        "a key of doubled tuples": b"}N" + b"q\x00h\x00\x86" * 60 + b"Ns",
        "a key of nested tuples": b"}N" + b"\x85" * 200_000 + b"Ns",
        "a stack without an end": b"N" * 3_000_000,
        "an empty stack": b"tR",
    }.items():
        pickle = b"\x80\x02}" + name + opcodes + b"s."
        yield _case("claims", title, torch_archive(pickle, {"archive/data/0": bytes(16)}))
        if "storage" not in title and "tensor" not in title:
            yield _case("claims", f"{title}, before 1.6", _LEGACY_HEAD + pickle)
    for title, count in {"whole": 128 << 20, "a part": 4}.items():
        pickle = b"\x80\x02}" + name + tensor("0", count, (4, 1)) + b"s."
        yield _case(
            "compressed data", f"a storage of 512 MiB, {title}", functools.partial(_compressed, pickle, 512 << 20)
        )
    yield _case("compressed data", "a pickle of 200 MiB", _long_pickle)
    yield _case("many entries", "200,000 records", _many_records)


def _compressed(pickle: bytes, size: int) -> bytes:
    return torch_archive(pickle, {"archive/data/0": bytes(size)}, compression=zipfile.ZIP_DEFLATED)


def _long_pickle() -> bytes:
    pickle = b"\x80\x02}" + _text("x") + b"](" + b"N" * (200 << 20) + b"es."
    return torch_archive(pickle, {}, compression=zipfile.ZIP_DEFLATED)


def _many_records() -> bytes:
    return torch_archive(b"\x80\x02}.", {f"archive/data/{number}": b"" for number in range(200_000)})


def _text(text: str) -> bytes:
    data = text.encode()
    return b"X" + len(data).to_bytes(4, "little") + data


def _case(kind: str, title: str, data: Content) -> Case:
    return Case("hugging-face-pickle", PICKLE, kind, title, replaced(PICKLE, data), refuse=True)
