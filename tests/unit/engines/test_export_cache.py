"""Exports are cached in the folder of the user, created once, and used only for the bundle that they are made from."""

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from dragoman import __version__
from dragoman.bundle import Bundle, write_bundle, write_verified
from dragoman.config import load_config
from dragoman.engines import export_cache
from dragoman.engines.export_cache import Export, cached_export, write_export
from dragoman.errors import BundleError
from dragoman.files import CACHE, cache_folder
from dragoman.text import train_words
from testkit.random_bundle import RNN, constant_weights

NOBODY = 65534


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
def cache(own_cache: Path) -> Path:
    """These bundles are equal, so one test would find the export of another."""
    export_cache._temporary_cache.cache_clear()
    return own_cache


@pytest.fixture
def make() -> Maker:
    return Maker()


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return make_bundle(tmp_path / "b")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def entries(cache: Path) -> list[Path]:
    return sorted((cache / "exports").iterdir())


def test_it_is_made_once_in_a_private_folder(bundle: Bundle, make: Maker, cache: Path):
    first = cached_export(bundle, "onnx", "int8", make, packages=("numpy",))
    assert first.folder.is_relative_to(cache)
    assert (mode(cache), mode(cache / "exports")) == (0o700, 0o700)
    assert (first.is_new, make.calls) == (True, 1)
    assert first.note == f"onnx int8 export created in {first.folder}"
    assert json.loads((first.folder / "export.json").read_text()) == {
        "kind": "onnx",
        "precision": "int8",
        "format": 1,
        "bundle": bundle.digest,
        "versions": {"dragoman": __version__, "numpy": np.__version__},
        "path": str(bundle.folder),
    }
    assert dict(first.files) == {"writer.onnx": b"model"}
    again = cached_export(bundle, "onnx", "int8", make, packages=("numpy",))
    assert (again.folder, again.is_new, make.calls) == (first.folder, False, 1)
    assert again.files == first.files
    assert str(first.folder) in again.note
    assert [path.name for path in bundle.folder.parent.iterdir()] == ["b"], "nothing is written beside a bundle"


def test_the_same_bundle_elsewhere_has_the_same_export(bundle: Bundle, tmp_path: Path, make: Maker):
    copy = shutil.copytree(bundle.folder, tmp_path / "c")
    folder = cached_export(bundle, "onnx", "int8", make).folder
    assert cached_export(Bundle.open(copy, trusted=True), "onnx", "int8", make).folder == folder
    assert make.calls == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "writer.onnx").write_bytes(b"m0del"),
        lambda folder: (folder / "writer.onnx").write_bytes(b"mod"),
        lambda folder: (folder / "writer.onnx").unlink(),
        lambda folder: (folder / "export.json").unlink(),
        lambda folder: (folder / "more").write_bytes(b""),
        lambda folder: (folder / "manifest.json").write_bytes(b"{}"),
        lambda folder: shutil.move(folder / "writer.onnx", folder.parent / "lock"),
    ],
)
def test_a_damaged_one_is_made_again(bundle: Bundle, make: Maker, change: Callable[[Path], object]):
    change(cached_export(bundle, "onnx", "int8", make).folder)
    again = cached_export(bundle, "onnx", "int8", make)
    assert (again.is_new, make.calls) == (True, 2)
    assert "(it was damaged: " in again.note
    assert "copy it again" not in again.note, "advice for bundles"
    assert {path.name for path in again.folder.iterdir()} == {"writer.onnx", "export.json", "manifest.json"}
    assert not cached_export(bundle, "onnx", "int8", make).is_new


def test_a_replaced_bundle_is_exported_again_and_its_old_export_removed(bundle: Bundle, make: Maker, cache: Path):
    old = cached_export(bundle, "onnx", "int8", make)
    shutil.rmtree(bundle.folder)
    other = make_bundle(bundle.folder, 2.0)
    again = cached_export(other, "onnx", "int8", make)
    assert (again.is_new, make.calls) == (True, 2)
    assert not old.folder.exists()
    card = write_bundle(bundle.folder, other.config, other.weights(), other.tokenizers(), "another card")
    again = cached_export(card, "onnx", "int8", make)
    assert again.is_new
    assert cached_export(card, "onnx", "float32", make).is_new
    assert len(entries(cache)) == 2


