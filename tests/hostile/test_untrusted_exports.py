"""An export that came with a bundle is never used, however well it is made up: only what this user made is."""

import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from dragoman.bundle import Bundle, write_verified
from dragoman.engines import export_cache
from dragoman.engines.ctranslate2.engine import CTranslate2Engine
from dragoman.engines.export_cache import Export, cached_export, export_folder
from dragoman.engines.export_signing import KEY_FILE
from dragoman.engines.onnx.engine import OnnxEngine
from dragoman.files import write_json
from dragoman.search import SearchInput, SearchSettings
from tests.unit.engines.tiny_recurrent import tiny_recurrent
from tests.unit.engines.tiny_transformers import tiny_transformer

HONEST, FORGED = b"honest", b"forged"


@pytest.fixture(autouse=True)
def _keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "state" / "mine"))
    monkeypatch.setattr(export_cache, "_temporary", {})


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return tiny_recurrent(tmp_path / "bundle")


@pytest.fixture
def as_stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Bundle, bytes], Path]:
    """Creates an export with another key, correct otherwise."""

    def make(bundle: Bundle, content: bytes) -> Path:
        with monkeypatch.context() as patch:
            patch.setenv(KEY_FILE, str(tmp_path / "state" / "theirs"))
            return wanted(bundle, content).folder

    return make


def wanted(bundle: Bundle, content: bytes = HONEST) -> Export:
    def make(folder: Path) -> None:
        for name in ("reader.onnx", "writer.onnx"):
            (folder / name).write_bytes(content)

    return cached_export(bundle, "onnx", "float32", make)


def reseal(folder: Path, change: Callable[[Path], None]) -> None:
    """Change the files of an export, and give them a manifest that agrees."""
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.json"}
    shutil.rmtree(folder)
    with write_verified(folder) as draft:
        for name, data in before.items():
            (draft / name).write_bytes(data)
        change(draft)


def with_facts(**facts: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "export.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | facts))

    return change


def assert_honest(export: Export) -> None:
    assert set(export.files.values()) == {HONEST}
    assert export.is_new


def test_a_stranger_with_the_right_digest_is_not_believed(bundle: Bundle, as_stranger):
    folder = as_stranger(bundle, FORGED)
    export = wanted(bundle)
    assert_honest(export)
    assert "it is not signed with your key" in export.note
    assert export.folder == folder
    assert (folder / "writer.onnx").read_bytes() == HONEST
    again = wanted(bundle, FORGED)
    assert (again.is_new, set(again.files.values())) == (False, {HONEST})


@pytest.mark.parametrize("claimed", [None, "", "0" * 64, 1, [], {"signature": ""}, "\udcff", True])
def test_no_signature_but_the_right_one(bundle: Bundle, as_stranger, claimed: object):
    reseal(as_stranger(bundle, FORGED), with_facts(signature=claimed))
    assert_honest(wanted(bundle))


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "writer.onnx").write_bytes(FORGED),
        lambda folder: (folder / "writer.onnx").unlink(),
        lambda folder: (folder / "export.json").unlink(),
        lambda folder: (folder / "model.bin").write_bytes(FORGED),
        lambda folder: (folder / "weights.data").write_bytes(FORGED),
        with_facts(more=1),
        with_facts(files={}),
        with_facts(format=True),
    ],
    ids=["other content", "one less", "no facts", "another kind's", "one more", "facts", "no files", "almost equal"],
)
def test_my_own_signature_does_not_cover_other_files(bundle: Bundle, change: Callable[[Path], None]):
    """An attacker with write access, but without the key, writes a matching manifest."""
    reseal(wanted(bundle).folder, change)
    assert_honest(wanted(bundle))


def test_my_export_of_one_bundle_is_not_that_of_another(bundle: Bundle, tmp_path: Path):
    other = tiny_recurrent(tmp_path / "other", end=3.0)
    theirs = wanted(other, FORGED).folder
    place = export_folder(bundle, "onnx", "float32")
    shutil.copytree(theirs, place)
    assert_honest(wanted(bundle))
    shutil.rmtree(place)
    shutil.copytree(theirs, place)
    reseal(place, with_facts(bundle=bundle.digest))
    assert_honest(wanted(bundle))


@pytest.mark.parametrize("name", ["writer.onnx", "export.json", "manifest.json"])
@pytest.mark.parametrize("how", ["link", "fifo", "folder"])
def test_what_is_no_file_is_not_read(bundle: Bundle, tmp_path: Path, name: str, how: str):
    path = wanted(bundle).folder / name
    (tmp_path / "elsewhere").write_bytes(path.read_bytes())
    path.unlink()
    if how == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif how == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    assert_honest(wanted(bundle))
    assert not path.is_symlink()
    assert path.is_file()


