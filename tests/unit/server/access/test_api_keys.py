"""Key files: content and error messages."""

from __future__ import annotations

import hmac
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dragoman.errors import ConfigError
from dragoman.server.access.api_keys import ApiKey, ApiKeyStore, create_key, hash_key, read_keys, revoke_key
from dragoman.server.access.authorization import AccessControl, RequestAccess
from dragoman.server.errors import Forbidden


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


def test_keys_are_changed_in_the_file_that_a_link_names(tmp_path: Path):
    path, link = tmp_path / "keys.txt", tmp_path / "link.txt"
    create_key(path, "anna")
    link.symlink_to(path)
    create_key(link, "ben")
    revoke_key(link, "anna")
    assert link.is_symlink()
    assert [key.name for key in read_keys(path)] == ["ben"]


def test_an_expired_key_is_rejected_with_a_reason(tmp_path: Path):
    path = tmp_path / "keys.txt"
    secret = create_key(path, "anna", (), None, datetime(2001, 1, 31, 12, tzinfo=UTC))
    assert path.read_text().split()[2:] == ["-", "-", "2001-01-31T12:00:00Z"]
    access = RequestAccess(AccessControl(ApiKeyStore(path), 0), "127.0.0.1")
    with pytest.raises(Forbidden, match="this API key expired at 2001-01-31T12:00:00Z; request another") as refused:
        access.identify(secret)
    assert refused.value.code == "invalid_key"
    with pytest.raises(Forbidden):
        access.authorize()


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
        ("anna x y z w v", "must be NAME HASH"),
        ("anna secret-key", "the hash of anna must be a SHA-256"),
        (f"an/na {'0' * 64}", "the name must be letters"),
        (f"anna {'0' * 64} root", "the rights must be among admin, approve, metrics, uncached, got 'root'"),
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
    with pytest.raises(ConfigError, match="has a key of the name anna; use another name"):
        create_key(path, "anna")
    with pytest.raises(ConfigError, match="among"):
        create_key(path, "b", ["root"])
    assert len(ApiKeyStore(path)) == 1


def test_changes_at_the_same_time_undo_nothing(tmp_path: Path):
    path = tmp_path / "keys.txt"
    create_key(path, "gone")
    with ThreadPoolExecutor(8) as pool:
        made = [pool.submit(create_key, path, f"key-{number}") for number in range(12)]
        revoked = pool.submit(revoke_key, path, "gone")
    secrets = [each.result() for each in made]
    revoked.result()
    (tmp_path / "keys.txt.0123456789abcdef.tmp").touch()  # of a process that was killed
    revoke_key(path, "key-0")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["keys.txt", "keys.txt.lock"]
    del secrets[0]
    keys = ApiKeyStore(path)
    assert len(keys) == 11
    assert all(map(keys.find, secrets))


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_those_who_may_read_the_keys_still_may_after_a_change(tmp_path: Path):
    path = tmp_path / "keys.txt"
    create_key(path, "anna")
    path.chmod(0o666)  # a server of another user reads it
    create_key(path, "bert")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    revoke_key(path, "anna")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
