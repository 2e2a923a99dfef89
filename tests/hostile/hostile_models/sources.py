"""Valid models of every format as file contents, from which the hostile ones are made."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import load

from dragoman.engines.ctranslate2.export import export_ctranslate2
from dragoman.importing.import_model import import_model
from testkit.random_models import random_m2m100
from testkit.random_models.random_firefox import firefox_folder, options, random_arrays, tokens_of, write_npz
from testkit.random_models.random_marian import SHAPES, write_folder

Files = dict[str, bytes]
"""Contents by path in the folder of a model."""

PICKLE = "pytorch_model.bin"
MODEL, LEXICON, VOCABULARY = "model.enpt.intgemm.alphas.bin", "lex.50.50.enpt.s2t.bin", "vocab.enpt.spm"
PACKAGE = "en_pt.argosmodel"
FORMATS = ("firefox", "hugging-face", "hugging-face-pickle", "ctranslate2", "argos", "marian", "m2m100", "nllb")


def valid_sources(folder: Path) -> dict[str, Files]:
    """Valid models by format; `folder` is for temporary files."""
    marian = write_folder(folder / "marian", SHAPES["shared, swish"])
    hugging_face = _contents(marian) | {
        "tokenizer_config.json": json.dumps({"source_lang": "en", "target_lang": "pt"}).encode(),
        "README.md": b"---\nlicense: apache-2.0\n---\n# A model\n",
    }
    vocabulary = hugging_face["source.spm"]
    bundle = import_model(marian, folder / "bundle").bundle
    (folder / "ctranslate2").mkdir()
    export_ctranslate2(bundle, folder / "ctranslate2", "int8")
    ctranslate2 = _contents(folder / "ctranslate2")
    arrays = folder / "model.npz"
    write_npz(arrays, random_arrays(tokens_of(vocabulary), ssru=False), options())
    return {
        "firefox": _contents(firefox_folder(folder / "firefox", vocabulary, lexicon=True)),
        "hugging-face": hugging_face,
        "hugging-face-pickle": {name: data for name, data in hugging_face.items() if name != "model.safetensors"}
        | {PICKLE: checkpoint(hugging_face["model.safetensors"])},
        "ctranslate2": ctranslate2 | {"sentencepiece.model": vocabulary},
        "argos": {f"en_pt/model/{name}": data for name, data in ctranslate2.items()}
        | {
            "en_pt/sentencepiece.model": vocabulary,
            "en_pt/metadata.json": json.dumps({"from_code": "en", "to_code": "pt"}).encode(),
        },
        "marian": {"model.npz": arrays.read_bytes(), "vocab.spm": vocabulary},
        "m2m100": _contents(random_m2m100.write_folder(folder / "m2m100", random_m2m100.SHAPES["M2M100"])),
        "nllb": _contents(random_m2m100.write_folder(folder / "nllb", random_m2m100.SHAPES["NLLB"])),
    }


def _contents(folder: Path) -> Files:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def checkpoint(safetensors: bytes) -> bytes:
    """The same weights as `torch.save` writes them, without torch: a zip archive with a pickle and raw numbers."""
    pickle, records = b"\x80\x02}(", {}
    for number, (name, array) in enumerate(load(safetensors).items()):
        pickle += _text(name) + tensor(str(number), array.size, array.shape)
        records[f"archive/data/{number}"] = np.ascontiguousarray(array).tobytes()
    return torch_archive(pickle + b"u.", records)


def tensor(key: str, count: int, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> bytes:
    """Opcodes of a float32 tensor whose storage is the record `key`."""
    if strides is None:
        strides = tuple(int(np.prod(shape[place + 1 :])) for place in range(len(shape)))
    storage = b"(" + _text("storage") + b"ctorch\nFloatStorage\n" + _text(key) + _text("cpu") + _number(count) + b"tQ"
    view = _number(0) + _numbers(shape) + _numbers(strides) + b"\x89"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + view + b"ccollections\nOrderedDict\n)R" + b"tR"


def _text(text: str) -> bytes:
    data = text.encode()
    return b"X" + len(data).to_bytes(4, "little") + data


def _number(value: int) -> bytes:
    data = value.to_bytes(9, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def _numbers(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(_number, values)) + b"t"


def torch_archive(pickle: bytes, records: Mapping[str, bytes], *, compression: int = zipfile.ZIP_STORED) -> bytes:
    """The archive that `torch.save` writes."""
    return archive({"archive/data.pkl": pickle, **records, "archive/version": b"3\n"}, compression=compression)


def archive(files: Mapping[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive; entries have the same date, so the bytes depend on the contents alone."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", compression) as opened:
        for name, data in files.items():
            opened.writestr(zipfile.ZipInfo(name), data, compression)
    return written.getvalue()


Write = Callable[[Path], None]
"""Makes something that is no regular file, such as a link, at a path."""


def write_source(format_name: str, files: Mapping[str, bytes | Write], folder: Path) -> Path:
    """Write the files of a model and return what is to be imported: the folder, or the package of Argos.

    Files of Firefox are compressed, except those whose name ends in .gz already.
    """
    folder.mkdir()
    if format_name == "argos":
        whole = files.get(PACKAGE)
        data = whole if isinstance(whole, bytes) else archive({k: v for k, v in files.items() if isinstance(v, bytes)})
        (folder / PACKAGE).write_bytes(data)
        return folder / PACKAGE
    for name, content in files.items():
        if callable(content):
            content(folder / name)
        elif format_name == "firefox" and not name.endswith(".gz"):
            (folder / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))
        else:
            (folder / name).write_bytes(content)
    return folder
