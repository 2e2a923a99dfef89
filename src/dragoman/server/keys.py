"""Keys of those who may translate: a file that holds only their hashes.

A line is ``NAME HASH [RIGHTS] [PIECES_A_MINUTE]``; RIGHTS is a list with commas, or ``-`` for none. Empty lines and
those that begin with ``#`` say nothing. Keys are 256 random bits, so that a plain SHA-256 cannot be searched.
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
from dragoman.files import whole

__all__ = ["Key", "Keys", "RIGHTS", "hash_of", "new_key"]

RIGHTS = {"admin": "reload bundles", "metrics": "read /metrics from another machine"}
"""What a key may be allowed beside translating."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")
_PRIVATE = 0o600


@dataclass(frozen=True)
class Key:
    """Who it is, and what they may do; the key itself is not known here."""

    name: str
    hash: str
    rights: frozenset[str] = frozenset()
    pieces_a_minute: int | None = None
    """None: as the server's limits say; 0: no limit."""


def hash_of(secret: str) -> str:
    """What the file holds in place of a key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class Keys:
    """The keys of a file, which can be read again while the server runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._keys = _read(path)

    def __len__(self) -> int:
        return len(self._keys)

    def reload(self) -> int:
        """Read the file again; how many keys there are. A file with a fault raises, and the old keys stay."""
        self._keys = _read(self.path)
        return len(self._keys)

    def find(self, secret: str) -> Key | None:
        """Whose key this is. Each one is compared in full, so that time tells nothing."""
        given, found = hash_of(secret), None
        for key in self._keys:
            if hmac.compare_digest(key.hash, given):
                found = key
        return found


def new_key(path: Path, name: str, rights: Sequence[str] = (), pieces_a_minute: int | None = None) -> str:
    """Make a key, add its hash to the file, which is made where there is none, and return it: it is nowhere else."""
    _check_name(name, "a key's name")
    _check_rights(rights, "a key's rights")
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if path.exists() and any(key.name == name for key in _read(path)):
        raise ConfigError(f"a key's name must be new, got {name}, which {path} has; take another, or delete its line")
    secret = secrets.token_urlsafe(32)
    words = [name, hash_of(secret), ",".join(sorted(rights)) or "-"]
    words += [] if pieces_a_minute is None else [str(pieces_a_minute)]
    with whole(path) as draft:
        draft.touch(mode=_PRIVATE)
        draft.write_text(f"{old.rstrip()}\n{' '.join(words)}\n".lstrip(), encoding="utf-8")
    return secret


def _read(path: Path) -> tuple[Key, ...]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(
            f"keys must be a file, got {path}, which is not there; make it with dragoman serve --new-key NAME "
            f"--keys {path}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"keys must be a readable UTF-8 file, got {path}: {error}; mend it there") from None
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


def _parse(words: Sequence[str], place: str) -> Key:
    if not 2 <= len(words) <= 4:
        raise ConfigError(
            f"{place} must be NAME HASH [RIGHTS] [PIECES_A_MINUTE], got {len(words)} words; write - for no rights"
        )
    name, digest, rights, pieces = (*words, *("-", "")[len(words) - 2 :])[:4]
    _check_name(name, f"{place}: the name")
    if not _HASH.fullmatch(digest):  # it is not shown: it might be a key that was written here by mistake
        raise ConfigError(
            f"{place}: the hash of {name} must be a SHA-256 in 64 small hexadecimal digits, got something else; make "
            "keys with dragoman serve --new-key"
        )
    allowed = () if rights == "-" else tuple(rights.split(","))
    _check_rights(allowed, f"{place}: the rights")
    if pieces and not (pieces.isascii() and pieces.isdigit()):
        raise ConfigError(f"{place}: the pieces a minute must be a whole number, got {pieces!r}; 0 is no limit")
    return Key(name, digest, frozenset(allowed), int(pieces) if pieces else None)


def _check_name(name: str, what: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{what} must be letters, digits, dots, - and _, 64 at most, got {name!r}; for instance anna")


def _check_rights(rights: Sequence[str], what: str) -> None:
    for right in rights:
        if right not in RIGHTS:
            raise ConfigError(f"{what} must be among {', '.join(RIGHTS)}, got {right!r}; write - for none")
