"""Change the model store: one process at a time, and nothing is found there before it is complete."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.bundle.model_store import (
    ENTRY,
    MAX_ENTRY_BYTES,
    USED,
    ModelEntry,
    ModelStore,
    StoredFile,
    StoredVersion,
    stored_version,
)
from dragoman.bundle.verified_folder import remove_folder, swap_folders
from dragoman.errors import BundleError, ConfigError, did_you_mean
from dragoman.files import atomic_write, file_lock, remove_temporary_files, sha256_of_file, write_json

# Only what has such a name is removed: the folder may hold other files of its user.
_VERSION_FOLDER = re.compile(r".+-[0-9a-f]{8}(\.tmp)?")
_KEPT_FILE = re.compile(r"[0-9a-f]{64}(\.[0-9a-f]+\.tmp)?")

_POLL = 0.2  # seconds
_KEPT_VERSIONS = 2  # the current one and the one before


@contextmanager
def locked(store: ModelStore, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Lock the store, and remove what a killed process left; wait for another process, after a call of `on_wait`."""
    try:
        store.files.mkdir(parents=True, exist_ok=True)
        store.models.mkdir(exist_ok=True)
    except OSError as error:
        raise BundleError(
            f"{store.folder} cannot be written: {error.strerror}; set DRAGOMAN_MODELS to a folder that can"
        ) from None
    is_told = False
    while True:
        with file_lock(store.folder / ".lock") as is_held:
            if is_held:
                _remove_leftovers(store)
                yield
                return
        if not is_told:
            on_wait()
        is_told = True
        time.sleep(_POLL)


def drafts_folder(store: ModelStore) -> Path:
    """The folder of bundles that are being written; it is emptied by the next process that locks the store."""
    return store.folder / ".drafts"


