"""Key files: content and error messages."""

from __future__ import annotations

import hmac
import stat
from pathlib import Path

import pytest

from dragoman.errors import ConfigError
from dragoman.server.access.api_keys import ApiKey, ApiKeyStore, create_key, hash_key


def test_a_new_key_is_found_and_only_its_hash_is_kept(tmp_path: Path):
    path = tmp_path / "keys.txt"
    first, second = create_key(path, "anna"), create_key(path, "ops", ["metrics", "admin"], 500)
    assert first != second
    text = path.read_text()
    assert first not in text
    assert text.splitlines() == [f"anna {hash_key(first)} -", f"ops {hash_key(second)} admin,metrics 500"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    keys = ApiKeyStore(path)
    assert keys.find(first) == ApiKey("anna", hash_key(first))
    assert keys.find(second) == ApiKey("ops", hash_key(second), frozenset({"admin", "metrics"}), 500)
    assert keys.find(first[:-1]) is None
    assert keys.find(hash_key(first)) is None, "whoever has the file has no key"
    assert keys.find("\ud800 \0") is None


def test_every_key_is_compared_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "keys.txt"
    first = create_key(path, "a")
    create_key(path, "b")
    compared = []
    original = hmac.compare_digest

    def counted(one: str, other: str) -> bool:
        compared.append(one)
        return original(one, other)

    monkeypatch.setattr(hmac, "compare_digest", counted)
    assert ApiKeyStore(path).find(first) is not None
    assert len(compared) == 2


def test_reloading_takes_new_keys_and_keeps_the_old_where_there_is_a_fault(tmp_path: Path):
    path = tmp_path / "keys.txt"
    first = create_key(path, "a")
    keys = ApiKeyStore(path)
    second = create_key(path, "b")
    assert keys.find(second) is None
    assert keys.reload() == 2
    assert keys.find(second) is not None
    path.write_text("nonsense\n")
    with pytest.raises(ConfigError):
        keys.reload()
    assert keys.find(first) is not None


def test_comments_and_empty_lines_say_nothing(tmp_path: Path):
    path = tmp_path / "keys.txt"
    path.write_text(f"# ours\n\n  anna {hash_key('x')}\r\n")
    assert ApiKeyStore(path).find("x") == ApiKey("anna", hash_key("x"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("anna", "must be NAME HASH"),
        ("anna x y z w", "must be NAME HASH"),
        ("anna secret-key", "the hash of anna must be a SHA-256"),
        (f"an/na {'0' * 64}", "the name must be letters"),
        (f"anna {'0' * 64} root", "the rights must be among admin, metrics, got 'root'"),
        (f"anna {'0' * 64} - many", "the tokens per minute must be a whole number, got 'many'"),
        (f"anna {'0' * 64}\nanna {'1' * 64}", "must differ, got anna twice"),
    ],
)
def test_a_fault_is_told_by_its_line_and_without_what_may_be_a_key(tmp_path: Path, line: str, told: str):
    path = tmp_path / "keys.txt"
    path.write_text(f"{line}\n")
    with pytest.raises(ConfigError) as caught:
        ApiKeyStore(path)
    assert told in str(caught.value)
    assert "secret-key" not in str(caught.value)


def test_what_is_not_there_is_told_with_its_mend(tmp_path: Path):
    with pytest.raises(ConfigError, match="--new-key"):
        ApiKeyStore(tmp_path / "none")


def test_a_name_is_taken_once(tmp_path: Path):
    path = tmp_path / "keys.txt"
    create_key(path, "anna")
    with pytest.raises(ConfigError, match="must be new, got anna"):
        create_key(path, "anna")
    with pytest.raises(ConfigError, match="among"):
        create_key(path, "b", ["root"])
    assert len(ApiKeyStore(path)) == 1
