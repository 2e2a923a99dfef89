"""The user's key for exports: what they made themselves is known by it, and nobody else can sign in their name.

It lies in `$XDG_STATE_HOME/dragoman/export-key`, without that in `~/.local/state/dragoman/export-key`, or where
`DRAGOMAN_EXPORT_KEY_FILE` says, and is made when it is first needed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from dragoman.errors import ConfigError
from dragoman.files import flush

__all__ = ["KEY_FILE", "is_signed", "key_path", "signature", "user_key"]

KEY_FILE = "DRAGOMAN_EXPORT_KEY_FILE"
"""The environment variable that names another place."""

_BYTES = 32
_PURPOSE = b"dragoman export\n"
_OTHERS = stat.S_IWGRP | stat.S_IRWXO  # a group may read it: that is how images and services share one


def key_path() -> Path:
    """Where the key is, or would be."""
    if named := os.environ.get(KEY_FILE):
        return Path(named)
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # to be passed over, says the XDG specification
        try:
            state = Path.home() / ".local" / "state"
        except RuntimeError:
            raise ConfigError(f"the export key must have a place, got no home folder; set {KEY_FILE}") from None
    return state / "dragoman" / "export-key"


def user_key() -> bytes:
    """The key; made if there is none. One that others could read or change is a `ConfigError`, or an `OSError`."""
    path = key_path()
    if not path.exists():
        _make(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size != _BYTES:
            raise ConfigError(f"{path} must be a file of {_BYTES} bytes, got something else; remove it")
        if facts.st_mode & _OTHERS or facts.st_uid not in (os.geteuid(), 0):
            raise ConfigError(f"{path} must be out of the reach of others, got other permissions; chmod it to 600")
        return file.read(_BYTES)


def signature(message: bytes, key: bytes) -> str:
    """The HMAC-SHA256 of a message."""
    return hmac.new(key, _PURPOSE + message, hashlib.sha256).hexdigest()


def is_signed(message: bytes, claimed: object, key: bytes) -> bool:
    """Whether this is the signature of a message; how long it takes tells nothing about the right one."""
    return isinstance(claimed, str) and hmac.compare_digest(
        claimed.encode(errors="replace"), signature(message, key).encode()
    )


def _make(path: Path) -> None:
    """A new key, whole at once; if another process was faster, theirs stays."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
        flush(draft)
        os.link(draft, path)  # unlike a renaming it never takes the place of a key
        flush(path.parent)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
