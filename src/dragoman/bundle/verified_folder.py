"""Write folders atomically, with a list of file hashes that reveals later changes; for models and checkpoints.

Files are written to `<name>.tmp` and flushed to the disk. `manifest.json`, with the size and the SHA-256 of each file,
is written last, and then the folder is renamed. A crash at any moment leaves the old folder, the new one or both.

A *seal* in the cache folder of the user records that a folder was checked, with size, inode and times of its files, so
that unchanged files are not hashed at every start (docs/decisions/0010).
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dragoman.errors import BundleError
from dragoman.files import cache_folder, check_private, fsync, sha256_of_file, write_json
from dragoman.run_files import BUNDLE, CHECKPOINT_STATE, CHECKPOINTS, RECORD
from dragoman.version import __version__

MANIFEST = "manifest.json"

VERSION = 2
"""The format version that is written; it covers the manifest and the files of bundles and checkpoints."""

_FORMAT = "dragoman-verified-folder"
_MAX_BYTES = 1 << 16  # of a manifest
_MAX_FILES = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_AT_FDCWD = -100  # of renameat2: paths are relative to the working directory
_RENAME_EXCHANGE = 2
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}
_SETTLED_NS = 2_000_000_000  # age of files of which a later change certainly changes a time of the file system
_SEAL_SECONDS = 30 * 24 * 3600  # then everything is hashed again
_FIX = "it is damaged or still being written: wait, copy it again, or use another one"


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
    """Compare a folder with its manifest, types and sizes first, and return it; `allowed` tests file names."""
    sizes = _regular_files(folder)
    manifest = _read_manifest(folder, sizes)
    names = {MANIFEST, *manifest["files"]}
    for name in sorted(names | set(sizes)):
        if allowed is not None and name != MANIFEST and not allowed(name):
            raise BundleError(f"{folder} has the file {_shown(name)}, which does not belong there; {_FIX}")
        if name not in sizes:
            raise BundleError(f"{folder / name} is missing; {_FIX}")
        if name not in names:
            raise BundleError(f"{folder} has the file {_shown(name)}, which its manifest does not list; {_FIX}")
    for name, facts in manifest["files"].items():
        if sizes[name] != facts["size"]:
            raise BundleError(f"{folder / name} has {sizes[name]:,} bytes instead of {facts['size']:,}; {_FIX}")
    if hash_files:
        check_hashes(folder, manifest)
    return manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a folder, but not the files that it lists."""
    return _read_manifest(folder, _regular_files(folder))


def check_hashes(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Compare the SHA-256 of every file with the manifest."""
    for name, facts in manifest["files"].items():
        try:
            found = sha256_of_file(folder / name)
        except OSError as error:
            raise BundleError(f"{folder / name} cannot be read: {error.strerror}; {_FIX}") from None
        if found != facts["sha256"]:
            raise BundleError(f"{folder / name} has other content than its manifest states; {_FIX}")


FileFacts = Mapping[str, Sequence[int]]
"""Size, device, inode, and the times of modification and change, by file name."""


def file_facts(folder: Path, manifest: Mapping[str, Any]) -> FileFacts:
    """What a change of a listed file or of the manifest changes too. Read it before the files are checked."""
    found = {}
    for name in (MANIFEST, *manifest["files"]):
        facts = (folder / name).lstat()
        found[name] = [facts.st_size, facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns]
    return found


def is_sealed(folder: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether this version of Dragoman checked this folder in the last 30 days, and no file changed since."""
    try:
        path = _seal_path(folder)
        check_private(path.parent)
        if path.stat().st_mtime < time.time() - _SEAL_SECONDS:
            return False
        return bool(json.loads(path.read_bytes()) == _seal(manifest, file_facts(folder, manifest)))
    except (OSError, ValueError, RecursionError):
        return False


def seal(folder: Path, manifest: Mapping[str, Any], before: FileFacts) -> None:
    """Record that a folder was checked; `before` are its `file_facts` from before the check.

    Files that changed in the last seconds are not sealed: another change could leave their times the same. Without a
    private cache folder nothing is recorded.
    """
    newest = max(time_ns for facts in before.values() for time_ns in facts[3:])
    with suppress(OSError):
        if time.time_ns() - newest < _SETTLED_NS or file_facts(folder, manifest) != before:
            return
        path = _seal_path(folder)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_private(path.parent)
        for each in path.parent.iterdir():
            if each.stat().st_mtime < time.time() - _SEAL_SECONDS:
                each.unlink(missing_ok=True)
        write_json(path, _seal(manifest, before), is_private=True)


def _seal(manifest: Mapping[str, Any], facts: FileFacts) -> dict[str, Any]:
    return {"digest": manifest_digest(manifest), "dragoman": __version__, "files": facts}


def _seal_path(folder: Path) -> Path:
    key = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]
    return cache_folder() / "seals" / f"{key}.json"