def test_one_of_other_versions_is_not_used_and_stays(bundle: Bundle, make: Maker, cache: Path):
    cached_export(bundle, "onnx", "int8", make)
    for facts in ({"format_number": 2}, {"packages": ("numpy",)}, {"packages": ("no-such-package",)}):
        assert cached_export(bundle, "onnx", "int8", make, **facts).is_new
    assert len(entries(cache)) == make.calls == 4


def test_those_that_are_not_used_for_a_month_are_removed(bundle: Bundle, make: Maker, cache: Path, tmp_path: Path):
    theirs = cache / "exports" / "thesis"
    theirs.mkdir(parents=True, mode=0o700)
    (cache / "exports").chmod(0o700)
    used, unused = (make_bundle(tmp_path / name, value) for name, value in (("used", 2.0), ("unused", 3.0)))
    folders = [cached_export(each, "onnx", "int8", make).folder for each in (used, unused)]
    for path in (*(folder.parent for folder in folders), theirs):
        os.utime(path, (0, 0))
    assert not cached_export(used, "onnx", "int8", make).is_new
    cached_export(bundle, "onnx", "int8", make)
    assert [folder.exists() for folder in folders] == [True, False]
    assert theirs.is_dir(), "only exports are removed"


def test_a_fault_leaves_no_export(bundle: Bundle, make: Maker, cache: Path):
    def fail(folder: Path) -> None:
        make(folder)
        raise BundleError("no")

    with pytest.raises(BundleError):
        cached_export(bundle, "onnx", "int8", fail)
    assert [path.name for entry in entries(cache) for path in entry.iterdir()] == ["lock"]
    assert cached_export(bundle, "onnx", "int8", make).is_new


def assert_temporary(export: Export, make: Maker, bundle: Bundle, tmp_path: Path, reason: str) -> None:
    assert f"the cache cannot be used: {reason}" in export.note
    assert (export.folder / "writer.onnx").read_bytes() == b"model"
    assert not export.folder.is_relative_to(tmp_path)
    calls = make.calls
    again = cached_export(bundle, "onnx", "int8", make)
    assert (again.folder, again.is_new, make.calls) == (export.folder, False, calls)
    (export.folder / "writer.onnx").write_bytes(b"")
    assert cached_export(bundle, "onnx", "int8", make).is_new


