"""Describe the files of a folder, for error messages about missing files."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

__all__ = ["describe_folder", "join_names"]

_MOST_LISTED = 10
_NEAR = 0.8  # similarity of two names of which one is probably a typing error


def describe_folder(folder: Path, missing: str = "") -> str:
    """Return a clause about the contents of a folder; empty if it cannot be read.

    It is the name most like that of the `missing` file, if there is one, else the first names.
    """
    try:
        if not folder.is_dir():
            return f"; there is no folder {folder}"
        names = sorted(path.name for path in folder.iterdir())
        if near := get_close_matches(missing, names, n=1, cutoff=_NEAR):
            return f"; did you mean {folder / near[0]}?"
        return f"; {folder} holds {join_names(names)}"
    except OSError:
        return ""


def join_names(names: Sequence[str]) -> str:
    """Join the first few names."""
    return ", ".join([*names[:_MOST_LISTED], *(["…"] if len(names) > _MOST_LISTED else [])]) or "nothing"
