"""Exported files: a model in the form that an engine other than torch reads, kept beside the bundle it was made from.

Those of a bundle at `X`, a folder or a zip archive, lie in `X.exports/<kind>-<precision>/`: a sealed folder whose
`export.json` says what it was made from, lists its files, and is signed with the user's key (`export_key`). The parsers
of CTranslate2 and ONNX Runtime are not made for a stranger's files, and who writes an export decides what is
translated: so only one that the user made is used. Any other, and one that is damaged, or was made from another bundle
or in another format, is made again. Where nothing can be written, or there is no key, exports live in a temporary
folder until the process ends.

    export = export_of(bundle, "onnx", "int8", make, format_number=1, packages=("onnx", "onnxruntime"))
    engine = load(export.files)  # the bytes that were verified, whatever happens to the folder meanwhile
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import importlib.metadata
import json
import os
import secrets
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman import __version__
from dragoman.bundle import Bundle
from dragoman.bundle.sealed import recover, sealed, verify
from dragoman.engines.export_key import is_signed, signature, user_key
from dragoman.errors import BundleError, ConfigError
from dragoman.files import locked, write_json

__all__ = ["Export", "Kind", "Make", "Precision", "export_of", "place_of", "write_export"]

Kind = Literal["ctranslate2", "onnx"]
Precision = Literal["float32", "int8"]
Make = Callable[[Path], None]
"""Writes the files of an export into a folder, which is there and empty."""

_FACTS = "export.json"
_MOST_BYTES: dict[str, dict[str, int]] = {
    "ctranslate2": {
        _FACTS: 1 << 16,
        "model.bin": 1 << 38,
        "config.json": 1 << 16,
        **dict.fromkeys((f"{side}_vocabulary.json" for side in ("shared", "source", "target")), 1 << 26),
    },
    "onnx": {_FACTS: 1 << 16, "reader.onnx": 1 << 31, "writer.onnx": 1 << 31},
}
"""Of each kind every name there may be, and how large the file may be."""
_PAUSE = 0.05  # seconds between two looks at an export that another process is making

_temporary: dict[tuple[str, str, str, int], Path] = {}
_temporary_lock = threading.Lock()
_process_key = secrets.token_bytes(32)
"""Signs temporary exports, which are of no use to any other process."""


@dataclass(frozen=True)
class Export:
    """Exported files by their names, as they were verified or made.

    `note` says where they are and, if they were made just now, why.
    """

    folder: Path
    files: Mapping[str, bytes]
    note: str
    is_new: bool


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

    def written(self, files: Mapping[str, bytes], key: bytes) -> dict[str, Any]:
        """What `export.json` holds."""
        versions = {name: importlib.metadata.version(name) for name in self.packages}
        facts: dict[str, Any] = {
            "kind": self.kind,
            "precision": self.precision,
            "format": self.format_number,
            "bundle": self.bundle,
            "versions": {"dragoman": __version__, **versions},
            "files": {name: _sha256(data) for name, data in sorted(files.items())},
        }
        return facts | {"signature": signature(_message(facts), key)}

    def fault(self, found: Any, key: bytes) -> str | None:
        """Why an export with these facts is not the one that is wanted. Nothing is believed before the signature."""
        if not isinstance(found, dict):
            return "it does not say what it was made from"
        if not is_signed(_message(found), found.get("signature"), key):
            return "it is not signed with your key, so somebody else may have made it"
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
    try:
        key = user_key()
    except (ConfigError, OSError) as error:
        return _made_for_this_process(facts, make, f"without a key no other is trusted: {error}")
    export, fault = _look(folder, facts, key)
    if export is not None:
        return export
    try:
        folder.parent.mkdir(exist_ok=True)
        return _made_once(folder, facts, make, key)
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
    """Write an export into a folder that somebody chose: a new or an empty one, or an earlier export."""
    for path in (folder, folder.with_name(f"{folder.name}.tmp"), folder.with_name(f"{folder.name}.old")):
        if os.path.lexists(path) and not _may_go(path):
            raise BundleError(
                f"{path} must be an empty folder or a whole export, or not be there, got other files, which would be "
                "lost; name another folder"
            )
    try:
        key = user_key()
    except (ConfigError, OSError):  # it is not for us, then
        key = _process_key
    return _made(folder, _Facts(kind, precision, format_number, bundle.digest, packages), make, key, "asked for")


def _may_go(path: Path) -> bool:
    """Whether nothing but an export is lost with a folder."""
    try:
        if path.is_dir() and not any(path.iterdir()):
            return True
        found = verify(path)["files"].keys()
        return any(most.keys() >= found >= {_FACTS} for most in _MOST_BYTES.values())
    except (BundleError, OSError):
        return False


def _look(folder: Path, facts: _Facts, key: bytes) -> tuple[Export | None, str]:
    """The export that lies in a folder, or why it is of no use."""
    if not os.path.lexists(folder):
        return None, "there was none"
    try:
        sizes = _sizes(folder, facts.kind)
        written = json.loads(_read(folder / _FACTS, sizes.pop(_FACTS)))
        if fault := facts.fault(written, key):
            return None, f"the one there was of no use: {fault}"
        files = {name: _read(folder / name, size) for name, size in sizes.items()}
        if {name: _sha256(data) for name, data in files.items()} != written.get("files"):
            return None, f"the one there was damaged: {folder} must hold what was made, got other files"
    except (BundleError, OSError, ValueError, RecursionError) as error:
        return None, f"the one there was damaged: {error}"
    return Export(folder, files, f"{facts.kind} {facts.precision} export in {folder}", False), ""


def _sizes(folder: Path, kind: Kind) -> dict[str, int]:
    """The sizes of the files in a folder that holds nothing but what an export may hold."""
    most = _MOST_BYTES[kind]
    sizes = {
        name: facts["size"]
        for name, facts in verify(folder, allowed=most.__contains__, hash_files=False)["files"].items()
    }
    for name, size in sizes.items():
        if size > most[name]:
            raise BundleError(f"{folder / name} must have at most {most[name]:,} bytes, got {size:,}")
    if _FACTS not in sizes:
        raise BundleError(f"{folder / _FACTS} must be there, got no such file")
    return sizes


def _read(path: Path, size: int) -> bytes:
    """A file of a known size, and no other: not what a link leads to, and nothing that one waits for."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        data = file.read(size + 1)
    if len(data) != size:
        raise BundleError(f"{path} must have {size:,} bytes, got another number")
    return data