def explain_checkpoint(path: Path) -> str:
    """Return which path to name instead of a checkpoint, or of a folder of checkpoints; empty for other paths."""
    is_one = (path / CHECKPOINT_STATE).is_file() and (path / MANIFEST).is_file()
    if not is_one and (path.name != CHECKPOINTS or not path.is_dir()):
        return ""
    got = "a checkpoint" if is_one else "a folder of checkpoints"
    run = next((each for each in path.parents[:2] if (each / RECORD).is_file() or (each / BUNDLE).is_dir()), None)
    if run is None:
        return f"{path} is {got} without its run; name the run, or the bundle that training wrote"
    return f"{path} is {got}; name its run: {run}"


def manifest_digest(manifest: Mapping[str, Any]) -> str:
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
    (draft / MANIFEST).write_bytes(_serialized({"format": _FORMAT, "version": VERSION, "files": files}))
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


def swap_folders(one: Path, other: Path) -> bool:
    """Exchange two folders in one atomic operation; False if the system or the file system does not support it."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # Linux; not in the standard library
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    error = ctypes.get_errno()
    if error in _NO_EXCHANGE:
        return False
    raise OSError(error, os.strerror(error), str(other))


def _serialized(manifest: Mapping[str, Any]) -> bytes:
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
                    raise BundleError(f"{folder} has {_shown(entry.name)}, which is not a plain file; {_FIX}")
                sizes[entry.name] = facts.st_size
                if len(sizes) > _MAX_FILES:
                    raise BundleError(f"{folder} has more than {_MAX_FILES} files; {_FIX}")
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise BundleError(f"{folder} does not exist; check its name") from None
        raise BundleError(f"{folder} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return sizes


def _read_manifest(folder: Path, sizes: dict[str, int]) -> dict[str, Any]:
    path = folder / MANIFEST
    if MANIFEST not in sizes:
        raise BundleError(f"{folder} is no bundle or checkpoint, or not a complete one: it has no {MANIFEST}")
    if sizes[MANIFEST] > _MAX_BYTES:
        raise BundleError(f"{path} must have at most {_MAX_BYTES:,} bytes, got {sizes[MANIFEST]:,}; {_FIX}")
    try:
        data = path.read_bytes()
        manifest = json.loads(data)
        canonical = _serialized(manifest)
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror}; check its permissions") from None
    except (ValueError, TypeError, RecursionError):
        raise BundleError(f"{path} is not JSON; {_FIX}") from None
    if fault := _fault(manifest):
        raise BundleError(f"{path} must {fault}; {_FIX}")
    if canonical != data:
        raise BundleError(f"{path} was changed after it was written; {_FIX}")
    return dict(manifest)


def _fault(manifest: Any) -> str | None:
    """The rule of the schema that a manifest violates, if any."""
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        return f"be of the format {_FORMAT}"
    if type(manifest.get("version")) is not int or manifest["version"] != VERSION:
        return f"be of version {VERSION}, got {_shown(manifest.get('version'))}"
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
