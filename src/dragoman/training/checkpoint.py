"""Checkpoints: all that a run needs to go on exactly where it was, in folders that are whole or not there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from dragoman.bundle.sealed import clear, discard, recover, sealed, verify
from dragoman.bundle.weights import disk_faults
from dragoman.config import Config, load_config, to_toml
from dragoman.errors import BundleError

__all__ = ["Checkpoint", "Checkpoints"]

_WEIGHTS = "weights.safetensors"
_OPTIMIZER = "optimizer.safetensors"
_AVERAGE = "average.safetensors"
_STATE = "state.json"
_CONFIG = "dragoman.toml"
_REQUIRED = {_WEIGHTS, _OPTIMIZER, _STATE, _CONFIG}
_FOLDER = re.compile(r"step_(0|[1-9]\d{0,17})")
_LEFTOVER = re.compile(rf"({_FOLDER.pattern})\.(tmp|old)")


@dataclass(frozen=True)
class Checkpoint:
    """One that was found and verified. `state` holds the plain values that were saved."""

    folder: Path
    update: int
    state: dict[str, Any]

    def weights(self) -> dict[str, Tensor]:
        """The weights by the names of the model's parameters."""
        return _read_tensors(self.folder / _WEIGHTS)

    def optimizer(self) -> dict[str, Tensor]:
        """The tensors of the optimizer, by `<name of the state>/<name of the parameter>`."""
        return _read_tensors(self.folder / _OPTIMIZER)

    def average(self) -> dict[str, Tensor] | None:
        """The moving average of the weights, where the run keeps one."""
        path = self.folder / _AVERAGE
        return _read_tensors(path) if path.exists() else None

    def config(self) -> Config:
        """The configuration that the run had."""
        return load_config(self.folder / _CONFIG)


class Checkpoints:
    """The checkpoints of one run, which alone writes them: `step_<update>` each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._damaged: set[int] = set()

    def save(
        self,
        update: int,
        *,
        weights: Mapping[str, Tensor],
        optimizer: Mapping[str, Tensor],
        average: Mapping[str, Tensor] | None,
        state: Mapping[str, Any],
        config: Config,
    ) -> Path:
        """Write a checkpoint and return its folder. A fault of the disk is an `OSError`; the others stay as they are.

        Tensors are contiguous, on the CPU, and share no storage; `state` holds what JSON can hold.
        """
        folder = self._of(update)
        with sealed(folder) as draft:
            _write_tensors(draft / _WEIGHTS, weights)
            _write_tensors(draft / _OPTIMIZER, optimizer)
            if average is not None:
                _write_tensors(draft / _AVERAGE, average)
            written = {"update": update, "state": dict(state)}
            (draft / _STATE).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
            (draft / _CONFIG).write_text(to_toml(config), encoding="utf-8")
        self._damaged.discard(update)
        return folder

    def latest(self, note: Callable[[str], None]) -> Checkpoint | None:
        """The newest one that is as it was written. One that is not is noted, passed over, and left where it is."""
        for found in self._leftovers():
            recover(found)
        steps = self.steps()
        while steps:
            update = steps.pop()
            try:
                return self.open(update)
            except BundleError as error:
                self._damaged.add(update)
                instead = f"going back to {self._of(steps[-1]).name}" if steps else "there is no older one"
                note(f"{self._of(update)} is damaged ({error}); {instead}")
        return None

    def open(self, update: int) -> Checkpoint:
        """One of them, verified."""
        folder = self._of(update)
        files = set(verify(folder, allowed={*_REQUIRED, _AVERAGE}.__contains__)["files"])
        if missing := _REQUIRED - files:
            raise BundleError(f"{folder} must hold {min(missing)}, got no such file; take another checkpoint")
        written = _read_state(folder / _STATE)
        if written["update"] != update:
            raise BundleError(
                f"{folder} must be the checkpoint of update {update}, got that of {written['update']}; rename it"
            )
        return Checkpoint(folder, update, written["state"])

    def steps(self) -> list[int]:
        """The updates that have a checkpoint, ascending, by the names of their folders only."""
        names = [path.name for path in self.folder.iterdir() if path.is_dir()] if self.folder.is_dir() else []
        return sorted(int(found[1]) for name in names if (found := _FOLDER.fullmatch(name)))

    def prune(self, *, keep_last: int, keep: Collection[int]) -> None:
        """Remove all but the newest `keep_last` and those in `keep`, and what a save that was cut short left.

        One that was found damaged counts as none of them, and stays for whoever wants to look at it.
        """
        for found in self._leftovers():
            clear(found)
        whole = [update for update in self.steps() if update not in self._damaged]
        newest = whole[-keep_last:] if keep_last else []
        for update in whole:
            if update not in newest and update not in keep:
                discard(self._of(update))

    def _of(self, update: int) -> Path:
        return self.folder / f"step_{update}"

    def _leftovers(self) -> list[Path]:
        """The folders whose drafts, or whose predecessors, are still there."""
        names = [path.name for path in self.folder.iterdir()] if self.folder.is_dir() else []
        return sorted({self.folder / found[1] for name in names if (found := _LEFTOVER.fullmatch(name))})


def _write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    with disk_faults(path):
        save_file(dict(tensors), path)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise BundleError(f"{path} must be as it was verified, got: {error}; take another checkpoint") from None


def _read_state(path: Path) -> dict[str, Any]:
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(written, dict) and set(written) == {"update", "state"} and isinstance(written["state"], dict):
            return written
    except (ValueError, RecursionError):
        pass
    raise BundleError(f"{path} must hold the state of a run, got something else; take another checkpoint")
