"""Cache exported models, signed, in a folder next to the model bundle (saved model) that they come from.

The exports of a bundle at `X`, a folder or a zip archive, are verified folders `X.exports/<kind>-<precision>/`. Their
`export.json` states the bundle, lists the files, and is signed with the key of the user (`export_signing`). The parsers
of CTranslate2 and ONNX Runtime are not safe for untrusted files, and the author of an export controls the translations;
therefore only exports made by the user are used. Any other, damaged, or outdated export is created again. If the folder
is not writable, or there is no key, exports are in a temporary folder until the process ends.

    export = cached_export(bundle, "onnx", "int8", make, format_number=1, packages=("onnx", "onnxruntime"))
    engine = load(export.files)  # the verified bytes, even if the folder changes later
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

from dragoman.bundle import Bundle
from dragoman.bundle.verified_folder import recover, verify, write_verified
from dragoman.engines.export_signing import signature, user_key, verify_signature
from dragoman.errors import BundleError, ConfigError
from dragoman.files import BINARY, NO_LINKS, NON_BLOCKING, file_lock, write_json
from dragoman.version import __version__

Kind = Literal["ctranslate2", "onnx"]
Precision = Literal["float32", "int8"]
Make = Callable[[Path], None]
"""Writes the files of an export to an existing empty folder."""

_FACTS = "export.json"
_MAX_BYTES: dict[str, dict[str, int]] = {
    "ctranslate2": {
        _FACTS: 1 << 16,
        "model.bin": 1 << 38,
        "config.json": 1 << 16,
        **dict.fromkeys((f"{side}_vocabulary.json" for side in ("shared", "source", "target")), 1 << 26),
    },
    "onnx": {
        _FACTS: 1 << 16,
        **dict.fromkeys(
            (f"{name}.onnx" for name in ("reader", "writer", "output", "shortlist", "projection")), 1 << 31
        ),
    },
}
"""The allowed file names of each kind, with their maximum sizes."""
_POLL_SECONDS = 0.05  # while another process creates the export

_temporary: dict[tuple[str, str, str, int], Path] = {}
_temporary_lock = threading.Lock()
_process_key = secrets.token_bytes(32)
"""Signs temporary exports, which only this process uses."""


@dataclass(frozen=True)
class Export:
    """Exported files by name, as verified or created.

    `note` is a message with their folder and, for new files, the reason.
    """

    folder: Path
    files: Mapping[str, bytes]
    note: str
    is_new: bool


@dataclass(frozen=True)
class _ExportInfo:
    """Source, kind and format of an export."""

    kind: Kind
    precision: str
    format_number: int
    bundle: str
    packages: Sequence[str] = ()

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.bundle, self.kind, self.precision, self.format_number

    def written(self, files: Mapping[str, bytes], key: bytes) -> dict[str, Any]:
        """The content of `export.json`."""
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
        """Why an existing export cannot be used; None if it can. The signature is checked first."""
        if not isinstance(found, dict):
            return "the existing export was invalid: it has no description"
        if not verify_signature(_message(found), found.get("signature"), key):
            return "the existing export was invalid: it is not signed with your key"
        if found.get("bundle") != self.bundle:
            return "the model changed"
        if (found.get("kind"), found.get("precision")) != (self.kind, self.precision):
            return "the existing export was invalid: it is of another kind or precision"
        return None if found.get("format") == self.format_number else "the existing export was of another format"


def export_folder(bundle: Bundle, kind: Kind, precision: str) -> Path:
    """The folder for the export of a bundle, existing or not."""
    path = bundle.path.resolve()
    return path.with_name(f"{path.name}.exports") / f"{kind}-{precision}"


def cached_export(
    bundle: Bundle, kind: Kind, precision: str, make: Make, *, format_number: int = 1, packages: Sequence[str] = ()
) -> Export:
    """The export of a bundle, from the cache if valid, otherwise created; concurrent processes create it once.

    `format_number` increases whenever the output of `make` changes. The versions of `packages` are recorded.
    """
    facts = _ExportInfo(kind, precision, format_number, bundle.digest, packages)
    folder = export_folder(bundle, kind, precision)
    try:
        key = user_key()
    except (ConfigError, OSError) as error:
        return _create_temporary(facts, make, f"without a key no existing export is trusted: {error}")
    export, fault = _find(folder, facts, key)
    if export is not None:
        return export
    try:
        folder.parent.mkdir(exist_ok=True)
        return _create_once(folder, facts, make, key)
    except OSError as error:
        reason = f"{folder.parent} cannot be written to ({error.strerror or error})"
        return _create_temporary(facts, make, f"{fault}; {reason}")


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
    """Write an export to a given folder: a new or empty one, or an earlier export."""
    for path in (folder, folder.with_name(f"{folder.name}.tmp"), folder.with_name(f"{folder.name}.old")):
        if os.path.lexists(path) and not _is_replaceable(path):
            raise BundleError(
                f"{path} must be an empty folder, an export, or not exist, got other files, which would be lost; "
                "name another folder"
            )
    try:
        key = user_key()
    except (ConfigError, OSError):  # then only other tools can use it
        key = _process_key
    return _create(folder, _ExportInfo(kind, precision, format_number, bundle.digest, packages), make, key, "requested")


def _is_replaceable(path: Path) -> bool:
    """Whether a folder is empty or an export."""
    try:
        if path.is_dir() and not any(path.iterdir()):
            return True
        found = verify(path)["files"].keys()
        return any(most.keys() >= found >= {_FACTS} for most in _MAX_BYTES.values())
    except (BundleError, OSError):
        return False


def _find(folder: Path, facts: _ExportInfo, key: bytes) -> tuple[Export | None, str]:
    """The valid export in a folder, or the reason why there is none."""
    if not os.path.lexists(folder):
        return None, "no export existed"
    try:
        sizes = _sizes(folder, facts.kind)
        written = json.loads(_read(folder / _FACTS, sizes.pop(_FACTS)))
        if fault := facts.fault(written, key):
            return None, fault
        files = {name: _read(folder / name, size) for name, size in sizes.items()}
        if {name: _sha256(data) for name, data in files.items()} != written.get("files"):
            return None, f"the existing export was damaged: {folder} must hold the files listed in {_FACTS}, got others"
    except (BundleError, OSError, ValueError, RecursionError) as error:
        return None, f"the existing export was damaged: {error}"
    return Export(folder, files, f"{facts.kind} {facts.precision} export in {folder}", False), ""


def _sizes(folder: Path, kind: Kind) -> dict[str, int]:
    """The sizes of the files in a folder; any unexpected file is an error."""
    most = _MAX_BYTES[kind]
    sizes = {
        name: facts["size"]
        for name, facts in verify(folder, allowed=most.__contains__, hash_files=False)["files"].items()
    }
    for name, size in sizes.items():
        if size > most[name]:
            raise BundleError(f"{folder / name} must have at most {most[name]:,} bytes, got {size:,}")
    if _FACTS not in sizes:
        raise BundleError(f"{folder / _FACTS} must exist, got no such file")
    return sizes


def _read(path: Path, size: int) -> bytes:
    """Read a regular file of a known size; do not follow links and do not block on pipes."""
    with os.fdopen(os.open(path, os.O_RDONLY | NO_LINKS | NON_BLOCKING | BINARY), "rb") as file:
        data = file.read(size + 1)
    if len(data) != size:
        raise BundleError(f"{path} must have {size:,} bytes, got another number")
    return data


def _create_once(folder: Path, facts: _ExportInfo, make: Make, key: bytes) -> Export:
    """Create an export, or wait for the process or thread that is creating it."""
    lock = folder.with_name(f"{folder.name}.lock")
    _check_writable(folder.parent, lock)
    while True:
        with file_lock(lock) as is_ours:
            if is_ours:
                recover(folder)
                export, fault = _find(folder, facts, key)
                return export or _create(folder, facts, make, key, fault)
        time.sleep(_POLL_SECONDS)


def _check_writable(parent: Path, lock: Path) -> None:
    """Raise if writing would follow a link: these names may come with an untrusted bundle."""
    if parent.is_symlink():
        raise OSError(errno.ELOOP, "it is a link")
    if os.path.lexists(lock) and not stat.S_ISREG(lock.lstat().st_mode):
        raise OSError(errno.ELOOP, f"{lock.name} is not a file")


def _create(folder: Path, facts: _ExportInfo, make: Make, key: bytes, reason: str) -> Export:
    files = _new_files(facts.kind, make)
    with write_verified(folder) as draft:
        for name, data in files.items():
            (draft / name).write_bytes(data)
        write_json(draft / _FACTS, facts.written(files, key))
    return Export(folder, files, f"{facts.kind} {facts.precision} export created in {folder} ({reason})", True)


def _new_files(kind: Kind, make: Make) -> dict[str, bytes]:
    """Create files in a private folder, so that the signed and loaded content is the created content."""
    with tempfile.TemporaryDirectory(prefix="dragoman-export-") as private:
        make(Path(private))
        files = {path.name: path.read_bytes() for path in sorted(Path(private).iterdir())}
    assert files.keys() <= _MAX_BYTES[kind].keys() - {_FACTS}, files.keys()
    return files


def _create_temporary(facts: _ExportInfo, make: Make, reason: str) -> Export:
    with _temporary_lock:
        if facts.key in _temporary:
            export, _ = _find(_temporary[facts.key], facts, _process_key)
            if export is not None:
                return export
        parent = Path(tempfile.mkdtemp(prefix="dragoman-export-"))
        atexit.register(_remove, parent, os.getpid())
        export = _create(parent / f"{facts.kind}-{facts.precision}", facts, make, _process_key, reason)
        _temporary[facts.key] = export.folder
        return export


def _remove(folder: Path, process: int) -> None:
    """Remove a temporary folder, unless this is a forked process that does not own it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _message(facts: Mapping[str, Any]) -> bytes:
    """The signed message: `export.json` without the signature, in a canonical form."""
    return json.dumps({name: value for name, value in facts.items() if name != "signature"}, sort_keys=True).encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
