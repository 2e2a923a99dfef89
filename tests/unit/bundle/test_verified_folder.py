"""Atomic writing and verification of folders."""

import ctypes
import errno
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle.verified_folder import (
    MANIFEST,
    manifest_digest,
    recover,
    remove_folder,
    remove_leftovers,
    swap_folders,
    verify,
    write_verified,
)
from dragoman.errors import BundleError

MODULE = sys.modules["dragoman.bundle.verified_folder"]  # the package offers a function by that name


def write(folder: Path, **files: bytes) -> Path:
    with write_verified(folder) as draft:
        for name, data in files.items():
            (draft / name).write_bytes(data)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["swap_folders", "no swap_folders"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "no swap_folders":
        monkeypatch.setattr(MODULE, "swap_folders", lambda one, other: False)


def test_a_folder_appears_when_it_is_complete(tmp_path: Path):
    folder = tmp_path / "deep" / "a"
    with write_verified(folder) as draft:
        (draft / "x").write_bytes(b"new")
        assert not folder.exists()
    manifest = verify(folder)
    assert manifest["files"] == {"x": {"size": 3, "sha256": hashlib.sha256(b"new").hexdigest()}}
    assert manifest_digest(manifest) == hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
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
        with write_verified(folder) as draft:
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
    remove_leftovers(folder)
    assert names(tmp_path) == ["a"]
    assert (folder / "x").read_bytes() == b"old"


def test_a_folder_can_be_discarded(tmp_path: Path):
    remove_folder(write(tmp_path / "a", x=b"old"))
    assert names(tmp_path) == []


@pytest.mark.parametrize("replace", [False, True])
def test_content_is_on_the_disk_before_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool):
    """What a power cut can leave depends on this order alone."""
    folder = tmp_path / "a"
    if replace:
        write(folder, x=b"old")
    did: list[str] = []
    fsync, rename, swap_folders = os.fsync, Path.rename, MODULE.swap_folders

    def note_fsync(descriptor: int) -> None:
        fsync(descriptor)
        did.append(f"fsync {Path(f'/proc/self/fd/{descriptor}').readlink().relative_to(tmp_path)}")

    def note_rename(path: Path, to: Path) -> Path:
        did.append("name")
        return rename(path, to)

    def note_swap(one: Path, other: Path) -> bool:
        did.append("name")
        return bool(swap_folders(one, other))

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "rename", note_rename)
    monkeypatch.setattr(MODULE, "swap_folders", note_swap)
    write(folder, x=b"1", y=b"2")
    assert did == ["fsync a.tmp/x", "fsync a.tmp/y", f"fsync a.tmp/{MANIFEST}", "fsync a.tmp", "name", "fsync ."]


def changed(folder: Path, **changes: Any) -> None:
    path = folder / MANIFEST
    manifest = json.loads(path.read_bytes()) | changes
    path.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def test_what_is_wrong_is_named(tmp_path: Path):
    folder = write(tmp_path / "a", x=b"1234", y=b"")
    with pytest.raises(BundleError, match=r"has the file 'y', which does not belong there; it is damaged"):
        verify(folder, allowed={"x"}.__contains__)
    (folder / "x").write_bytes(b"1235")
    assert verify(folder, hash_files=False)["files"]["x"]["size"] == 4
    with pytest.raises(
        BundleError, match=r"a/x has other content than its manifest states; it is damaged or still being written: wait"
    ):
        verify(folder)
    (folder / "x").write_bytes(b"12345")
    with pytest.raises(BundleError, match=r"a/x has 5 bytes instead of 4;"):
        verify(folder)
    (folder / "x").unlink()
    with pytest.raises(BundleError, match=r"a/x is missing"):
        verify(folder)
    (folder / "x").write_bytes(b"1234")
    (folder / "z").write_bytes(b"")
    with pytest.raises(BundleError, match=r"has the file 'z', which its manifest does not list;"):
        verify(folder)
    (folder / "z").unlink()
    verify(folder)
    (folder / MANIFEST).write_bytes((folder / MANIFEST).read_bytes() + b"\n")
    with pytest.raises(BundleError, match=r"manifest.json was changed after"):
        verify(folder)
    changed(folder, version=3)
    with pytest.raises(BundleError, match=r"must be of version 2, got 3"):
        verify(folder)
    (folder / MANIFEST).unlink()
    with pytest.raises(
        BundleError, match=r"is no bundle or checkpoint, or not a complete one: it has no manifest.json"
    ):
        verify(folder)
    with pytest.raises(BundleError, match=r"does not exist; check its name"):
        verify(tmp_path / "b")


def test_too_many_files_are_not_looked_at(tmp_path: Path):
    folder = write(tmp_path / "a", x=b"1")
    for number in range(100):
        (folder / f"f{number}").touch()
    with pytest.raises(BundleError, match="more than 64 files"):
        verify(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the operation")
def test_two_folders_change_places(tmp_path: Path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not swap_folders(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system cannot")
    assert (tmp_path / "a" / "b").exists()
    assert (tmp_path / "b" / "a").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the operation")
def test_a_fault_of_a_swap_is_an_oserror(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        swap_folders(tmp_path / "a", tmp_path / "b")


class WithoutIt:
    def __init__(self, *args: object, **settings: object) -> None:
        pass


class Refuses(WithoutIt):
    def renameat2(self, *args: object) -> int:
        ctypes.set_errno(errno.EINVAL)
        return -1


@pytest.mark.parametrize("library", [WithoutIt, Refuses])
def test_a_system_without_swaps(library: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ctypes, "CDLL", library)
    assert not swap_folders(tmp_path / "a", tmp_path / "b")
