"""What there is in a folder, for messages about what is not there: a slip of the keyboard is seen at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["listed", "what_is_in"]

_MOST_LISTED = 10


def what_is_in(folder: Path) -> str:
    """A clause that says what a folder holds, or that there is none; nothing if it may not be looked at."""
    try:
        if not folder.is_dir():
            return f"; there is no folder {folder}"
        return f"; {folder} holds {listed(sorted(path.name for path in folder.iterdir()))}"
    except OSError:
        return ""


def listed(names: Sequence[str]) -> str:
    """The first few names."""
    return ", ".join([*names[:_MOST_LISTED], *(["…"] if len(names) > _MOST_LISTED else [])]) or "nothing"
