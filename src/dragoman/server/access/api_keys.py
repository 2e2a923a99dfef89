"""Read and write the file of hashed API keys.

A line is ``NAME HASH [RIGHTS] [TOKENS_PER_MINUTE] [EXPIRES]``; RIGHTS is a comma-separated list, ``-`` is none, the
server's limit, or never, and EXPIRES is a time in UTC such as ``2027-01-31T12:00:00Z``. Empty lines and lines that
begin with ``#`` are skipped. A key has 256 random bits, so an unsalted SHA-256 cannot be inverted.
"""

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dragoman.errors import ConfigError
from dragoman.files import atomic_write, file_lock, remove_temporary_files

RIGHTS = {
    "admin": "reload bundles",
    "approve": "corrections count at once, and those of others can be approved",
    "metrics": "read /metrics from another machine",
    "uncached": "keep no translation of this key in the cache",
}
"""Rights of a key in addition to translating."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")
_DURATION = re.compile(r"(\d{1,5})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_PRIVATE = 0o600
_READABLE = 0o044
_LOCK_ATTEMPTS = 100
_LOCK_WAIT = 0.05  # seconds


@dataclass(frozen=True)
class ApiKey:
    """Name, hash and rights of a key; the key itself is not stored."""

    name: str
    hash: str
    rights: frozenset[str] = frozenset()
    tokens_per_minute: int | None = None
    """None: the limit of the server; 0: no limit."""
    expires: datetime | None = None

    @property
    def is_expired(self) -> bool:
        return self.expires is not None and self.expires <= datetime.now(UTC)

    @property
    def expiry(self) -> str:
        """The time of expiry in UTC; empty if the key does not expire."""
        return "" if self.expires is None else f"{self.expires:%Y-%m-%dT%H:%M:%SZ}"


def hash_key(secret: str) -> str:
    """Return the SHA-256 of a key in hexadecimal."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class ApiKeyStore:
    """Keys of a file that can be reloaded while the server runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._keys = read_keys(path)

    def __len__(self) -> int:
        return len(self._keys)

    def reload(self) -> int:
        """Reload the file and return the number of keys. An invalid file raises, and the previous keys stay."""
        self._keys = read_keys(self.path)
        return len(self._keys)

    def find(self, secret: str) -> ApiKey | None:
        """Return the entry of a key, expired or not. Every entry is compared, so the duration reveals nothing."""
        given, found = hash_key(secret), None
        for key in self._keys:
            if hmac.compare_digest(key.hash, given):
                found = key
        return found


def create_key(
    path: Path,
    name: str,
    rights: Sequence[str] = (),
    tokens_per_minute: int | None = None,
    expires: datetime | None = None,
) -> str:
    """Create a key, append its hash to the file, and return it; the file is created if missing."""
    _check_name(name, "a key's name")
    _check_rights(rights, "--rights", "leave it out for none")
    secret = secrets.token_urlsafe(32)
    made = ApiKey(name, hash_key(secret), frozenset(rights), tokens_per_minute, expires)
    words = [name, made.hash, ",".join(sorted(rights)) or "-"]
    if tokens_per_minute is not None or expires is not None:
        words.append("-" if tokens_per_minute is None else str(tokens_per_minute))
    with _locked(path):
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if path.exists() and any(key.name == name for key in read_keys(path)):
            raise ConfigError(f"{path} has a key of the name {name}; use another name, or revoke that key first")
        _write(path, f"{old.rstrip()}\n{' '.join([*words, made.expiry]).rstrip()}\n".lstrip())
    return secret


def revoke_key(path: Path, name: str) -> None:
    """Remove the line of a key from the file; an unknown name raises `ConfigError`."""
    with _locked(path):
        names = [key.name for key in read_keys(path)]
        if name not in names:
            raise ConfigError(
                f"--revoke-key must be the name of a key in {path}, got {name!r}; names: {', '.join(names) or 'none'}"
            )
        lines = path.read_text(encoding="utf-8-sig").split("\n")
        _write(path, "\n".join(line for line in lines if line.split()[:1] != [name]))


def parse_expiry(text: str) -> datetime:
    """Return the time of a duration from now, as ``90d``, ``12h`` or ``2w``, or of a date, at its start in UTC."""
    try:
        if found := _DURATION.fullmatch(text):
            return datetime.now(UTC) + timedelta(**{_UNITS[found[2]]: int(found[1])})
        expires = datetime.fromisoformat(text)
        expires = expires.replace(tzinfo=UTC) if expires.tzinfo is None else expires.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigError(
            f"--expires must be a duration or a date, got {text[:40]!r}; write 12h, 90d, 2w or 2027-01-31"
        ) from None
    if expires <= datetime.now(UTC):
        raise ConfigError(f"--expires must be in the future, got {text[:40]}; write a later date, or a duration as 90d")
    return expires


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock a file of keys for one change: of two at the same time, the later one would undo a revocation."""
    file = path.resolve()
    for _ in range(_LOCK_ATTEMPTS):
        with file_lock(file.with_name(f"{file.name}.lock")) as is_ours:
            if is_ours:
                remove_temporary_files(file)
                yield
                return
        time.sleep(_LOCK_WAIT)
    raise ConfigError(f"{path} is being changed by another process; try again")


