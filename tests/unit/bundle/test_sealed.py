"""Folders that are whole and verified, or not there."""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle.sealed import MANIFEST, clear, digest_of, discard, recover, sealed, verify
from dragoman.errors import BundleError

MODULE = sys.modules["dragoman.bundle.sealed"]  # the package offers a function by that name


def write(folder: Path, **files: bytes) -> Path:
    with sealed(folder) as draft:
        for name, data in files.items():
            (draft / name).write_bytes(data)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["exchange", "no exchange"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "no exchange":
        monkeypatch.setattr(MODULE, "exchange", lambda one, other: False)


def test_a_folder_appears_when_it_is_complete(tmp_path: Path):
    folder = tmp_path / "deep" / "a"
    with sealed(folder) as draft:
        (draft / "x").write_bytes(b"new")
        assert not folder.exists()
    manifest = verify(folder)
    assert manifest["files"] == {"x": {"size": 3, "sha256": hashlib.sha256(b"new").hexdigest()}}
    assert digest_of(manifest) == hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
    assert names(folder.parent) == ["a"]


@pytest.mark.usefixtures("_both_ways")
def test_it_takes_the_place_of_the_old_one(tmp_path: Path):
    folder = write(tmp_path / "a", x=b"old", y=b"old")
    write(folder, x=b"new")
    verify(folder)
    assert names(folder) == [MANIFEST, "x"]
    assert (folder / "x").read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


def test_a_failure_leaves_the_old_one(tmp_path: Path):
    folder = write(tmp_path / "a", x=b"old")

    def fail() -> None:
        with sealed(folder) as draft:
            (draft / "x").write_bytes(b"half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    verify(folder)
    assert (folder / "x").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_an_old_draft_is_swept_away(tmp_path: Path):
    (tmp_path / "a.tmp").mkdir()
    (tmp_path / "a.tmp" / "half").write_bytes(b"half")
    assert names(write(tmp_path / "a", x=b"new")) == [MANIFEST, "x"]


def test_a_replacement_that_was_cut_short_is_undone(tmp_path: Path):
    folder = write(tmp_path / "a", x=b"old")
    folder.rename(tmp_path / "a.old")
    recover(folder)
    assert names(tmp_path) == ["a"]
    write(tmp_path / "a.old", x=b"older")
    (tmp_path / "a.tmp").mkdir()
    clear(folder)
    assert names(tmp_path) == ["a"]
    assert (folder / "x").read_bytes() == b"old"


def test_a_folder_can_be_discarded(tmp_path: Path):
    discard(write(tmp_path / "a", x=b"old"))
    assert names(tmp_path) == []


@pytest.mark.parametrize("replace", [False, True])
def test_content_is_on_the_disk_before_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool):
    """What a power cut can leave depends on this order alone."""
    folder = tmp_path / "a"
    if replace:
        write(folder, x=b"old")
    did: list[str] = []
    fsync, rename, exchange = os.fsync, Path.rename, MODULE.exchange

    def note_fsync(descriptor: int) -> None:
        fsync(descriptor)
        did.append(f"fsync {Path(f'/proc/self/fd/{descriptor}').readlink().relative_to(tmp_path)}")

    def note_rename(path: Path, to: Path) -> Path:
        did.append("name")
        return rename(path, to)

    def note_exchange(one: Path, other: Path) -> bool:
        did.append("name")
        return bool(exchange(one, other))

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "rename", note_rename)
    monkeypatch.setattr(MODULE, "exchange", note_exchange)
    write(folder, x=b"1", y=b"2")
    assert did == ["fsync a.tmp/x", "fsync a.tmp/y", f"fsync a.tmp/{MANIFEST}", "fsync a.tmp", "name", "fsync ."]


def changed(folder: Path, **changes: Any) -> None:
    path = folder / MANIFEST
    manifest = json.loads(path.read_bytes()) | changes
    path.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def test_what_is_wrong_is_named(tmp_path: Path):
    folder = write(tmp_path / "a", x=b"1234", y=b"")
    with pytest.raises(BundleError, match=r"got 'y'; remove it"):
        verify(folder, allowed={"x"}.__contains__)
    (folder / "x").write_bytes(b"1235")
    assert verify(folder, hash_files=False)["files"]["x"]["size"] == 4
    with pytest.raises(BundleError, match=r"a/x must be as it was written, got other content; restore"):
        verify(folder)
    (folder / "x").write_bytes(b"12345")
    with pytest.raises(BundleError, match=r"a/x must have 4 bytes, got 5;"):
        verify(folder)
    (folder / "x").unlink()
    with pytest.raises(BundleError, match=r"a/x must be there, got no such file"):
        verify(folder)
    (folder / "x").write_bytes(b"1234")
    (folder / "z").write_bytes(b"")
    with pytest.raises(BundleError, match=r"got 'z' as well; remove it"):
        verify(folder)
    (folder / "z").unlink()
    verify(folder)
    (folder / MANIFEST).write_bytes((folder / MANIFEST).read_bytes() + b"\n")
    with pytest.raises(BundleError, match=r"manifest.json must be as it was written"):
        verify(folder)
    changed(folder, version=2)
    with pytest.raises(BundleError, match=r"must be of version 1, the one this Dragoman knows, got 2"):
        verify(folder)
    (folder / MANIFEST).unlink()
    with pytest.raises(BundleError, match=r"manifest.json must be there, got no such file; .* is no whole bundle"):
        verify(folder)
    with pytest.raises(BundleError, match=r"must be a folder that can be read, got: No such file"):
        verify(tmp_path / "b")


def test_too_many_files_are_not_looked_at(tmp_path: Path):
    folder = write(tmp_path / "a", x=b"1")
    for number in range(100):
        (folder / f"f{number}").touch()
    with pytest.raises(BundleError, match="at most 64 files"):
        verify(folder)
