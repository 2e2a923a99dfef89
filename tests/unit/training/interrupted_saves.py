"""Stop a save at every file system operation, each time in a separate process, and check the result.

Run as a script: the folder to work in, then `new`, `replace` or `replace-aside` (where folders cannot change places),
and `verified` or, as the control that must fail, `careless`. Prints one JSON list: for each stop, what was about to
happen, and the update of the checkpoint that could be loaded.
"""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from dragoman.config import load_config
from dragoman.training.checkpoint import CheckpointStore

VERIFIED_FOLDER: Any = sys.modules["dragoman.bundle.verified_folder"]
CHECKPOINT: Any = sys.modules["dragoman.training.checkpoint"]
SAFETENSORS: Any = sys.modules["safetensors.torch"]
CONFIG = load_config("luong2015-desk")
AUDITED = {"open", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
STOPPED = 9


def save(folder: Path, update: int, value: float) -> None:
    tensors = {"w": torch.full((8, 8), value)}
    state = {"value": value}
    CheckpointStore(folder).save(
        update, weights=tensors, optimizer=tensors, average=tensors, state=state, config=CONFIG
    )


def loadable(folder: Path) -> tuple[int, float] | None:
    found = CheckpointStore(folder).latest(lambda text: None)
    if found is None:
        return None
    average = found.average()
    assert average is not None
    tensors = [found.weights(), found.optimizer(), average]
    values = {float(value) for table in tensors for value in table["w"].flatten()}
    assert values == {found.state["value"]}
    return found.update, found.state["value"]


class Stop:
    """Counts operations, and ends the process, without any clearing up, before the n-th."""

    def __init__(self, number: int, told: Path) -> None:
        self.left = number
        self.told = os.open(told, os.O_WRONLY | os.O_CREAT)

    def before(self, what: str) -> None:
        if self.left == 0:
            os.write(self.told, what.encode())
            os._exit(STOPPED)
        self.left -= 1

    def install(self) -> None:
        sys.addaudithook(lambda event, args: self.before(f"{event} {args[0]}") if event in AUDITED else None)
        os.fsync = self.around("fsync", os.fsync)
        VERIFIED_FOLDER.swap_folders = self.around("exchange", VERIFIED_FOLDER.swap_folders)
        for name in ("write_bytes", "write_text"):
            setattr(Path, name, self.in_halves(getattr(Path, name)))
        SAFETENSORS.serialize_file = self.torn(SAFETENSORS.serialize_file)

    def around(self, what: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def stoppable(*args: Any, **settings: Any) -> Any:
            self.before(what)
            result = do(*args, **settings)
            self.before(f"after {what}")
            return result

        return stoppable

    def in_halves(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def stoppable(path: Path, data: Any, **settings: Any) -> Any:
            write(path, data[: len(data) // 2], **settings)
            self.before(f"write the rest of {path.name}")
            return write(path, data, **settings)

        return stoppable

    def torn(self, serialize: Callable[..., Any]) -> Callable[..., Any]:
        def stoppable(tensors: Any, path: Path, **settings: Any) -> None:
            self.before(f"write {path.name}")
            serialize(tensors, path, **settings)
            size = path.stat().st_size
            os.truncate(path, size // 2)
            self.before(f"write the rest of {path.name}")
            serialize(tensors, path, **settings)

        return stoppable


@contextlib.contextmanager
def careless(folder: Path) -> Iterator[Path]:
    """How most programs save: into the place itself."""
    folder.mkdir(exist_ok=True, parents=True)
    yield folder
    (folder / VERIFIED_FOLDER.MANIFEST).unlink(missing_ok=True)
    VERIFIED_FOLDER._write_manifest(folder)


def one_stop(folder: Path, number: int, mode: str) -> tuple[str, bool]:
    """Make the old checkpoint, and stop while the next one is saved."""
    shutil.rmtree(folder, ignore_errors=True)
    save(folder, 40 if mode.startswith("replace") else 20, 1.0)
    told = folder.with_name("told")
    told.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        Stop(number, told).install()
        save(folder, 40, 2.0)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, STOPPED), code
    return told.read_text(encoding="utf-8"), code == 0


def main(work: Path, mode: str, how: str) -> None:
    if how == "careless":
        CHECKPOINT.write_verified = careless
    if mode == "replace-aside":
        VERIFIED_FOLDER.swap_folders = lambda one, other: False
    folder, finished = work / "checkpoints", False
    stops: list[tuple[str, tuple[int, float] | None]] = []
    while not finished:
        what, finished = one_stop(folder, len(stops), mode)
        stops.append((what, loadable(folder)))
        if how == "verified":  # leftovers must not block a later save, and are removed
            save(folder, 60, 3.0)
            CheckpointStore(folder).prune(keep_last=1, keep=())
            assert [path.name for path in folder.iterdir()] == ["step_60"], list(folder.iterdir())
            assert loadable(folder) == (60, 3.0)
    print(json.dumps(stops))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
