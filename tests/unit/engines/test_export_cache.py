"""Exports are cached next to their bundle, created once, and used only for that bundle."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dragoman import __version__
from dragoman.bundle import Bundle, write_bundle, write_verified
from dragoman.config import load_config
from dragoman.engines import export_cache
from dragoman.engines.export_cache import cached_export, export_folder, write_export
from dragoman.engines.export_signing import KEY_FILE
from dragoman.errors import BundleError
from dragoman.text import train_words
from testkit.random_bundle import RNN, constant_weights


def make_bundle(folder: Path, value: float = 1.0) -> Bundle:
    words = train_words(["a b"], size=9)
    config = load_config("luong2015-desk", ["tokenizer.kind=word", *RNN])
    tokenizers = {"source": words, "target": words}
    return write_bundle(folder, config, constant_weights(config, tokenizers, value), tokenizers, "card")


class Maker:
    """Writes one file, and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, folder: Path) -> None:
        self.calls += 1
        (folder / "writer.onnx").write_bytes(b"model")


@pytest.fixture(autouse=True)
def _no_temporary_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """These bundles are equal, so one test would find the export of another."""
    monkeypatch.setattr(export_cache, "_temporary", {})


@pytest.fixture
def make() -> Maker:
    return Maker()


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return make_bundle(tmp_path / "b")


def test_an_export_lies_beside_the_bundle_and_is_made_once(bundle: Bundle, make: Maker):
    first = cached_export(bundle, "onnx", "int8", make, packages=("numpy",))
    assert first.folder == bundle.path.with_name("b.exports") / "onnx-int8"
    assert (first.is_new, make.calls) == (True, 1)
    assert "no export existed" in first.note
    written = json.loads((first.folder / "export.json").read_text())
    assert len(written.pop("signature")) == 64
    assert written == {
        "kind": "onnx",
        "precision": "int8",
        "format": 1,
        "bundle": bundle.digest,
        "versions": {"dragoman": __version__, "numpy": np.__version__},
        "files": {"writer.onnx": hashlib.sha256(b"model").hexdigest()},
    }
    assert dict(first.files) == {"writer.onnx": b"model"}
    again = cached_export(bundle, "onnx", "int8", make)
    assert (again.folder, again.is_new, make.calls) == (first.folder, False, 1)
    assert again.files == first.files
    assert str(first.folder) in again.note
    assert cached_export(bundle, "onnx", "float32", make).folder != first.folder


def test_that_of_an_archive_lies_beside_the_archive(bundle: Bundle, tmp_path: Path, make: Maker):
    archive = tmp_path / "c.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in bundle.folder.iterdir():
            file.write(path, path.name)
    opened = Bundle.open(archive, trusted=True)
    assert opened.path == archive != opened.folder
    assert cached_export(opened, "onnx", "int8", make).folder == tmp_path / "c.zip.exports" / "onnx-int8"


def test_the_working_directory_can_be_the_bundle(bundle: Bundle, make: Maker, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(bundle.folder)
    here = Bundle.open(".", trusted=True)
    assert export_folder(here, "onnx", "int8") == export_folder(bundle, "onnx", "int8")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "writer.onnx").write_bytes(b"m0del"),
        lambda folder: (folder / "writer.onnx").unlink(),
        lambda folder: (folder / "more").write_bytes(b""),
        lambda folder: (folder / "manifest.json").write_bytes(b"{}"),
    ],
)
def test_a_damaged_one_is_made_again(bundle: Bundle, make: Maker, change):
    change(cached_export(bundle, "onnx", "int8", make).folder)
    again = cached_export(bundle, "onnx", "int8", make)
    assert (again.is_new, make.calls) == (True, 2)
    assert "damaged" in again.note
    assert {path.name for path in again.folder.iterdir()} == {"writer.onnx", "export.json", "manifest.json"}
    assert not cached_export(bundle, "onnx", "int8", make).is_new


def test_that_of_another_bundle_is_made_again(bundle: Bundle, make: Maker):
    cached_export(bundle, "onnx", "int8", make)
    shutil.rmtree(bundle.folder)
    other = make_bundle(bundle.folder, 2.0)
    again = cached_export(other, "onnx", "int8", make)
    assert (again.is_new, make.calls) == (True, 2)
    assert again.note.endswith("(the model changed)"), "retrained; the export is not damaged"


def test_that_of_another_format_is_made_again(bundle: Bundle, make: Maker):
    cached_export(bundle, "onnx", "int8", make)
    assert "another format" in cached_export(bundle, "onnx", "int8", make, format_number=2).note


@pytest.mark.parametrize(
    ("facts", "says"),
    [("[]", "has no description"), ("{", "damaged"), ("{}", "not signed with your key"), ("[" * 9999, "damaged")],
)
def test_one_that_says_nothing_of_use_is_made_again(bundle: Bundle, make: Maker, facts: str, says: str):
    place = export_folder(bundle, "onnx", "int8")
    with write_verified(place) as draft:
        (draft / "export.json").write_text(facts)
    assert says in cached_export(bundle, "onnx", "int8", make).note
    assert make.calls == 1


def test_one_of_another_kind_is_made_again(bundle: Bundle, make: Maker):
    other = cached_export(bundle, "onnx", "float32", make).folder
    shutil.copytree(other, export_folder(bundle, "onnx", "int8"))
    assert "another kind or precision" in cached_export(bundle, "onnx", "int8", make).note


