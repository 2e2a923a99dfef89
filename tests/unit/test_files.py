"""Files that are either whole or not there."""

import hashlib
import os
from pathlib import Path

import pytest

from dragoman.errors import DataError
from dragoman.files import (
    atomic_overwrite,
    atomic_write,
    file_lock,
    read_json,
    read_json_lines,
    remove_temporary_files,
    sha256_of_file,
    usual_permissions,
    write_json,
)


def test_a_file_appears_when_it_is_complete(tmp_path: Path):
    path = tmp_path / "a"
    with atomic_write(path) as draft:
        draft.write_bytes(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_one(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail() -> None:
        with atomic_write(path) as draft:
            draft.write_bytes(b"half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_killed_writers_left_is_removed_and_nothing_else(tmp_path: Path):
    others = ["a[b].json", "a[b].json.tmp", "a[b].json.x.tmp", "a[b].json.7.tmp.gz", "ab.json.7.tmp", "x.json.7.tmp"]
    for name in ["a[b].json.7.tmp", "a[b].json.65536.tmp", *others]:
        (tmp_path / name).touch()
    remove_temporary_files(tmp_path / "a[b].json")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)


def test_json_is_for_people_too(tmp_path: Path):
    write_json(tmp_path / "a.json", {"b": ["ü"]})
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n "b": [\n  "ü"\n ]\n}\n'


def test_names_that_are_no_utf8_can_be_written(tmp_path: Path):
    write_json(tmp_path / "a.json", {"name": "caf\udce9.en"})
    assert read_json(tmp_path / "a.json") == {"name": "caf\udce9.en"}


def test_damage_is_told_and_nothing_is_nothing(tmp_path: Path):
    (tmp_path / "a.json").write_text('{"half', encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.json must be valid JSON"):
        read_json(tmp_path / "a.json")
    assert read_json(tmp_path / "b.json") is None


def test_the_hash_is_that_of_the_content(tmp_path: Path):
    content = bytes(range(256)) * 9000
    (tmp_path / "a").write_bytes(content)
    assert sha256_of_file(tmp_path / "a") == hashlib.sha256(content).hexdigest()


def test_a_lock_does_not_follow_a_link(tmp_path: Path):
    (tmp_path / "target").write_bytes(b"precious")
    (tmp_path / "lock").symlink_to("target")
    with pytest.raises(DataError, match="lock is a symbolic link"), file_lock(tmp_path / "lock"):
        pass
    assert (tmp_path / "target").read_bytes() == b"precious"


def test_a_lock_does_not_empty_the_file(tmp_path: Path):
    (tmp_path / "lock").write_bytes(b"precious")
    with file_lock(tmp_path / "lock") as is_ours:
        assert is_ours
    assert (tmp_path / "lock").read_bytes() == b"precious"


@pytest.mark.parametrize("mask", [0o022, 0o002, 0o077])
def test_files_have_the_permissions_of_the_umask(tmp_path: Path, mask: int):
    before = os.umask(mask)
    try:
        with atomic_write(tmp_path / "a") as draft:
            draft.write_bytes(b"")
        with usual_permissions(tmp_path / "b"):
            (tmp_path / "b.draft").touch(mode=0o600)
            (tmp_path / "b.draft").rename(tmp_path / "b")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in sorted(tmp_path.iterdir())] == [0o666 & ~mask] * 2


def test_a_log_is_read_up_to_an_incomplete_line(tmp_path: Path):
    log = tmp_path / "log.jsonl"
    assert list(read_json_lines(log)) == []
    log.write_bytes(b'{"a": 1}\n\xff\n[2]\n' + b"[" * 100_000 + b'\n{"a": 3}\n{"a": ')
    assert list(read_json_lines(log)) == [{"a": 1}, {"a": 3}]


def test_links_and_permissions_of_an_output_stay(tmp_path: Path):
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to(path)
    with atomic_overwrite(link) as draft:
        draft.write_bytes(b"new")
    assert (link.is_symlink(), path.read_bytes(), path.stat().st_mode & 0o777) == (True, b"new", 0o600)