def _write(path: Path, text: str) -> None:
    """Replace the file. Who may read it stays: a server that cannot would keep its old keys after a revocation."""
    with atomic_write(path.resolve()) as draft:  # a link stays: a server may read its target
        draft.touch(mode=_PRIVATE)
        draft.write_text(text, encoding="utf-8")
        if path.exists():
            old = path.stat()
            if (old.st_uid, old.st_gid) != (draft.stat().st_uid, draft.stat().st_gid):
                os.chown(draft, old.st_uid, old.st_gid)
            draft.chmod(_PRIVATE | old.st_mode & _READABLE)


def read_keys(path: Path) -> tuple[ApiKey, ...]:
    """Return all keys of a file; an invalid file raises `ConfigError`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(
            f"the file of keys {path} does not exist; create it with dragoman serve --new-key NAME --keys {path}"
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
    if not 2 <= len(words) <= 5:
        raise ConfigError(
            f"{place} must be NAME HASH [RIGHTS] [TOKENS_PER_MINUTE] [EXPIRES], got {len(words)} words; write - for no "
            "rights and for the server's limit"
        )
    name, digest, rights, tokens, expires = (*words, *["-"] * (5 - len(words)))
    _check_name(name, f"{place}: the name")
    if not _HASH.fullmatch(digest):  # not shown: it might be a key that was written here by mistake
        raise ConfigError(
            f"{place}: the hash of {name} must be a SHA-256 in 64 lowercase hexadecimal digits; "
            "create keys with dragoman serve --new-key"
        )
    allowed = () if rights == "-" else tuple(rights.split(","))
    _check_rights(allowed, f"{place}: the rights", "write - for none")
    if tokens != "-" and not (tokens.isascii() and tokens.isdigit()):
        raise ConfigError(f"{place}: the tokens per minute must be a whole number, got {tokens!r}; 0 is no limit")
    per_minute = None if tokens == "-" else int(tokens)
    return ApiKey(name, digest, frozenset(allowed), per_minute, _parse_time(expires, place))


def _parse_time(text: str, place: str) -> datetime | None:
    if text == "-":
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise ConfigError(
            f"{place}: the time of expiry must be written as 2027-01-31T12:00:00Z, got {text[:40]!r}; - is never"
        ) from None


def _check_name(name: str, what: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{what} must be letters, digits, dots, - and _, 64 at most, got {name!r}; for instance anna")


def _check_rights(rights: Sequence[str], what: str, fix: str) -> None:
    for right in rights:
        if right not in RIGHTS:
            raise ConfigError(f"{what} must be among {', '.join(RIGHTS)}, got {right!r}; {fix}")
