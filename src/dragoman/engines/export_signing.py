"""Sign exported models with a secret key of the user (HMAC), and verify the signatures.

The key is in the file `DRAGOMAN_EXPORT_KEY_FILE`, by default `$XDG_STATE_HOME/dragoman/export-key` or
`~/.local/state/dragoman/export-key`. It is created when it is first needed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from dragoman.errors import ConfigError
from dragoman.files import BINARY, NON_BLOCKING, fsync

KEY_FILE = "DRAGOMAN_EXPORT_KEY_FILE"
"""The environment variable with the path of the key."""

_BYTES = 32
_PURPOSE = b"dragoman export\n"
_OTHERS = stat.S_IWGRP | stat.S_IRWXO  # a group may read it, so that services can share a key


def key_path() -> Path:
    """The path of the key, existing or not."""
    if named := os.environ.get(KEY_FILE):
        return Path(named)
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # ignored, as the XDG specification requires
        try:
            state = Path.home() / ".local" / "state"
        except RuntimeError:
            raise ConfigError(f"the export key must have a path, got no home folder; set {KEY_FILE}") from None
    return state / "dragoman" / "export-key"


def user_key() -> bytes:
    """Read the key, or create it. A key that other users can read or change raises a `ConfigError` or `OSError`."""
    path = key_path()
    if not path.exists():
        _make(path)
    descriptor = os.open(path, os.O_RDONLY | NON_BLOCKING | BINARY)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size != _BYTES:
            raise ConfigError(f"{path} must be a file of {_BYTES} bytes, got another; set {KEY_FILE} to another path")
        # Windows has no such modes: there the key is protected like the profile of the user.
        if hasattr(os, "geteuid") and (facts.st_mode & _OTHERS or facts.st_uid not in (os.geteuid(), 0)):
            raise ConfigError(f"{path} must not be accessible to other users, got other permissions; chmod it to 600")
        return file.read(_BYTES)


def signature(message: bytes, key: bytes) -> str:
    """The HMAC-SHA256 of a message."""
    return hmac.new(key, _PURPOSE + message, hashlib.sha256).hexdigest()


def verify_signature(message: bytes, claimed: object, key: bytes) -> bool:
    """Whether this is the signature of a message, compared in constant time."""
    return isinstance(claimed, str) and hmac.compare_digest(
        claimed.encode(errors="replace"), signature(message, key).encode()
    )


def _make(path: Path) -> None:
    """Create a key atomically; keep that of another process that was faster."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
        fsync(draft)
        os.link(draft, path)  # unlike a rename, it never replaces an existing key
        fsync(path.parent)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