def test_a_link_in_place_of_the_export_is_replaced_and_not_followed(bundle: Bundle, tmp_path: Path):
    place, precious = export_folder(bundle, "onnx", "float32"), tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    place.parent.mkdir()
    place.symlink_to(precious)
    assert_honest(wanted(bundle))
    assert [path.name for path in precious.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("how", ["lock is a link", "lock is a fifo", "parent is a link"])
def test_nothing_is_written_through_a_link(bundle: Bundle, tmp_path: Path, how: str):
    place, precious = export_folder(bundle, "onnx", "float32"), tmp_path / "precious"
    precious.mkdir()
    kept = precious / f"{place.name}.lock"
    kept.write_text("years of work")
    if how == "parent is a link":
        place.parent.symlink_to(precious)
    else:
        place.parent.mkdir()
        lock = place.with_name(kept.name)
        lock.symlink_to(kept) if how == "lock is a link" else os.mkfifo(lock)
    export = wanted(bundle)
    assert_honest(export)
    assert "cannot be written to" in export.note
    assert not export.folder.is_relative_to(tmp_path)
    assert [(path.name, path.read_text()) for path in precious.iterdir()] == [(kept.name, "years of work")]


def test_an_oversized_one_is_not_read(bundle: Bundle, monkeypatch: pytest.MonkeyPatch):
    folder = wanted(bundle).folder
    manifest = json.loads((folder / "manifest.json").read_text())
    size = (1 << 31) + 1
    os.truncate(folder / "writer.onnx", size)  # a hole: it takes no room
    manifest["files"]["writer.onnx"]["size"] = size
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    export = wanted(bundle)
    assert_honest(export)
    assert "must have at most 2,147,483,648 bytes" in export.note


def test_what_is_swapped_while_it_is_made_is_not_signed(bundle: Bundle, monkeypatch: pytest.MonkeyPatch):
    """An attacker with write access changes a file before its manifest is written."""
    write = write_json

    def swap(path: Path, value: object) -> None:
        (path.parent / "writer.onnx").write_bytes(FORGED)
        write(path, value)

    with monkeypatch.context() as patch:
        patch.setattr(export_cache, "write_json", swap)
        assert_honest(wanted(bundle))
    assert_honest(wanted(bundle))


@pytest.mark.parametrize("engine", [OnnxEngine, CTranslate2Engine])
def test_what_is_swapped_while_it_is_opened_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine):
    """Right after it was verified, and before the engine sees it, every file becomes that of another model."""
    pytest.importorskip("onnxruntime" if engine is OnnxEngine else "ctranslate2")
    good, evil = (
        tiny_recurrent(tmp_path / name, end=end) if engine is OnnxEngine else tiny_transformer(tmp_path / name, end=end)
        for name, end in (("good", 0.0), ("evil", 60.0))
    )
    sentences = [SearchInput([5, 6, 7]), SearchInput([9])]
    before = engine.open(good, threads=1).search(sentences, SearchSettings(beam=2))
    other = engine.open(evil, threads=1).search(sentences, SearchSettings(beam=2))
    assert [found[0].log_prob for found in before] != [found[0].log_prob for found in other]
    kind: Literal["ctranslate2", "onnx"] = "onnx" if engine is OnnxEngine else "ctranslate2"
    look = export_cache._find

    def swap(folder: Path, facts, key: bytes):
        found = look(folder, facts, key)
        shutil.rmtree(folder)
        shutil.copytree(export_folder(evil, kind, "float32"), folder)
        return found

    monkeypatch.setattr(export_cache, "_find", swap)
    after = engine.open(good, threads=1)
    assert not after.has_new_export
    found = after.search(sentences, SearchSettings(beam=2))
    assert [each[0].log_prob for each in found] == [each[0].log_prob for each in before]


def test_a_shipped_archive_of_bundle_and_export_translates_as_the_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The whole attack: a good bundle, an export of another model with its digest, unpacked and opened."""
    pytest.importorskip("ctranslate2")
    made = tmp_path / "made"
    made.mkdir()
    good, evil = tiny_transformer(made / "good"), tiny_transformer(tmp_path / "evil", end=60.0)
    with monkeypatch.context() as patch:
        patch.setenv(KEY_FILE, str(tmp_path / "state" / "theirs"))
        CTranslate2Engine.open(evil, threads=1)
    place = export_folder(good, "ctranslate2", "float32")
    shutil.copytree(export_folder(evil, "ctranslate2", "float32"), place)
    reseal(place, with_facts(bundle=good.digest))
    with tarfile.open(tmp_path / "shipped.tar", "w") as archive:
        archive.add(made, "shipped")
    shutil.unpack_archive(tmp_path / "shipped.tar", tmp_path)  # Python 3.11.2 has no filters of tar files
    shipped = Bundle.open(tmp_path / "shipped" / "good")
    engine = CTranslate2Engine.open(shipped, threads=1)
    assert engine.has_new_export
    assert "not signed with your key" in engine.note
    clean = CTranslate2Engine.open(tiny_transformer(tmp_path / "clean"), threads=1)
    sentences, settings = [SearchInput([5, 6, 7])], SearchSettings(beam=2)
    assert engine.search(sentences, settings)[0][0].log_prob == clean.search(sentences, settings)[0][0].log_prob
