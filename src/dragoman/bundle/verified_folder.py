"""Write folders atomically, with a list of file hashes that reveals later changes; for models and checkpoints.

Files are written to `<name>.tmp` and flushed to the disk. `manifest.json`, with the size and the SHA-256 of each file,
is written last, and then the folder is renamed. A crash at any moment leaves the old folder, the new one or both.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.bundle.atomic_swap import swap_folders
from dragoman.errors import BundleError
from dragoman.files import fsync, sha256_of_file

MANIFEST = "manifest.json"

VERSION = 2
"""The format version that is written; it covers the manifest and the files of bundles and checkpoints."""

_FORMATS = {1: "dragoman-sealed", 2: "dragoman-verified-folder"}  # by version; all can be read
_MAX_BYTES = 1 << 16  # of a manifest
_MAX_FILES = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FIX = "restore it from its source, or use another one"


@contextmanager
def write_verified(folder: Path) -> Iterator[Path]:
    """Write the files of a folder atomically: yield a temporary folder, which replaces `folder` if no error occurs."""
    remove_leftovers(folder)
    draft = _temporary(folder)
    draft.mkdir(parents=True)
    try:
        yield draft
        _write_manifest(draft)
        _replace(draft, folder)
    finally:
        _remove(draft)  # a failed draft, or the folder that was replaced


def recover(folder: Path) -> None:
    """Undo an interrupted replacement on a system without atomic swaps."""
    previous = _previous(folder)
    if previous.is_dir() and not folder.exists():
        previous.rename(folder)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary folders of an interrupted write. Only the writer of `folder` may call this."""
    recover(folder)
    _remove(_previous(folder))
    _remove(_temporary(folder))


def remove_folder(folder: Path) -> None:
    """Remove a folder. It is renamed first, so that a partly removed folder is never found under its name."""
    draft = _temporary(folder)
    _remove(draft)
    folder.rename(draft)
    _remove(draft)


def verify(folder: Path, *, allowed: Callable[[str], bool] | None = None, hash_files: bool = True) -> dict[str, Any]:
    """Compare a folder with its manifest and return the manifest; raise a `BundleError` for any difference.

    `allowed` tests file names. No file is read before its type and size are checked.
    """
    sizes = _regular_files(folder)
    manifest = _read_manifest(folder, sizes)
    names = {MANIFEST, *manifest["files"]}
    for name in sorted(names | set(sizes)):
        if allowed is not None and name != MANIFEST and not allowed(name):
            raise BundleError(f"{folder} must hold only expected files, got {_shown(name)}; {_FIX}")
        if name not in sizes:
            raise BundleError(f"{folder / name} must exist, got no such file; {_FIX}")
        if name not in names:
            raise BundleError(f"{folder} must hold what its manifest lists, got {_shown(name)} as well; {_FIX}")
    for name, facts in manifest["files"].items():
        if sizes[name] != facts["size"]:
            raise BundleError(f"{folder / name} must have {facts['size']:,} bytes, got {sizes[name]:,}; {_FIX}")
    if hash_files:
        check_hashes(folder, manifest)
    return manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a folder, but not the files that it lists."""
    return _read_manifest(folder, _regular_files(folder))


def check_hashes(folder: Path, manifest: dict[str, Any]) -> None:
    """Compare the SHA-256 of every file with the manifest."""
    for name, facts in manifest["files"].items():
        try:
            found = sha256_of_file(folder / name)
        except OSError as error:
            raise BundleError(f"{folder / name} must be readable, got: {error.strerror}; {_FIX}") from None
        if found != facts["sha256"]:
            raise BundleError(f"{folder / name} must not be changed, got other content; {_FIX}")


def manifest_digest(manifest: dict[str, Any]) -> str:
    """The SHA-256 of a manifest. It depends on the content of every listed file."""
    return hashlib.sha256(_serialized(manifest)).hexdigest()


def _temporary(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.tmp")


def _previous(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.old")


def _remove(path: Path) -> None:
    """Remove a folder with its content, or a file, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write_manifest(draft: Path) -> None:
    """Flush every file, then write the manifest, then flush that and the folder."""
    files = {}
    for path in sorted(draft.iterdir()):
        assert _is_plain(path.name), path
        fsync(path)
        files[path.name] = {"size": path.stat().st_size, "sha256": sha256_of_file(path)}
    (draft / MANIFEST).write_bytes(_serialized({"format": _FORMATS[VERSION], "version": VERSION, "files": files}))
    fsync(draft / MANIFEST)
    fsync(draft)


