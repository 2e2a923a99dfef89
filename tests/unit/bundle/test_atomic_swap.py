"""Two folders change places in one step, where the system can do that."""

import ctypes
import errno
import sys
from pathlib import Path

import pytest

from dragoman.bundle.atomic_swap import swap_folders


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the operation")
def test_they_change_places(tmp_path: Path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not swap_folders(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system cannot")
    assert (tmp_path / "a" / "b").exists()
    assert (tmp_path / "b" / "a").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the operation")
def test_a_fault_is_an_oserror(tmp_path: Path):
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
def test_where_it_cannot_be_done_it_says_so(library: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ctypes, "CDLL", library)
    assert not swap_folders(tmp_path / "a", tmp_path / "b")
