"""Damaged and hostile model files to import: one-line errors, no crash, no warning, and nothing is written."""

import gzip
import json
import random
import shutil
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dragoman.errors import DragomanError
from dragoman.importing.import_model import import_model
from testkit.random_models.random_firefox import (
    firefox_folder,
    folder_with,
    options,
    random_arrays,
    tokens_of,
    write_npz,
)
from testkit.random_models.random_marian import SHAPES, write_folder
from tests.unit.importing.test_ctranslate2 import exported

MUTATIONS = 30


def hugging_face(folder: Path) -> tuple[Path, list[str]]:
    return write_folder(folder / "source", SHAPES["shared, swish"]), ["model.safetensors", "config.json", "vocab.json"]


def ctranslate2(folder: Path) -> tuple[Path, list[str]]:
    pytest.importorskip("ctranslate2")
    return exported(folder, {"tie": "none", "joint": "false"})[1], [
        "model.bin",
        "config.json",
        "source_vocabulary.json",
    ]


def firefox(folder: Path) -> tuple[Path, list[str]]:
    vocabulary = (hugging_face(folder)[0] / "source.spm").read_bytes()
    target = firefox_folder(folder / "firefox", vocabulary, lexicon=True)
    return target, ["model.enpt.intgemm.alphas.bin", "lex.50.50.enpt.s2t.bin"]


def marian(folder: Path) -> tuple[Path, list[str]]:
    vocabulary = (hugging_face(folder)[0] / "source.spm").read_bytes()
    target = folder_with(folder / "marian", vocabulary)
    write_npz(target / "model.npz", random_arrays(tokens_of(vocabulary), ssru=False), options())
    return target, ["model.npz"]


FORMATS: dict[str, Callable[[Path], tuple[Path, list[str]]]] = {
    "hugging-face": hugging_face,
    "ctranslate2": ctranslate2,
    "firefox": firefox,
    "marian": marian,
}


def mutations(data: bytes, seed: int) -> Iterator[bytes]:
    """Flipped bits, extreme numbers near the start, cuts and repeats."""
    generator = random.Random(seed)
    extremes = [b"\xff" * 4, bytes(4), b"\xff\xff\xff\x7f", struct.pack("<Q", 1 << 62), b"\x00\x00\x80\x7f", b"[" * 8]
    for number in range(MUTATIONS):
        changed = bytearray(data)
        place = generator.randrange(len(data) if number % 2 else min(len(data), 2000))
        kind = number % 4
        if kind == 0:
            changed[place] ^= 1 << generator.randrange(8)
        elif kind == 1:
            extreme = generator.choice(extremes)
            changed[place : place + len(extreme)] = extreme
        elif kind == 2:
            del changed[place : place + generator.choice([1, 100, len(data)])]
        else:
            changed[place:place] = changed[place : place + generator.choice([1, 64, 5000])]
        yield bytes(changed)


@pytest.mark.parametrize("format_name", FORMATS)
def test_mutated_files_are_refused_or_harmless(format_name: str, tmp_path: Path):
    folder, names = FORMATS[format_name](tmp_path)
    messages = []
    for seed, name in enumerate(names):
        original = (folder / name).read_bytes()
        for changed in mutations(original, seed):
            (folder / name).write_bytes(changed)
            try:
                import_model(folder, tmp_path / "b", format_name=format_name)
            except DragomanError as error:
                messages.append(str(error))
        (folder / name).write_bytes(original)
    assert len(messages) > MUTATIONS // 4
    assert [message for message in messages if "\n" in message or len(message) > 600] == []
    import_model(folder, tmp_path / "b", format_name=format_name)


def test_deep_json_and_wrong_types_are_refused(tmp_path: Path):
    folder, _ = hugging_face(tmp_path)
    config = (folder / "config.json").read_text()
    for text in ("[" * 100_000, "null", "[]", '{"model_type": "marian"}', config.replace("16", "-1"), config[:-5]):
        (folder / "config.json").write_text(text)
        with pytest.raises(DragomanError) as caught:
            import_model(folder, tmp_path / "b", format_name="hugging-face")
        assert "\n" not in str(caught.value)
        with pytest.raises(DragomanError):
            import_model(folder, tmp_path / "b")


def test_devices_and_links_to_nothing_are_refused(tmp_path: Path):
    folder, _ = hugging_face(tmp_path)
    for target in ("/dev/zero", "missing"):
        (folder / "vocab.json").unlink()
        (folder / "vocab.json").symlink_to(target)
        with pytest.raises(DragomanError):
            import_model(folder, tmp_path / "b")


