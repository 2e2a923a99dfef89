"""The key that exports are signed with is made once, and is only good while others cannot reach it."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman.engines.export_signing import KEY_FILE, key_path, signature, user_key, verify_signature
from dragoman.errors import ConfigError


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "new" / "export-key"
    monkeypatch.setenv(KEY_FILE, str(path))
    return path


def test_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv(KEY_FILE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert key_path() == tmp_path / "state" / "dragoman" / "export-key"
    for state in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", state)
        assert key_path() == tmp_path / ".local" / "state" / "dragoman" / "export-key"
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "key"))
    assert key_path() == tmp_path / "key"


def test_without_a_home_there_is_no_place(monkeypatch: pytest.MonkeyPatch):
    def fail() -> Path:
        raise RuntimeError

    monkeypatch.delenv(KEY_FILE, raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", fail)
    with pytest.raises(ConfigError, match=KEY_FILE):
        user_key()


def test_it_is_made_once_and_is_the_users_alone(path: Path):
    key = user_key()
    assert len(key) == 32
    assert user_key() == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["export-key"]


def test_many_at_once_get_the_same(path: Path):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: user_key(), range(32)))) == 1
    assert [each.name for each in path.parent.iterdir()] == ["export-key"]


@pytest.mark.parametrize("mode", [0o620, 0o604, 0o602, 0o644, 0o666])
def test_one_that_others_reach_is_refused(path: Path, mode: int):
    user_key()
    path.chmod(mode)
    with pytest.raises(ConfigError, match="not be accessible to other users"):
        user_key()


def test_a_group_may_read_it(path: Path):
    key = user_key()
    path.chmod(0o440)
    assert user_key() == key


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_one_of_another_size_is_refused(path: Path, content: bytes):
    user_key()
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="must be a file of 32 bytes"):
        user_key()


def test_what_is_no_file_is_refused_at_once(path: Path):
    path.parent.mkdir()
    os.mkfifo(path, 0o600)
    with pytest.raises(ConfigError, match="must be a file of 32 bytes"):
        user_key()


def test_signatures():
    one, other = b"1" * 32, b"2" * 32
    signed = signature(b"message", one)
    assert verify_signature(b"message", signed, one)
    for message, claimed, key in (
        (b"massage", signed, one),
        (b"message", signed, other),
        (b"message", signed[:-1], one),
        (b"message", "\udcff", one),
        (b"message", None, one),
    ):
        assert not verify_signature(message, claimed, key)
