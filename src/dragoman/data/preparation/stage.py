"""A stage: a folder named after all that its content depends on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from dragoman.data.files import write_json

__all__ = ["Stage", "read_json"]

_DONE = "done.json"


class Stage:
    """One step of the preparation. `depends` is plain values; what they are hashed to names the folder.

    The folder is made at once; the stage is done when `finish` has written its result there.
    """

    def __init__(self, work: Path, name: str, depends: Any) -> None:
        content = json.dumps(depends, sort_keys=True, ensure_ascii=False)
        self.key = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.folder = work / f"{name}-{self.key}"
        self.folder.mkdir(parents=True, exist_ok=True)

    def result(self) -> Any | None:
        """What `finish` was given, or None if the stage is not done."""
        return read_json(self.folder / _DONE)

    def finish(self, result: Any) -> None:
        """Declare the stage done."""
        write_json(self.folder / _DONE, result)


def read_json(path: Path) -> Any | None:
    """Plain values from a file, or None where there is none (files are written whole, so none is half there)."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
