"""Files that are either whole or not there."""

import hashlib
from pathlib import Path

import pytest

from dragoman.errors import DataError
from dragoman.files import atomic_write, read_json, remove_temporary_files, sha256_of_file, write_json


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
