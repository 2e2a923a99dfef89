"""Copies of checkpoints in a folder or an object store, from which a run can be resumed on another machine.

The files of a checkpoint are copied first and its manifest, with their hashes, last: without a manifest there is no
copy. A copy that is replaced loses its manifest first.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fsspec.implementations.local import LocalFileSystem

from dragoman.bundle.verified_folder import MANIFEST, read_manifest, verify
from dragoman.data.readers.streams import open_file_system
from dragoman.errors import BundleError, ConfigError
from dragoman.files import file_lock, fsync, sha256_of_file
from dragoman.run_files import CHECKPOINTS, LOCK, PROJECT
from dragoman.training.callbacks.events import CallbackList
from dragoman.training.checkpoint import CheckpointStore

_MANIFEST_PATH = re.compile(rf"(?:.*/)?step_(0|[1-9]\d{{0,17}})/{re.escape(MANIFEST)}")
_MAX_MANIFEST = 1 << 16  # bytes


class CheckpointCopies:
    """Copies of the checkpoints of one run below a URL; `store` has the checkpoints on this machine."""

    def __init__(self, url: str, store: CheckpointStore) -> None:
        self.url = url.rstrip("/")
        self._store = store
        self._system, path = open_file_system(self.url)
        self._path = path.rstrip("/")
        self._own: set[int] = set()
        self.downloaded: list[int] = []
        """Updates of the checkpoints that were downloaded."""

    def open(self, run: Path, *, resume: bool) -> None:
        """Check that the copies belong to this run; with `resume`, download them if this machine has no checkpoint."""
        try:
            self._open(run, resume=resume)
        except (OSError, ValueError, NotImplementedError) as error:
            raise ConfigError(
                f"{self.url} cannot be read: {_first_line(error)}; check the address and the permissions"
            ) from None

    def _open(self, run: Path, *, resume: bool) -> None:
        there, here = self.steps(), self._store.steps()
        if there and not resume:
            raise ConfigError(
                f"{self.url} has checkpoints of another run, the newest step_{there[-1]}; resume it with --resume, or "
                "name another URL with --checkpoints"
            )
        if here:
            self._own = {step for step in there if step in here and self._is_same(step)}
            if there and not self._own:
                raise ConfigError(
                    f"{self.url} has the checkpoints of another run than {run}; name another URL with --checkpoints"
                )
        elif there:
            run.mkdir(parents=True, exist_ok=True)
            with file_lock(run / LOCK) as is_free:
                if not is_free:
                    raise ConfigError(f"another training is running in {run}; wait for it")
                for step in there:
                    self._download(step)
                if not (run / PROJECT).exists():  # it has the precision of the run
                    shutil.copyfile(run / CHECKPOINTS / f"step_{there[-1]}" / PROJECT, run / PROJECT)
            self._own, self.downloaded = set(there), there

    def steps(self) -> list[int]:
        """Return the updates of the complete copies, in ascending order."""
        self._system.invalidate_cache()
        try:
            paths = self._system.find(self._path)
        except FileNotFoundError:
            return []
        return sorted(int(found[1]) for path in paths if (found := _MANIFEST_PATH.fullmatch(path)))

    def update(self) -> None:
        """Copy the checkpoints of this machine that have no copy, then remove copies of those it has removed."""
        here, there = self._store.steps(), self.steps()
        for step in here:
            if step not in there or not self._is_same(step):
                self._upload(step, is_replaced=step in there)
            self._own.add(step)
        for step in sorted({*there} & self._own - {*here}):
            self._remove(step)
            self._own.discard(step)

    def _is_same(self, step: int) -> bool:
        """Whether the copy has the manifest, and so the content, of the checkpoint on this machine."""
        local = (self._store.folder / f"step_{step}" / MANIFEST).read_bytes()
        return bool(self._system.cat_file(self._name(step, MANIFEST)) == local)

    def _upload(self, step: int, *, is_replaced: bool) -> None:
        folder = self._store.folder / f"step_{step}"
        names = verify(folder)["files"]
        if is_replaced:
            self._system.rm_file(self._name(step, MANIFEST))
        for name in (*names, MANIFEST):
            self._put(folder / name, self._name(step, name))

    def _put(self, file: Path, target: str) -> None:
        if not isinstance(self._system, LocalFileSystem):
            self._system.put_file(str(file), target)
            return
        draft = Path(f"{target}.tmp")  # an object exists when it is complete; a file, before
        draft.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, draft)
        fsync(draft)
        draft.replace(target)

    def _remove(self, step: int) -> None:
        folder = f"{self._path}/step_{step}"
        self._system.rm_file(self._name(step, MANIFEST))
        self._system.rm(folder, recursive=True)

    def _download(self, step: int) -> None:
        folder = self._store.folder / f"step_{step}"
        draft = folder.with_name(f"{folder.name}.tmp")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        where = f"{self.url}/step_{step}"
        fix = f"remove {where} to continue from an older checkpoint"
        if self._system.size(self._name(step, MANIFEST)) > _MAX_MANIFEST:
            raise BundleError(f"{where}/{MANIFEST} has more than {_MAX_MANIFEST:,} bytes; {fix}")
        self._system.get_file(self._name(step, MANIFEST), str(draft / MANIFEST))
        try:
            files = read_manifest(draft)["files"]
        except BundleError:
            raise BundleError(f"{where}/{MANIFEST} is no manifest of a checkpoint; {fix}") from None
        for name, facts in files.items():
            try:
                if self._system.size(self._name(step, name)) == facts["size"]:
                    self._system.get_file(self._name(step, name), str(draft / name))
            except FileNotFoundError:
                raise BundleError(f"{where}/{name} is missing; {fix}") from None
            if not (draft / name).exists() or sha256_of_file(draft / name) != facts["sha256"]:
                raise BundleError(f"{where}/{name} has other content than its manifest states; {fix}")
            fsync(draft / name)
        draft.rename(folder)
        fsync(folder.parent)

    def _name(self, step: int, name: str) -> str:
        return f"{self._path}/step_{step}/{name}"


class CopyCheckpoints(CallbackList):
    """A callback that copies each checkpoint when it is on the disk; training waits for it.

    If the first copy fails, training ends; later failures are reported, and the next checkpoint is copied with those
    before it.
    """

    def __init__(self, copies: CheckpointCopies, report: Callable[[str], None]) -> None:
        super().__init__()
        self._copies, self._report = copies, report
        self._has_copied = False

    def on_checkpoint_end(self, update: int, folder: Path) -> None:
        try:
            self._copies.update()
        except (OSError, ValueError, NotImplementedError) as error:
            reason = _first_line(error)
            if not self._has_copied:
                raise ConfigError(
                    f"{self._copies.url} cannot be written: {reason}; check the address, the "
                    "credentials and the permissions"
                ) from None
            self._report(f"{folder.name} was not copied to {self._copies.url}: {reason}; the next one is tried again")
        else:
            self._has_copied = True


def _first_line(error: BaseException) -> Any:
    return str(error).strip().partition("\n")[0] or type(error).__name__
