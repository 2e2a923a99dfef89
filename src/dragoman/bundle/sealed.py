"""Folders that are whole and verified, or not there: what checkpoints and bundles are kept in.

Files are written into `<name>.tmp`, and flushed to the disk; `manifest.json`, with the size and the SHA-256 of each,
is written last; only then does the folder get its name. A crash at any moment leaves the old folder, the new one or
both, and whatever changes afterwards, if only one bit, no longer agrees with the manifest.
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

from dragoman.bundle.exchange import exchange
from dragoman.errors import BundleError
from dragoman.files import flush, sha256_of_file

__all__ = ["MANIFEST", "check_contents", "clear", "digest_of", "discard", "recover", "sealed", "verify"]

MANIFEST = "manifest.json"

_FORMAT = "dragoman-sealed"
_VERSION = 1
_MOST_BYTES = 1 << 16  # of a manifest
_MOST_FILES = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MEND = "restore it from where it came from, or use another one"


@contextmanager
def sealed(folder: Path) -> Iterator[Path]:
    """A folder to write files into; it becomes `folder`, whole, when the block ends well, and vanishes else."""
    clear(folder)
    draft = _draft_of(folder)
    draft.mkdir(parents=True)
    try:
        yield draft
        _seal(draft)
        _put_in_place(draft, folder)
    finally:
        _remove(draft)  # a draft that failed, or the folder that was replaced


def recover(folder: Path) -> None:
    """Undo a replacement that was cut short where two folders cannot change places in one step."""
    aside = _aside_of(folder)
    if aside.is_dir() and not folder.exists():
        aside.rename(folder)


def clear(folder: Path) -> None:
    """Remove what a writer that was cut short left beside `folder`; only for the one who writes there."""
    recover(folder)
    _remove(_aside_of(folder))
    _remove(_draft_of(folder))


def discard(folder: Path) -> None:
    """Remove a folder, its name first, so that at no moment half of it seems to be a whole."""
    draft = _draft_of(folder)
    _remove(draft)
    folder.rename(draft)
    _remove(draft)


def verify(folder: Path, *, allowed: Callable[[str], bool] | None = None, hash_files: bool = True) -> dict[str, Any]:
    """Compare a folder with its manifest and return the manifest; whatever is wrong is a `BundleError` that names it.

    `allowed` tells which names of files there may be at all. Nothing is read before its kind and its size are known.
    """
    sizes = _regular_files(folder)
    manifest = _read_manifest(folder, sizes)
    names = {MANIFEST, *manifest["files"]}
    for name in sorted(names | set(sizes)):
        if allowed is not None and name != MANIFEST and not allowed(name):
            raise BundleError(f"{folder} must hold nothing but what belongs there, got {_shown(name)}; remove it")
        if name not in sizes:
            raise BundleError(f"{folder / name} must be there, got no such file; {_MEND}")
        if name not in names:
            raise BundleError(f"{folder} must hold what its manifest lists, got {_shown(name)} as well; remove it")
    for name, facts in manifest["files"].items():
        if sizes[name] != facts["size"]:
            raise BundleError(f"{folder / name} must have {facts['size']:,} bytes, got {sizes[name]:,}; {_MEND}")
    if hash_files:
        check_contents(folder, manifest)
    return manifest


def check_contents(folder: Path, manifest: dict[str, Any]) -> None:
    """Compare the SHA-256 of every file with the manifest."""
    for name, facts in manifest["files"].items():
        try:
            found = sha256_of_file(folder / name)
        except OSError as error:
            raise BundleError(f"{folder / name} must be readable, got: {error.strerror}; {_MEND}") from None
        if found != facts["sha256"]:
            raise BundleError(f"{folder / name} must be as it was written, got other content; {_MEND}")


def digest_of(manifest: dict[str, Any]) -> str:
    """The SHA-256 of a manifest, and so of all that it lists."""
    return hashlib.sha256(_written(manifest)).hexdigest()


def _draft_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.tmp")


def _aside_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.old")


def _remove(path: Path) -> None:
    """Remove a folder with all that is in it, or a file; nothing where there is nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _seal(draft: Path) -> None:
    """Flush every file, then write the manifest, then flush that and the folder."""
    files = {}
    for path in sorted(draft.iterdir()):
        assert _is_plain(path.name), path
        flush(path)
        files[path.name] = {"size": path.stat().st_size, "sha256": sha256_of_file(path)}
    (draft / MANIFEST).write_bytes(_written({"format": _FORMAT, "version": _VERSION, "files": files}))
    flush(draft / MANIFEST)
    flush(draft)


