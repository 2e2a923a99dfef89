"""Exported files: a model in the form that an engine other than torch reads, kept beside the bundle it was made from.

Those of a bundle at `X`, a folder or a zip archive, lie in `X.exports/<kind>-<precision>/`: a sealed folder whose
`export.json` says what it was made from. One that is damaged, or was made from another bundle or in another format, is
never used but made again. Where nothing can be written, exports live in a temporary folder until the process ends.

    export = export_of(bundle, "onnx", "int8", make, format_number=1, packages=("onnx", "onnxruntime"))
    engine = load(export.folder)
    export.confirm()  # what was loaded is what was verified
"""

from __future__ import annotations

import atexit
import importlib.metadata
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman import __version__
from dragoman.bundle import Bundle
from dragoman.bundle.sealed import digest_of, recover, sealed, verify
from dragoman.errors import BundleError, DataError
from dragoman.files import locked, read_json, write_json

__all__ = ["Export", "Kind", "Make", "export_of", "place_of", "write_export"]

Kind = Literal["ctranslate2", "onnx"]
Make = Callable[[Path], None]
"""Writes the files of an export into a folder, which is there and empty."""

_FACTS = "export.json"
_PAUSE = 0.05  # seconds between two looks at an export that another process is making

_temporary: dict[tuple[str, str, str, int], Path] = {}
_temporary_lock = threading.Lock()


@dataclass(frozen=True)
class Export:
    """Exported files that were verified. `note` says where they are and, if they were made just now, why."""

    folder: Path
    digest: str
    note: str
    is_new: bool

    def confirm(self) -> None:
        """Raise unless the folder is still what was verified: call it once the files have been loaded."""
        if digest_of(verify(self.folder, hash_files=False)) != self.digest:
            raise BundleError(f"{self.folder} must stay as it was opened, got other content; open it again")


@dataclass(frozen=True)
class _Facts:
    """What an export was made from, and how."""

    kind: Kind
    precision: str
    format_number: int
    bundle: str
    packages: Sequence[str] = ()

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.bundle, self.kind, self.precision, self.format_number

    def written(self) -> dict[str, Any]:
        versions = {name: importlib.metadata.version(name) for name in self.packages}
        return {
            "kind": self.kind,
            "precision": self.precision,
            "format": self.format_number,
            "bundle": self.bundle,
            "versions": {"dragoman": __version__, **versions},
        }

    def fault(self, found: Any) -> str | None:
        """Why an export with these facts is not the one that is wanted."""
        if not isinstance(found, dict):
            return "it does not say what it was made from"
        if found.get("bundle") != self.bundle:
            return "it was made from another bundle"
        if (found.get("kind"), found.get("precision")) != (self.kind, self.precision):
            return "it is of another kind or precision"
        return None if found.get("format") == self.format_number else "it is of another format"


def place_of(bundle: Bundle, kind: Kind, precision: str) -> Path:
    """Where the export of a bundle belongs, whether it is there or not."""
    path = bundle.path.resolve()
    return path.with_name(f"{path.name}.exports") / f"{kind}-{precision}"


def export_of(
    bundle: Bundle, kind: Kind, precision: str, make: Make, *, format_number: int = 1, packages: Sequence[str] = ()
) -> Export:
    """The export of a bundle that lies beside it; without a good one it is made, once, whoever else wants it too.

    `format_number` grows whenever `make` writes something else than before. `packages` are those whose versions are
    noted.
    """
    facts = _Facts(kind, precision, format_number, bundle.digest, packages)
    folder = place_of(bundle, kind, precision)
    export, fault = _look(folder, facts)
    if export is not None:
        return export
    try:
        folder.parent.mkdir(exist_ok=True)
        return _made_once(folder, facts, make)
    except OSError as error:
        reason = f"{folder.parent} cannot be written to ({error.strerror or error})"
        return _made_for_this_process(facts, make, f"{fault}; {reason}")


def write_export(
    bundle: Bundle,
    folder: Path,
    kind: Kind,
    precision: str,
    make: Make,
    *,
    format_number: int = 1,
    packages: Sequence[str] = (),
) -> Export:
    """Write an export into a folder that somebody chose, in place of an earlier export there."""
    if folder.exists() and not (folder / _FACTS).is_file():
        raise BundleError(
            f"{folder} must be a new folder or an earlier export, got other files, which would be lost; name another"
        )
    return _made(folder, _Facts(kind, precision, format_number, bundle.digest, packages), make, "asked for")


def _look(folder: Path, facts: _Facts) -> tuple[Export | None, str]:
    """The export that lies in a folder, or why it is of no use."""
    if not folder.exists():
        return None, "there was none"
    try:
        manifest = verify(folder)
        fault = facts.fault(read_json(folder / _FACTS))
    except (BundleError, DataError, OSError) as error:
        return None, f"the one there was damaged: {error}"
    if fault is not None:
        return None, f"the one there was of no use: {fault}"
    return Export(folder, digest_of(manifest), f"{facts.kind} {facts.precision} export in {folder}", False), ""


def _made_once(folder: Path, facts: _Facts, make: Make) -> Export:
    """Make an export unless another process or thread is at it; then wait for theirs."""
    while True:
        with locked(folder.with_name(f"{folder.name}.lock")) as is_ours:
            if is_ours:
                recover(folder)
                export, fault = _look(folder, facts)
                return export or _made(folder, facts, make, fault)
        time.sleep(_PAUSE)


def _made(folder: Path, facts: _Facts, make: Make, reason: str) -> Export:
    with sealed(folder) as draft:
        make(draft)
        write_json(draft / _FACTS, facts.written())
    digest = digest_of(verify(folder, hash_files=False))
    return Export(folder, digest, f"{facts.kind} {facts.precision} export made in {folder} ({reason})", True)


def _made_for_this_process(facts: _Facts, make: Make, reason: str) -> Export:
    with _temporary_lock:
        if facts.key in _temporary:
            export, _ = _look(_temporary[facts.key], facts)
            if export is not None:
                return export
        parent = Path(tempfile.mkdtemp(prefix="dragoman-export-"))
        atexit.register(_remove, parent, os.getpid())
        export = _made(parent / f"{facts.kind}-{facts.precision}", facts, make, reason)
        _temporary[facts.key] = export.folder
        return export


def _remove(folder: Path, process: int) -> None:
    """Remove a temporary folder; not at the end of a process that was forked off and does not own it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
