"""An export that came with a bundle is never read, and a cache that others can write to is not used."""

import os
import shutil
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import Bundle, write_verified
from dragoman.engines import export_cache
from dragoman.engines.ctranslate2.engine import CTranslate2Engine
from dragoman.engines.export_cache import Export, cached_export
from dragoman.engines.onnx.engine import OnnxEngine
from dragoman.errors import BundleError
from dragoman.search import SearchInput, SearchSettings
from tests.unit.engines.tiny_recurrent import tiny_recurrent
from tests.unit.engines.tiny_transformers import tiny_transformer

HONEST, FORGED = b"honest", b"forged"
NOBODY = 65534


@pytest.fixture(autouse=True)
def cache(own_cache: Path) -> Path:
    export_cache._temporary_cache.cache_clear()
    return own_cache


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return tiny_recurrent(tmp_path / "bundle")


def wanted(bundle: Bundle, content: bytes = HONEST) -> Export:
    def make(folder: Path) -> None:
        for name in ("reader.onnx", "writer.onnx"):
            (folder / name).write_bytes(content)

    return cached_export(bundle, "onnx", "float32", make)


def assert_honest(export: Export) -> None:
    assert set(export.files.values()) == {HONEST}
    assert export.is_new


def test_an_export_of_another_bundle_is_not_used(bundle: Bundle, tmp_path: Path):
    """Also if it is at the same path, with the same name and the same configuration."""
    wanted(tiny_recurrent(tmp_path / "other", end=3.0), FORGED)
    assert_honest(wanted(bundle))
    shutil.rmtree(bundle.folder)
    shutil.move(tmp_path / "other", bundle.folder)
    assert set(wanted(Bundle.open(bundle.folder), FORGED).files.values()) == {FORGED}
    assert set(wanted(bundle).files.values()) == {HONEST}


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


def _share(exports: Path) -> None:
    exports.chmod(0o777)


def _share_with_group(exports: Path) -> None:
    exports.chmod(0o770)


def _link(exports: Path) -> None:
    """As others can do who may write to the folder above."""
    theirs = exports.rename(exports.with_name("theirs"))
    exports.symlink_to(theirs)


def _give_away(exports: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    os.chown(exports, NOBODY, NOBODY)


@pytest.mark.parametrize("change", [_share, _share_with_group, _link, _give_away])
def test_a_cache_of_others_is_not_used(bundle: Bundle, cache: Path, change):
    theirs = wanted(bundle, FORGED).folder
    change(cache / "exports")
    before = sorted(os.walk(cache))
    export = wanted(bundle)
    assert_honest(export)
    assert "the cache cannot be used: " in export.note
    assert not export.folder.is_relative_to(cache)
    assert stat.S_IMODE(export.folder.parents[2].stat().st_mode) == 0o700
    assert (theirs / "writer.onnx").read_bytes() == FORGED
    assert sorted(os.walk(cache)) == before


def test_one_byte_that_changes_while_it_is_opened_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Also with the same size and the same time of modification, and if the file itself stays."""
    pytest.importorskip("onnxruntime")
    good = tiny_recurrent(tmp_path / "good")
    OnnxEngine.open(good, threads=1)
    read = export_cache._read

    def change(entry: Path, *args: Any, **options: Any):
        found = read(entry, *args, **options)
        path = entry / "export" / "writer.onnx"
        facts, data = path.stat(), bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(export_cache, "_read", change)
        with pytest.raises(BundleError, match="changed while it was opened; run the command again"):
            OnnxEngine.open(good, threads=1)
    assert OnnxEngine.open(good, threads=1).has_new_export  # it was damaged


@pytest.mark.parametrize("engine", [OnnxEngine, CTranslate2Engine])
def test_what_is_swapped_while_it_is_opened_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine):
    """Right after it was verified, and before the engine sees it, every file becomes that of another model.

    CTranslate2 gets the bytes that were verified. ONNX Runtime opens the files, and then a change is an error.
    """
    pytest.importorskip("onnxruntime" if engine is OnnxEngine else "ctranslate2")
    good, evil = (
        tiny_recurrent(tmp_path / name, end=end) if engine is OnnxEngine else tiny_transformer(tmp_path / name, end=end)
        for name, end in (("good", 0.0), ("evil", 60.0))
    )
    sentences = [SearchInput([5, 6, 7]), SearchInput([9])]
    before = engine.open(good, threads=1).search(sentences, SearchSettings(beam=2))
    other = engine.open(evil, threads=1)
    theirs = Path(other.note.rpartition(" in ")[2].partition(" (")[0])
    other_scores = [found[0].log_prob for found in other.search(sentences, SearchSettings(beam=2))]
    assert [found[0].log_prob for found in before] != other_scores
    read = export_cache._read

    def swap(entry: Path, *args: Any, **options: Any):
        found = read(entry, *args, **options)
        shutil.rmtree(entry / "export")
        shutil.copytree(theirs, entry / "export")
        return found

    monkeypatch.setattr(export_cache, "_read", swap)
    if engine is OnnxEngine:
        with pytest.raises(BundleError, match="changed while it was opened; run the command again"):
            engine.open(good, threads=1)
        return
    after = engine.open(good, threads=1)
    assert not after.has_new_export
    found = after.search(sentences, SearchSettings(beam=2))
    assert [each[0].log_prob for each in found] == [each[0].log_prob for each in before]


def test_a_shipped_archive_of_bundle_and_export_translates_as_the_bundle(tmp_path: Path):
    """The whole attack: a good bundle, an export of another model with its digest, unpacked and opened.

    Earlier versions read exports from this place, if they were signed.
    """
    pytest.importorskip("ctranslate2")
    made = tmp_path / "made"
    good, evil = tiny_transformer(made / "good"), tiny_transformer(tmp_path / "evil", end=60.0)
    theirs = Path(CTranslate2Engine.open(evil, threads=1).note.rpartition(" in ")[2].partition(" (")[0])
    place = made / "good.exports" / "ctranslate2-float32"
    shipped = dict.fromkeys(("export.json", "model.bin", "config.json", "shared_vocabulary.json"), b"")
    shipped |= {path.name: path.read_bytes() for path in theirs.iterdir() if path.name != "manifest.json"}
    shipped["export.json"] = shipped["export.json"].replace(evil.digest.encode(), good.digest.encode())
    with write_verified(place) as draft:
        for name, data in shipped.items():
            (draft / name).write_bytes(data)
    before = sorted(os.walk(made))
    with tarfile.open(tmp_path / "shipped.tar", "w") as archive:
        archive.add(made, "shipped")
    shutil.unpack_archive(tmp_path / "shipped.tar", tmp_path)  # Python 3.11.2 has no filters of tar files
    engine = CTranslate2Engine.open(Bundle.open(tmp_path / "shipped" / "good"), threads=1)
    assert engine.has_new_export
    clean = CTranslate2Engine.open(tiny_transformer(tmp_path / "clean"), threads=1)
    sentences, settings = [SearchInput([5, 6, 7])], SearchSettings(beam=2)
    assert engine.search(sentences, settings)[0][0].log_prob == clean.search(sentences, settings)[0][0].log_prob
    assert [files for *_, files in sorted(os.walk(tmp_path / "shipped"))] == [files for *_, files in before]