def _put_in_place(draft: Path, folder: Path) -> None:
    if not folder.exists():
        draft.rename(folder)
    elif not exchange(draft, folder):
        folder.rename(_aside_of(folder))
        draft.rename(folder)
    flush(folder.parent)
    _remove(_aside_of(folder))


def _written(manifest: dict[str, Any]) -> bytes:
    """A manifest as it is written: always in the same way, so that no bit of it can change unnoticed."""
    return (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()


def _regular_files(folder: Path) -> dict[str, int]:
    """The names and sizes in a folder that holds nothing but files."""
    sizes = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                facts = entry.stat(follow_symlinks=False)
                if not stat.S_ISREG(facts.st_mode):
                    raise BundleError(
                        f"{folder} must hold nothing but files, got {_shown(entry.name)}, which is none; remove it"
                    )
                sizes[entry.name] = facts.st_size
                if len(sizes) > _MOST_FILES:
                    raise BundleError(f"{folder} must hold at most {_MOST_FILES} files, got more; remove the others")
    except (OSError, ValueError) as error:
        got = getattr(error, "strerror", None) or error
        raise BundleError(f"{folder} must be a folder that can be read, got: {got}; check its name") from None
    return sizes


def _read_manifest(folder: Path, sizes: dict[str, int]) -> dict[str, Any]:
    path = folder / MANIFEST
    if MANIFEST not in sizes:
        raise BundleError(f"{path} must be there, got no such file; {folder} is no whole bundle or checkpoint")
    if sizes[MANIFEST] > _MOST_BYTES:
        raise BundleError(f"{path} must have at most {_MOST_BYTES:,} bytes, got {sizes[MANIFEST]:,}; {_MEND}")
    try:
        data = path.read_bytes()
        manifest = json.loads(data)
        as_written = _written(manifest)
    except OSError as error:
        raise BundleError(f"{path} must be readable, got: {error.strerror}; check its permissions") from None
    except (ValueError, TypeError, RecursionError):
        raise BundleError(f"{path} must be JSON, got something else; {_MEND}") from None
    if fault := _fault(manifest):
        raise BundleError(f"{path} must {fault}; {_MEND}")
    if as_written != data:
        raise BundleError(f"{path} must be as it was written, got other content; {_MEND}")
    return dict(manifest)


def _fault(manifest: Any) -> str | None:
    """What a manifest must be and is not: a closed schema."""
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        return f"be of the format {_FORMAT}, got another one"
    if type(manifest.get("version")) is not int or manifest["version"] != _VERSION:
        return f"be of version {_VERSION}, the one this Dragoman knows, got {_shown(manifest.get('version'))}"
    if set(manifest) != {"format", "version", "files"} or not isinstance(manifest["files"], dict):
        return f"hold format, version and files, got {_shown(sorted(manifest))}"
    faults = (_fault_of_entry(name, facts) for name, facts in manifest["files"].items())
    return next((fault for fault in faults if fault), None)


def _fault_of_entry(name: str, facts: Any) -> str | None:
    if not _is_plain(name) or name == MANIFEST:
        return f"list plain names of files, got {_shown(name)}"
    if not isinstance(facts, dict) or set(facts) != {"size", "sha256"}:
        return f"give size and sha256 of {name}, got {_shown(facts)}"
    if type(facts["size"]) is not int or facts["size"] < 0:
        return f"give the size of {name} in bytes, got {_shown(facts['size'])}"
    if not isinstance(facts["sha256"], str) or not _SHA256.fullmatch(facts["sha256"]):
        return f"give the SHA-256 of {name}, got {_shown(facts['sha256'])}"
    return None


def _is_plain(name: str) -> bool:
    """Whether a name is that of a file in the folder itself, on every system."""
    return _NAME.fullmatch(name) is not None


def _shown(value: object) -> str:
    """A stranger's value, short and without control characters."""
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
