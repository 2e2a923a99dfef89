"""Describe the files of a folder, for error messages about missing files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.files import similar_path

__all__ = ["describe_folder", "join_names"]

_MOST_LISTED = 10


def describe_folder(folder: Path, missing: str = "") -> str:
    """Return a clause about the contents of a folder; empty if it cannot be read.

    It is the name most like that of the `missing` file, if there is one, else the first names.
    """
    try:
        if not folder.is_dir():
            return f"; there is no folder {folder}"
        if missing and (near := similar_path(folder / missing)):
            return near
        names = sorted(path.name for path in folder.iterdir())
        return f"; {folder} holds {join_names(names)}"
    except OSError:
        return ""


def join_names(names: Sequence[str]) -> str:
    """Join the first few names."""
    return ", ".join([*names[:_MOST_LISTED], *(["…"] if len(names) > _MOST_LISTED else [])]) or "nothing"
