"""Files of keys: what they hold, and what is told where they are wrong."""

from __future__ import annotations

import hmac
import stat
from pathlib import Path

import pytest

from dragoman.errors import ConfigError
from dragoman.server.keys import Key, Keys, hash_of, new_key


def test_a_new_key_is_found_and_only_its_hash_is_kept(tmp_path: Path):
    path = tmp_path / "keys.txt"
    first, second = new_key(path, "anna"), new_key(path, "ops", ["metrics", "admin"], 500)
    assert first != second
    text = path.read_text()
    assert first not in text
    assert text.splitlines() == [f"anna {hash_of(first)} -", f"ops {hash_of(second)} admin,metrics 500"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    keys = Keys(path)
    assert keys.find(first) == Key("anna", hash_of(first))
    assert keys.find(second) == Key("ops", hash_of(second), frozenset({"admin", "metrics"}), 500)
    assert keys.find(first[:-1]) is None
    assert keys.find(hash_of(first)) is None, "whoever has the file has no key"
    assert keys.find("\ud800 \0") is None


def test_every_key_is_compared_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "keys.txt"
    first = new_key(path, "a")
    new_key(path, "b")
    compared = []
    original = hmac.compare_digest

    def counted(one: str, other: str) -> bool:
        compared.append(one)
        return original(one, other)

    monkeypatch.setattr(hmac, "compare_digest", counted)
    assert Keys(path).find(first) is not None
    assert len(compared) == 2


def test_reloading_takes_new_keys_and_keeps_the_old_where_there_is_a_fault(tmp_path: Path):
    path = tmp_path / "keys.txt"
    first = new_key(path, "a")
    keys = Keys(path)
    second = new_key(path, "b")
    assert keys.find(second) is None
    assert keys.reload() == 2
    assert keys.find(second) is not None
    path.write_text("nonsense\n")
    with pytest.raises(ConfigError):
        keys.reload()
    assert keys.find(first) is not None


def test_comments_and_empty_lines_say_nothing(tmp_path: Path):
    path = tmp_path / "keys.txt"
    path.write_text(f"# ours\n\n  anna {hash_of('x')}\r\n")
    assert Keys(path).find("x") == Key("anna", hash_of("x"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("anna", "must be NAME HASH"),
        ("anna x y z w", "must be NAME HASH"),
        ("anna secret-key", "the hash of anna must be a SHA-256"),
        (f"an/na {'0' * 64}", "the name must be letters"),
        (f"anna {'0' * 64} root", "the rights must be among admin, metrics, got 'root'"),
        (f"anna {'0' * 64} - many", "the pieces a minute must be a whole number, got 'many'"),
        (f"anna {'0' * 64}\nanna {'1' * 64}", "must differ, got anna twice"),
    ],
)
def test_a_fault_is_told_by_its_line_and_without_what_may_be_a_key(tmp_path: Path, line: str, told: str):
    path = tmp_path / "keys.txt"
    path.write_text(f"{line}\n")
    with pytest.raises(ConfigError) as caught:
        Keys(path)
    assert told in str(caught.value)
    assert "secret-key" not in str(caught.value)


def test_what_is_not_there_is_told_with_its_mend(tmp_path: Path):
    with pytest.raises(ConfigError, match="--new-key"):
        Keys(tmp_path / "none")


def test_a_name_is_taken_once(tmp_path: Path):
    path = tmp_path / "keys.txt"
    new_key(path, "anna")
    with pytest.raises(ConfigError, match="must be new, got anna"):
        new_key(path, "anna")
    with pytest.raises(ConfigError, match="among"):
        new_key(path, "b", ["root"])
    assert len(Keys(path)) == 1