def test_a_zip_that_is_no_package_is_refused(tmp_path: Path):
    archive = tmp_path / "a.argosmodel"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("x/readme.txt", "nothing")
    with pytest.raises(DragomanError, match="got no files"):
        import_model(archive, tmp_path / "b")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("x/metadata.json", json.dumps({}))
        opened.writestr("x/sentencepiece.model", bytes(100 << 20))
    with pytest.raises(DragomanError, match=r"must hold sentencepiece\.model once, as a plain file of at most"):
        import_model(archive, tmp_path / "b")
    archive.write_bytes(gzip.compress(b"x"))
    with pytest.raises(DragomanError, match="is a file; name the folder of the model"):
        import_model(archive, tmp_path / "b")
    shutil.rmtree(tmp_path / "b", ignore_errors=True)


def test_a_compressed_model_expands_to_a_limited_multiple_of_its_size(tmp_path: Path):
    folder, _ = firefox(tmp_path)
    model = folder / "model.enpt.intgemm.alphas.bin"
    packed = model.with_suffix(".bin.gz")
    packed.write_bytes(gzip.compress(model.read_bytes()))
    model.unlink()
    import_model(folder, tmp_path / "b", format_name="firefox")

    packed.write_bytes(gzip.compress(bytes(64 << 20)))
    tracemalloc.start()
    try:
        with pytest.raises(DragomanError, match="must hold one complete gzip stream of at most 2,"):
            import_model(folder, tmp_path / "b", format_name="firefox")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_package_expands_to_a_limited_multiple_of_its_size(tmp_path: Path):
    archive = tmp_path / "a.argosmodel"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("x/metadata.json", json.dumps({}))
        for name in ("x/sentencepiece.model", "x/model/config.json", "x/model/model.bin"):
            opened.writestr(name, bytes(8 << 20))
    with pytest.raises(DragomanError, match="must expand to at most 1,"):
        import_model(archive, tmp_path / "b")


def refusal(source: Path, output: Path) -> str:
    with pytest.raises(DragomanError) as caught:
        import_model(source, output)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 600
    return message


@pytest.mark.parametrize("text", ["x" * 1_000_000, "a\nb\x1b[2J"])
def test_text_of_a_header_is_shortened_in_the_message(text: str, tmp_path: Path):
    folder, _ = hugging_face(tmp_path)
    header = json.dumps({"w": {"dtype": text, "shape": [1], "data_offsets": [0, 4]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    assert "unknown variant" in refusal(folder, tmp_path / "b")


def test_a_header_of_many_arrays_is_refused_before_it_is_parsed(tmp_path: Path):
    folder, _ = hugging_face(tmp_path)
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps({f"e{number}": entry for number in range(50_000)}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    assert "must be a safetensors file; get" in refusal(folder, tmp_path / "b")


@pytest.mark.parametrize("data", [b"[" + b"[]," * 1_500_000 + b"[]]", b"{" + b'"a":1,' * 1_500_000 + b'"b":1}'])
def test_json_with_many_values_is_refused_before_it_is_parsed(data: bytes, tmp_path: Path):
    folder, _ = hugging_face(tmp_path)
    (folder / "vocab.json").write_bytes(data)
    assert "must hold at most 2,000,000 values, got " in refusal(folder, tmp_path / "b")


def test_a_long_header_of_an_array_gives_one_line(tmp_path: Path):
    folder, _ = marian(tmp_path)
    text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" + b" " * 60_000 + b"\n"
    with zipfile.ZipFile(folder / "model.npz", "w") as opened:
        opened.writestr("Wemb.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + bytes(4))
    assert "Header info length" in refusal(folder, tmp_path / "b")


def test_a_directory_of_many_entries_is_refused_before_it_is_read(tmp_path: Path):
    folder, _ = marian(tmp_path)
    for path in (folder / "model.npz", tmp_path / "a.argosmodel"):
        with zipfile.ZipFile(path, "w") as opened:
            for number in range(25_000):
                opened.writestr(f"e{number}", b"")
    assert "must have a directory of at most 1,048,576 bytes" in refusal(folder, tmp_path / "b")
    assert "must have a directory of at most 524,288 bytes" in refusal(tmp_path / "a.argosmodel", tmp_path / "b")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_package_with_another_compression_is_refused(method: int, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "a.argosmodel", "w", method) as opened:
        opened.writestr("x/metadata.json", "{}")
    assert "must hold metadata.json once, as a plain file" in refusal(tmp_path / "a.argosmodel", tmp_path / "b")