def test_a_fault_leaves_nothing_behind(bundle: Bundle, make: Maker):
    def fail(folder: Path) -> None:
        make(folder)
        raise BundleError("no")

    with pytest.raises(BundleError):
        cached_export(bundle, "onnx", "int8", fail)
    assert not export_folder(bundle, "onnx", "int8").exists()
    assert cached_export(bundle, "onnx", "int8", make).is_new


def test_where_nothing_can_be_written_it_is_temporary(bundle: Bundle, make: Maker):
    bundle.path.with_name("b.exports").write_text("a file in the way")
    export = cached_export(bundle, "onnx", "int8", make)
    assert "cannot be written to" in export.note
    assert (export.folder / "writer.onnx").read_bytes() == b"model"
    assert not export.folder.is_relative_to(bundle.path.parent)
    again = cached_export(bundle, "onnx", "int8", make)
    assert (again.folder, again.is_new, make.calls) == (export.folder, False, 1)
    (export.folder / "writer.onnx").write_bytes(b"")
    assert cached_export(bundle, "onnx", "int8", make).is_new


SCRIPT = """
import sys, time
from pathlib import Path
from dragoman.bundle import Bundle
from dragoman.engines.export_signing import KEY_FILE
from dragoman.engines.export_cache import cached_export

def make(folder):
    with open(sys.argv[2], "a") as log:
        log.write("made\\n")
    time.sleep(0.5)
    (folder / "writer.onnx").write_bytes(b"model")

export = cached_export(Bundle.open(sys.argv[1], trusted=True), "onnx", "int8", make)
print(export.folder, (export.folder / "writer.onnx").read_bytes() == b"model" == export.files["writer.onnx"])
"""


def start(bundle: Bundle, log: Path) -> subprocess.Popen:
    command = [sys.executable, "-c", SCRIPT, str(bundle.folder), str(log)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_temporary_one_goes_with_the_process(bundle: Bundle, tmp_path: Path):
    bundle.path.with_name("b.exports").write_text("a file in the way")
    process = start(bundle, tmp_path / "log")
    folder, is_whole = process.communicate(timeout=60)[0].split()
    assert is_whole == "True"
    assert not Path(folder).parent.exists()


def test_two_processes_make_it_once(bundle: Bundle, tmp_path: Path):
    log = tmp_path / "log"
    processes = [start(bundle, log) for _ in range(3)]
    answers = {process.communicate(timeout=60)[0] for process in processes}
    assert answers == {f"{export_folder(bundle, 'onnx', 'int8')} True\n"}
    assert log.read_text() == "made\n"


@pytest.mark.parametrize("key", ["short", "unreadable"])
def test_without_a_key_it_is_temporary(
    bundle: Bundle, make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
):
    mine = cached_export(bundle, "onnx", "int8", make)
    (tmp_path / "short").write_bytes(b"short")
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "short" / "below" if key == "unreadable" else tmp_path / key))
    export = cached_export(bundle, "onnx", "int8", make)
    assert (export.is_new, make.calls) == (True, 2)
    assert not export.folder.is_relative_to(tmp_path)
    assert "without a key no existing export is trusted" in export.note
    assert not cached_export(bundle, "onnx", "int8", make).is_new
    monkeypatch.undo()
    assert cached_export(bundle, "onnx", "int8", make).folder == mine.folder


def test_a_chosen_folder(bundle: Bundle, make: Maker, tmp_path: Path):
    chosen = tmp_path / "chosen"
    assert write_export(bundle, chosen, "onnx", "int8", make).folder == chosen
    assert write_export(bundle, chosen, "onnx", "int8", make).is_new
    (tmp_path / "empty").mkdir()
    assert write_export(bundle, tmp_path / "empty", "onnx", "int8", make).is_new
    assert make.calls == 3
    assert {path.name for path in (tmp_path / "empty").iterdir()} == {"writer.onnx", "export.json", "manifest.json"}


def test_a_chosen_folder_where_there_is_no_key(
    bundle: Bundle, make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(KEY_FILE, str(tmp_path))
    assert write_export(bundle, tmp_path / "chosen", "onnx", "int8", make).is_new


def _with_facts(place: Path) -> None:
    place.mkdir()
    (place / "export.json").write_text("{}")


def _with_thesis(place: Path) -> None:
    with write_verified(place) as draft:
        (draft / "export.json").write_text("{}")
        (draft / "thesis.txt").write_text("years of work")


@pytest.mark.parametrize("name", ["chosen", "chosen.tmp", "chosen.old"])
@pytest.mark.parametrize(
    "fill",
    [
        _with_facts,
        _with_thesis,
        lambda place: place.write_text("a file"),
        lambda place: place.symlink_to("nowhere"),
    ],
)
def test_nothing_but_an_export_is_replaced(bundle: Bundle, make: Maker, tmp_path: Path, fill, name: str):
    fill(tmp_path / name)
    before = sorted(os.walk(tmp_path))
    with pytest.raises(BundleError, match="must be an empty folder, an export, or not exist"):
        write_export(bundle, tmp_path / "chosen", "onnx", "int8", make)
    assert sorted(os.walk(tmp_path)) == before
    assert make.calls == 0


def test_a_changed_export_in_a_chosen_folder_stays(bundle: Bundle, make: Maker, tmp_path: Path):
    chosen = write_export(bundle, tmp_path / "chosen", "onnx", "int8", make).folder
    (chosen / "notes.txt").write_text("mine")
    with pytest.raises(BundleError, match="which would be lost"):
        write_export(bundle, chosen, "onnx", "int8", make)
    assert (chosen / "notes.txt").read_text() == "mine"
