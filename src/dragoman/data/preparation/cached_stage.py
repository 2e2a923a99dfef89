"""Cache the result of a preparation stage in a folder named after a hash of all inputs of the stage."""

import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.files import read_json, write_json

_DONE = "done.json"


class Stage:
    """One step of the preparation in a folder named after the hash of `depends`; done when its result is written."""

    def __init__(self, work: Path, name: str, depends: Any) -> None:
        content = json.dumps(depends, sort_keys=True, ensure_ascii=False)
        self.key = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.folder = work / f"{name}-{self.key}"
        self.folder.mkdir(parents=True, exist_ok=True)

    def result(self) -> Any | None:
        """Return the result, or None if the stage is not done or a part is missing."""
        done = read_json(self.folder / _DONE)
        if done is None or not all((self.folder / part).exists() for part in done["parts"]):
            return None
        return done["result"]

    def finish(self, result: Any, parts: Sequence[str] = ()) -> None:
        """Store the result; `parts` are the files of the stage."""
        write_json(self.folder / _DONE, {"result": result, "parts": list(parts)})


def versions(*packages: str) -> dict[str, str]:
    """Return the installed versions of packages that affect a result."""
    return {package: importlib.metadata.version(package) for package in packages}