def downloads_folder(store: ModelStore, key: str, name: str) -> Path:
    """The folder of an unfinished download, which is continued."""
    folder = store.folder / ".downloads" / key / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def keep_file(store: ModelStore, path: Path) -> StoredFile:
    """Keep a downloaded file by its content."""
    digest = sha256_of_file(path)
    kept = store.files / digest
    if not kept.is_file() or sha256_of_file(kept) != digest:
        with atomic_write(kept) as draft:
            link_or_copy(path, draft)
    return StoredFile(name=path.name, size=kept.stat().st_size, sha256=digest)


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name; copy it where the file system has no hard links."""
    with suppress(OSError):
        os.link(source.resolve(), target)
        return
    shutil.copyfile(source, target)


def install(store: ModelStore, bundle: Path, entry: ModelEntry) -> None:
    """Move a bundle to its place, as the current version of an entry, and write the entry."""
    folder = store.bundle(entry)
    folder.parent.mkdir(exist_ok=True)
    if not folder.exists() or not swap_folders(bundle, folder):
        if folder.exists():
            remove_folder(folder)
        bundle.rename(folder)
    write_entry(store, entry)


def write_entry(store: ModelStore, entry: ModelEntry) -> None:
    """Write an entry, and remove the versions that it does not have."""
    folder = store.models / entry.name
    size = len(json.dumps(entry.model_dump(), indent=1).encode())
    if size > MAX_ENTRY_BYTES:
        raise BundleError(
            f"the entry of {entry.name} must have at most {MAX_ENTRY_BYTES:,} bytes, got {size:,}; name another catalog"
        )
    folder.mkdir(exist_ok=True)
    write_json(folder / ENTRY, entry.model_dump())
    _remove_versions(folder, {each.folder for each in entry.versions})


@contextmanager
def changed_in_place(bundle: Path) -> Iterator[None]:
    """Record the new digest of a stored bundle that the block changes; of other bundles nothing is recorded."""
    old = stored_version(bundle)
    if old is None:
        yield
        return
    store = ModelStore(bundle.parent.parent.parent)
    with locked(store):
        yield
        entry, new = store.read(bundle.parent.name), old.model_copy(update={"digest": Bundle.open(bundle).digest})
        versions = tuple(new if each.folder == new.folder else each for each in entry.versions)
        write_entry(store, entry.model_copy(update={"versions": versions}))


def with_version(entry: ModelEntry | None, new: ModelEntry) -> ModelEntry:
    """Return the new entry with its version before those of the old one, of which the last in use is kept."""
    older = [] if entry is None else [each for each in entry.versions if each.folder != new.current.folder]
    return new.model_copy(update={"versions": (new.current, *older)[:_KEPT_VERSIONS]})


def remove(store: ModelStore, name: str) -> None:
    """Remove a model, and the files that no other one has; a model that a route needs is kept, with an error."""
    folder = store.models / check_name(store, name)
    with locked(store):
        needing = [each.name for each in readable_entries(store) if name in each.route]
        if needing:
            raise ConfigError(f"{name} is kept as long as the store has the route {needing[0]}, which needs it")
        (folder / ENTRY).unlink(missing_ok=True)  # first: a partly removed model is not found
        _remove_model_folder(folder)
        remove_unused_files(store)


def swap_versions(store: ModelStore, name: str) -> ModelEntry:
    """Return to the previous version of a model."""
    check_name(store, name)
    with locked(store):
        entry = store.read(name)
        if len(entry.versions) < 2:
            raise ConfigError(f"{name} has no previous version; dragoman models shows what is stored")
        entry = entry.model_copy(update={"versions": entry.versions[::-1]})
        Bundle.open(store.bundle(entry), verify_again=True)
        write_entry(store, entry)
    return entry


def verify(store: ModelStore, name: str) -> ModelEntry:
    """Hash all files and bundles of a model again; raise a `BundleError` for any difference."""
    check_name(store, name)
    entry = store.read(name)
    for leg in store.legs(entry):
        verify(store, leg.name)
    fix = f"dragoman models update {name} gets it again"
    for version in entry.versions:
        for file in version.files:
            path = store.files / file.sha256
            if not path.is_file() or sha256_of_file(path) != file.sha256:
                what = "has other content than its name states" if path.is_file() else "is missing"
                raise BundleError(f"{path}, {file.name} of {name}, {what}; {fix}")
        try:
            bundle = Bundle.open(store.bundle(entry, version), verify_again=True)
        except BundleError as error:
            raise BundleError(f"{error}; {fix}") from None
        if bundle.digest != version.digest:
            raise BundleError(f"{bundle.folder} is another bundle than that of {name}; {fix}")
    return entry


def check_name(store: ModelStore, name: str) -> str:
    """Return the name of a stored model; raise a `ConfigError` for others."""
    names = store.names()
    if name not in names:
        near = did_you_mean(name, names, otherwise="the store has") or "; dragoman get adds models"
        raise ConfigError(f"{name} is not in the model store{near}")
    return name


def check_place(store: ModelStore, name: str) -> None:
    """Raise a `ConfigError` if the folder of a model without entry is one of the user."""
    folder = store.models / name
    if folder.exists() and not (folder / ENTRY).is_file():
        raise ConfigError(f"{folder} is not of the model store; rename it, or set DRAGOMAN_MODELS to another folder")


def remove_unused_files(store: ModelStore) -> None:
    """Remove the downloads that no model has. Called with the lock."""
    kept = {file.sha256 for entry in readable_entries(store) for each in entry.versions for file in each.files}
    if len(readable_entries(store)) < len(store.names()):
        return  # a damaged entry does not list its files
    for path in store.files.iterdir():
        if path.name not in kept and _KEPT_FILE.fullmatch(path.name):
            path.unlink()
    shutil.rmtree(store.folder / ".downloads", ignore_errors=True)


def readable_entries(store: ModelStore) -> list[ModelEntry]:
    """Return the entries that are not damaged."""
    found = []
    for name in store.names():
        with suppress(BundleError):
            found.append(store.read(name))
    return found


def _remove_leftovers(store: ModelStore) -> None:
    """Remove drafts, and bundles without an entry: of a process that was killed between the two."""
    shutil.rmtree(drafts_folder(store), ignore_errors=True)
    drafts_folder(store).mkdir(exist_ok=True)
    for folder in store.models.iterdir():
        if not (folder / ENTRY).is_file():
            _remove_model_folder(folder)
    for entry in readable_entries(store):
        _remove_versions(store.models / entry.name, {each.folder for each in entry.versions})


def _remove_model_folder(folder: Path) -> None:
    """Remove the folder of a model without entry; it stays if it has other files."""
    with suppress(OSError):  # no folder, or not empty
        _remove_versions(folder, ())
        remove_temporary_files(folder / ENTRY)
        if [each.name for each in folder.iterdir()] == [USED]:
            (folder / USED).unlink()
        folder.rmdir()


def _remove_versions(folder: Path, kept: Collection[str]) -> None:
    for each in folder.iterdir():
        if _VERSION_FOLDER.fullmatch(each.name) and each.name not in kept:
            shutil.rmtree(each, ignore_errors=True)  # which does not follow links


def size_on_disk(store: ModelStore, entry: ModelEntry, version: StoredVersion) -> int:
    """Bytes of a version: its bundle and its downloads."""
    bundle = store.bundle(entry, version)
    return sum(each.stat().st_size for each in bundle.iterdir()) + sum(file.size for file in version.files)
