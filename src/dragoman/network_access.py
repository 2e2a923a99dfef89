"""Whether files may be read over the network: only while the user allows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["is_network_allowed", "network_access"]

_ALLOWED: ContextVar[bool] = ContextVar("network_allowed", default=False)


@contextmanager
def network_access(is_allowed: bool) -> Iterator[None]:
    """Allow or forbid reading corpora over the network inside a ``with`` block."""
    token = _ALLOWED.set(is_allowed)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def is_network_allowed() -> bool:
    """Whether the network may be used here."""
    return _ALLOWED.get()
