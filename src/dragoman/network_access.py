"""Whether files may be read over the network: only while the user allows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["is_network_allowed", "network_access"]

_blocks = [False]  # of the process, because corpora are read on several threads


@contextmanager
def network_access(is_allowed: bool) -> Iterator[None]:
    """Allow or forbid reading corpora over the network inside a ``with`` block, on all threads of the process."""
    _blocks.append(is_allowed)
    try:
        yield
    finally:
        _blocks.pop()


def is_network_allowed() -> bool:
    """Whether the network may be used now."""
    return _blocks[-1]
