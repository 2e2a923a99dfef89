"""Whether the network may be used: only while the user allows it, and never with DRAGOMAN_OFFLINE=1."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.errors import ConfigError

OFFLINE = "DRAGOMAN_OFFLINE"
"""The environment variable that forbids every use of the network."""

_lock = threading.Lock()
_allowing = 0  # blocks of the process, because corpora are read on several threads


@contextmanager
def network_access(is_allowed: bool) -> Iterator[None]:
    """Allow reading corpora over the network inside a ``with`` block, on all threads of the process.

    With ``is_allowed=False`` nothing changes: a block cannot forbid what another one, which runs meanwhile, allows.
    """
    _count(is_allowed)
    try:
        yield
    finally:
        _count(-is_allowed)


def is_network_allowed() -> bool:
    """Whether the network may be used now."""
    return _allowing > 0 and not is_offline()


def is_offline() -> bool:
    """Whether the environment forbids the network."""
    return os.environ.get(OFFLINE, "").strip().lower() not in ("", "0", "false", "no", "off")


def check_online(address: str) -> None:
    """Raise a `ConfigError` if the environment forbids the network, before an address is opened."""
    if is_offline():
        raise ConfigError(f"{address} needs the network, which {OFFLINE} forbids; unset {OFFLINE}, or use a local copy")


def _count(change: int) -> None:
    global _allowing  # noqa: PLW0603
    with _lock:
        _allowing += change