def _replace(draft: Path, folder: Path) -> None:
    if not folder.exists():
        draft.rename(folder)
    elif not swap_folders(draft, folder):
        folder.rename(_previous(folder))
        draft.rename(folder)
    fsync(folder.parent)
    _remove(_previous(folder))


def _serialized(manifest: dict[str, Any]) -> bytes:
    """Serialize a manifest in a canonical form, so that any changed bit is detected."""
    return (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()


def _regular_files(folder: Path) -> dict[str, int]:
    """The sizes of the files of a folder by name; any other entry is an error."""
    sizes = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                facts = entry.stat(follow_symlinks=False)
                if not stat.S_ISREG(facts.st_mode):
                    raise BundleError(
                        f"{folder} must hold only files, got {_shown(entry.name)}, which is not a file; {_FIX}"
                    )
                sizes[entry.name] = facts.st_size
                if len(sizes) > _MAX_FILES:
                    raise BundleError(f"{folder} must hold at most {_MAX_FILES} files, got more; {_FIX}")
    except (OSError, ValueError) as error:
        got = getattr(error, "strerror", None) or error
        raise BundleError(f"{folder} must be a readable folder, got: {got}; check its name") from None
    return sizes


def _read_manifest(folder: Path, sizes: dict[str, int]) -> dict[str, Any]:
    path = folder / MANIFEST
    if MANIFEST not in sizes:
        raise BundleError(f"{path} must exist, got no such file; {folder} is not a complete bundle or checkpoint")
    if sizes[MANIFEST] > _MAX_BYTES:
        raise BundleError(f"{path} must have at most {_MAX_BYTES:,} bytes, got {sizes[MANIFEST]:,}; {_FIX}")
    try:
        data = path.read_bytes()
        manifest = json.loads(data)
        canonical = _serialized(manifest)
    except OSError as error:
        raise BundleError(f"{path} must be readable, got: {error.strerror}; check its permissions") from None
    except (ValueError, TypeError, RecursionError):
        raise BundleError(f"{path} must be JSON, got something else; {_FIX}") from None
    if fault := _fault(manifest):
        raise BundleError(f"{path} must {fault}; {_FIX}")
    if canonical != data:
        raise BundleError(f"{path} must not be changed, got other content; {_FIX}")
    return dict(manifest)


def _fault(manifest: Any) -> str | None:
    """The rule of the schema that a manifest violates, if any."""
    if not isinstance(manifest, dict) or manifest.get("format") not in _FORMATS.values():
        return f"be of the format {_FORMATS[VERSION]}, got another one"
    version = manifest.get("version")
    if type(version) is not int or _FORMATS.get(version) != manifest["format"]:
        return f"be of version {VERSION} or an earlier one, got {_shown(version)}"
    if set(manifest) != {"format", "version", "files"} or not isinstance(manifest["files"], dict):
        return f"hold format, version and files, got {_shown(sorted(manifest))}"
    faults = (_fault_of_entry(name, facts) for name, facts in manifest["files"].items())
    return next((fault for fault in faults if fault), None)


def _fault_of_entry(name: str, facts: Any) -> str | None:
    if not _is_plain(name) or name == MANIFEST:
        return f"list plain file names, got {_shown(name)}"
    if not isinstance(facts, dict) or set(facts) != {"size", "sha256"}:
        return f"give size and sha256 of {name}, got {_shown(facts)}"
    if type(facts["size"]) is not int or facts["size"] < 0:
        return f"give the size of {name} in bytes, got {_shown(facts['size'])}"
    if not isinstance(facts["sha256"], str) or not _SHA256.fullmatch(facts["sha256"]):
        return f"give the SHA-256 of {name}, got {_shown(facts['sha256'])}"
    return None


def _is_plain(name: str) -> bool:
    """Whether a name is a plain file name on every system."""
    return _NAME.fullmatch(name) is not None


def _shown(value: object) -> str:
    """Format an untrusted value: short and without control characters."""
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
