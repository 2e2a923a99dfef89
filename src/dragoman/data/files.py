"""Files that are either whole or not there."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["sha256_of", "whole", "write_json"]

_BLOCK = 1 << 20


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path to write to; what was written takes the place of `path` when the block ends well, and vanishes else.

    The content is on the disk before its name is, so a crash at any moment leaves the old file, the new one or none.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield draft
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write plain values, readable by people, whole."""
    with whole(path) as draft:
        draft.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