def _made_once(folder: Path, facts: _Facts, make: Make, key: bytes) -> Export:
    """Make an export unless another process or thread is at it; then wait for theirs."""
    lock = folder.with_name(f"{folder.name}.lock")
    _check_writable(folder.parent, lock)
    while True:
        with locked(lock) as is_ours:
            if is_ours:
                recover(folder)
                export, fault = _look(folder, facts, key)
                return export or _made(folder, facts, make, key, fault)
        time.sleep(_PAUSE)


def _check_writable(parent: Path, lock: Path) -> None:
    """Raise where writing would reach another place: these names may have come with a stranger's bundle."""
    if parent.is_symlink():
        raise OSError(errno.ELOOP, "it is a link")
    if os.path.lexists(lock) and not stat.S_ISREG(lock.lstat().st_mode):
        raise OSError(errno.ELOOP, f"{lock.name} is no file")


def _made(folder: Path, facts: _Facts, make: Make, key: bytes, reason: str) -> Export:
    files = _fresh(facts.kind, make)
    with sealed(folder) as draft:
        for name, data in files.items():
            (draft / name).write_bytes(data)
        write_json(draft / _FACTS, facts.written(files, key))
    return Export(folder, files, f"{facts.kind} {facts.precision} export made in {folder} ({reason})", True)


def _fresh(kind: Kind, make: Make) -> dict[str, bytes]:
    """New files, made where nobody else can write: what is signed and loaded is what was made."""
    with tempfile.TemporaryDirectory(prefix="dragoman-export-") as private:
        make(Path(private))
        files = {path.name: path.read_bytes() for path in sorted(Path(private).iterdir())}
    assert files.keys() <= _MOST_BYTES[kind].keys() - {_FACTS}, files.keys()
    return files


def _made_for_this_process(facts: _Facts, make: Make, reason: str) -> Export:
    with _temporary_lock:
        if facts.key in _temporary:
            export, _ = _look(_temporary[facts.key], facts, _process_key)
            if export is not None:
                return export
        parent = Path(tempfile.mkdtemp(prefix="dragoman-export-"))
        atexit.register(_remove, parent, os.getpid())
        export = _made(parent / f"{facts.kind}-{facts.precision}", facts, make, _process_key, reason)
        _temporary[facts.key] = export.folder
        return export


def _remove(folder: Path, process: int) -> None:
    """Remove a temporary folder; not at the end of a process that was forked off and does not own it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _message(facts: Mapping[str, Any]) -> bytes:
    """What is signed: all of `export.json` but the signature, always written in the same way."""
    return json.dumps({name: value for name, value in facts.items() if name != "signature"}, sort_keys=True).encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
