"""Read and write the file of hashed API keys.

A line is ``NAME HASH [RIGHTS] [TOKENS_PER_MINUTE]``; RIGHTS is a comma-separated list, or ``-`` for none. Empty lines
and lines that begin with ``#`` are skipped. A key has 256 random bits, so an unsalted SHA-256 cannot be inverted.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import ConfigError
from dragoman.files import atomic_write

__all__ = ["ApiKey", "ApiKeyStore", "RIGHTS", "create_key", "hash_key"]

RIGHTS = {"admin": "reload bundles", "metrics": "read /metrics from another machine"}
"""Rights of a key in addition to translating."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")
_PRIVATE = 0o600


@dataclass(frozen=True)
class ApiKey:
    """Name, hash and rights of a key; the key itself is not stored."""

    name: str
    hash: str
    rights: frozenset[str] = frozenset()
    tokens_per_minute: int | None = None
    """None: the limit of the server; 0: no limit."""


def hash_key(secret: str) -> str:
    """Return the SHA-256 of a key in hexadecimal."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class ApiKeyStore:
    """Keys of a file that can be reloaded while the server runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._keys = _read(path)

    def __len__(self) -> int:
        return len(self._keys)

    def reload(self) -> int:
        """Reload the file and return the number of keys. An invalid file raises, and the previous keys stay."""
        self._keys = _read(self.path)
        return len(self._keys)

    def find(self, secret: str) -> ApiKey | None:
        """Return the entry of a key. Every entry is compared, so the duration reveals nothing."""
        given, found = hash_key(secret), None
        for key in self._keys:
            if hmac.compare_digest(key.hash, given):
                found = key
        return found


def create_key(path: Path, name: str, rights: Sequence[str] = (), tokens_per_minute: int | None = None) -> str:
    """Create a key, append its hash to the file, and return it; the file is created if missing."""
    _check_name(name, "a key's name")
    _check_rights(rights, "a key's rights")
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if path.exists() and any(key.name == name for key in _read(path)):
        raise ConfigError(f"a key's name must be new, got {name}, which {path} has; use another name")
    secret = secrets.token_urlsafe(32)
    words = [name, hash_key(secret), ",".join(sorted(rights)) or "-"]
    words += [] if tokens_per_minute is None else [str(tokens_per_minute)]
    with atomic_write(path) as draft:
        draft.touch(mode=_PRIVATE)
        draft.write_text(f"{old.rstrip()}\n{' '.join(words)}\n".lstrip(), encoding="utf-8")
    return secret


def _read(path: Path) -> tuple[ApiKey, ...]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(
            f"keys must be an existing file, got {path}; create it with dragoman serve --new-key NAME --keys {path}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"keys must be a readable UTF-8 file, got {path}: {error}; correct it there") from None
    lines = enumerate(text.split("\n"), start=1)
    keys = tuple(
        _parse(line.split(), f"{path}:{number}")
        for number, line in lines
        if line.strip() and not line.lstrip().startswith("#")
    )
    names = [key.name for key in keys]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"the names in {path} must differ, got {twice[0]} twice; rename one of them")
    return keys


def _parse(words: Sequence[str], place: str) -> ApiKey:
    if not 2 <= len(words) <= 4:
        raise ConfigError(
            f"{place} must be NAME HASH [RIGHTS] [TOKENS_PER_MINUTE], got {len(words)} words; write - for no rights"
        )
    name, digest, rights, tokens = (*words, *("-", "")[len(words) - 2 :])[:4]
    _check_name(name, f"{place}: the name")
    if not _HASH.fullmatch(digest):  # not shown: it might be a key that was written here by mistake
        raise ConfigError(
            f"{place}: the hash of {name} must be a SHA-256 in 64 lowercase hexadecimal digits, got something else; "
            "create keys with dragoman serve --new-key"
        )
    allowed = () if rights == "-" else tuple(rights.split(","))
    _check_rights(allowed, f"{place}: the rights")
    if tokens and not (tokens.isascii() and tokens.isdigit()):
        raise ConfigError(f"{place}: the tokens per minute must be a whole number, got {tokens!r}; 0 is no limit")
    return ApiKey(name, digest, frozenset(allowed), int(tokens) if tokens else None)


def _check_name(name: str, what: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{what} must be letters, digits, dots, - and _, 64 at most, got {name!r}; for instance anna")


def _check_rights(rights: Sequence[str], what: str) -> None:
    for right in rights:
        if right not in RIGHTS:
            raise ConfigError(f"{what} must be among {', '.join(RIGHTS)}, got {right!r}; write - for none")
