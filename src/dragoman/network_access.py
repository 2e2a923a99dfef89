"""Whether files may be read over the network: only while the user allows it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["is_network_allowed", "network_access"]

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
    return _allowing > 0


def _count(change: int) -> None:
    global _allowing  # noqa: PLW0603
    with _lock:
        _allowing += change