def test_where_nothing_can_be_written_it_is_temporary(
    bundle: Bundle, make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_text("a file in the way")
    monkeypatch.setenv(CACHE, str(tmp_path / "file" / "cache"))
    assert_temporary(cached_export(bundle, "onnx", "int8", make), make, bundle, tmp_path, "Not a directory: ")


def test_without_a_home_it_is_temporary(bundle: Bundle, make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(CACHE)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: Path("~/.cache/dragoman"))
    export = cached_export(bundle, "onnx", "int8", make)
    assert_temporary(export, make, bundle, tmp_path, "there is no home folder")


def test_on_a_full_disk_it_is_temporary(bundle: Bundle, make: Maker, cache: Path, tmp_path: Path):
    def fill(folder: Path) -> None:
        make(folder)
        if folder.is_relative_to(cache):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    export = cached_export(bundle, "onnx", "int8", fill)
    assert "(the cache cannot be used: No space left on device)" in export.note
    assert [path.name for entry in entries(cache) for path in entry.iterdir()] == ["lock"]


def test_without_any_space_the_error_names_the_variable(bundle: Bundle):
    def fill(folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(BundleError, match=rf"b cannot be exported to onnx: .* set {CACHE} to a folder"):
        cached_export(bundle, "onnx", "int8", fill)


@pytest.fixture
def cache_of_nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of a user who is not root: root can write to read-only folders."""
    folder, user = Path(tempfile.mkdtemp()), os.geteuid()
    monkeypatch.setenv(CACHE, str(folder))
    if user == 0:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield folder
    os.seteuid(user)
    shutil.rmtree(folder)


def test_an_export_in_a_read_only_cache_is_used(bundle: Bundle, make: Maker, cache_of_nobody: Path):
    folder = cached_export(bundle, "onnx", "int8", make).folder
    folders = (folder, folder.parent, folder.parent.parent)
    for path in folders:
        path.chmod(0o500)
    export = cached_export(bundle, "onnx", "int8", make)
    assert (export.folder, export.is_new, make.calls) == (folder, False, 1)
    (folder / "writer.onnx").chmod(0o600)
    (folder / "writer.onnx").write_bytes(b"m0del")
    export = cached_export(bundle, "onnx", "int8", make)
    assert (dict(export.files), make.calls) == ({"writer.onnx": b"model"}, 2)
    assert "the cache cannot be used: Permission denied: " in export.note
    assert "; it was damaged: " in export.note
    assert not export.folder.is_relative_to(cache_of_nobody)
    for path in folders:
        path.chmod(0o700)


SCRIPT = """
import os, signal, sys, time
from pathlib import Path
from dragoman.bundle import Bundle
from dragoman.engines.export_cache import cached_export

def make(folder):
    with open(sys.argv[2], "a") as log:
        log.write("made\\n")
    (folder / "writer.onnx").write_bytes(b"mod" if "kill" in sys.argv else b"model")
    if "kill" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.5)

export = cached_export(Bundle.open(sys.argv[1], trusted=True), "onnx", "int8", make)
print(export.folder, (export.folder / "writer.onnx").read_bytes() == b"model" == export.files["writer.onnx"])
"""


def start(bundle: Bundle, log: Path, *more: str) -> subprocess.Popen:
    command = [sys.executable, "-c", SCRIPT, str(bundle.folder), str(log), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_temporary_one_goes_with_the_process(bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("a file in the way")
    monkeypatch.setenv(CACHE, str(tmp_path / "file"))
    folder, is_whole = start(bundle, tmp_path / "log").communicate(timeout=60)[0].split()
    assert is_whole == "True"
    assert not Path(folder).parents[2].exists()
    assert Path(folder).parents[2].name.startswith("dragoman-export-")


def test_several_processes_make_it_once(bundle: Bundle, tmp_path: Path, make: Maker):
    log = tmp_path / "log"
    processes = [start(bundle, log) for _ in range(3)]
    answers = {process.communicate(timeout=60)[0] for process in processes}
    assert answers == {f"{cached_export(bundle, 'onnx', 'int8', make).folder} True\n"}
    assert (log.read_text(), make.calls) == ("made\n", 0)


def test_a_killed_process_is_replaced_by_one_that_waits(bundle: Bundle, tmp_path: Path, cache: Path):
    killed = start(bundle, tmp_path / "log", "kill")
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert {path.name for path in entries(cache)[0].iterdir()} == {"lock", "export.tmp"}
    assert start(bundle, tmp_path / "log").communicate(timeout=60)[0].endswith(" True\n")
    assert {path.name for path in entries(cache)[0].iterdir()} == {"lock", "export"}


def test_the_place_of_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(CACHE, "")
    if sys.platform == "linux":
        assert cache_folder() == tmp_path / "dragoman"
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CACHE, "here")
    assert cache_folder() == tmp_path / "here"


def test_a_chosen_folder(bundle: Bundle, make: Maker, tmp_path: Path):
    chosen = tmp_path / "chosen"
    assert write_export(bundle, chosen, "onnx", "int8", make).folder == chosen
    assert write_export(bundle, chosen, "onnx", "int8", make).is_new
    (tmp_path / "empty").mkdir()
    assert write_export(bundle, tmp_path / "empty", "onnx", "int8", make).is_new
    assert make.calls == 3
    assert {path.name for path in (tmp_path / "empty").iterdir()} == {"writer.onnx", "export.json", "manifest.json"}
    assert "path" not in json.loads((chosen / "export.json").read_text()), "not to be published"


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
    with pytest.raises(BundleError, match="has other files than those of an export"):
        write_export(bundle, tmp_path / "chosen", "onnx", "int8", make)
    assert sorted(os.walk(tmp_path)) == before
    assert make.calls == 0


def test_a_changed_export_in_a_chosen_folder_stays(bundle: Bundle, make: Maker, tmp_path: Path):
    chosen = write_export(bundle, tmp_path / "chosen", "onnx", "int8", make).folder
    (chosen / "notes.txt").write_text("mine")
    with pytest.raises(BundleError, match="which would be lost"):
        write_export(bundle, chosen, "onnx", "int8", make)
    assert (chosen / "notes.txt").read_text() == "mine"
