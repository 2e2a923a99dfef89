"""Store the checkpoints of a run as verified folders: list, open, write, delete old ones."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from dragoman.bundle.config_migration import migrate_config
from dragoman.bundle.verified_folder import recover, remove_folder, remove_leftovers, verify, write_verified
from dragoman.bundle.weights import disk_errors
from dragoman.config import Config, parse_config, to_toml
from dragoman.errors import BundleError
from dragoman.files import usual_permissions
from dragoman.training.checkpoint.migration import migrate_state

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
    """A verified checkpoint. `state` holds the saved JSON values, with current names of fields."""

    folder: Path
    update: int
    state: dict[str, Any]
    version: int
    """Format version of the folder."""

    def weights(self) -> dict[str, Tensor]:
        """The weights by parameter name."""
        return _read_tensors(self.folder / _WEIGHTS)

    def optimizer(self) -> dict[str, Tensor]:
        """The optimizer state by `<state>/<parameter>`."""
        return _read_tensors(self.folder / _OPTIMIZER)

    def average(self) -> dict[str, Tensor] | None:
        """The moving average of the weights, if the run has one."""
        path = self.folder / _AVERAGE
        return _read_tensors(path) if path.exists() else None

    def config(self) -> Config:
        """The configuration of the run."""
        table = tomllib.loads((self.folder / _CONFIG).read_text(encoding="utf-8"))
        return parse_config(migrate_config(table, self.version))


class CheckpointStore:
    """The checkpoints of one run, in folders `step_<update>`. Only this run writes them."""

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
        """Write a checkpoint and return its folder. A disk error is an `OSError`; other checkpoints are unchanged.

        Tensors must be contiguous, on the CPU, and share no storage; `state` holds JSON values.
        """
        folder = self._folder(update)
        with write_verified(folder) as draft:
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
        """The newest undamaged checkpoint. Damaged ones are reported with `note` and not removed."""
        for found in self._leftovers():
            recover(found)
        steps = self.steps()
        while steps:
            update = steps.pop()
            try:
                return self.open(update)
            except BundleError as error:
                self._damaged.add(update)
                instead = f"using {self._folder(steps[-1]).name} instead" if steps else "there is no older one"
                note(f"{self._folder(update)} is damaged ({error}); {instead}")
        return None

    def open(self, update: int) -> Checkpoint:
        """Verify and read a checkpoint."""
        folder = self._folder(update)
        manifest = verify(folder, allowed={*_REQUIRED, _AVERAGE}.__contains__)
        if missing := _REQUIRED - set(manifest["files"]):
            raise BundleError(f"{folder} must hold {min(missing)}, got no such file; use another checkpoint")
        written = _read_state(folder / _STATE)
        if written["update"] != update:
            raise BundleError(
                f"{folder} must be the checkpoint of update {update}, got that of {written['update']}; rename it"
            )
        version = manifest["version"]
        return Checkpoint(folder, update, migrate_state(written["state"], version), version)

    def steps(self) -> list[int]:
        """The updates that have a checkpoint folder, damaged or not, in ascending order."""
        names = [path.name for path in self.folder.iterdir() if path.is_dir()] if self.folder.is_dir() else []
        return sorted(int(found[1]) for name in names if (found := _FOLDER.fullmatch(name)))

    def prune(self, *, keep_last: int, keep: Collection[int]) -> None:
        """Remove temporary folders and all checkpoints except the newest `keep_last`, those in `keep` and damaged ones.

        Damaged checkpoints do not count as newest. They stay for inspection.
        """
        for found in self._leftovers():
            remove_leftovers(found)
        undamaged = [update for update in self.steps() if update not in self._damaged]
        newest = undamaged[-keep_last:] if keep_last else []
        for update in undamaged:
            if update not in newest and update not in keep:
                remove_folder(self._folder(update))

    def _folder(self, update: int) -> Path:
        return self.folder / f"step_{update}"

    def _leftovers(self) -> list[Path]:
        """The folders with temporary or previous versions from an interrupted write."""
        names = [path.name for path in self.folder.iterdir()] if self.folder.is_dir() else []
        return sorted({self.folder / found[1] for name in names if (found := _LEFTOVER.fullmatch(name))})


def _write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    with disk_errors(path), usual_permissions(path):
        save_file(dict(tensors), path)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise BundleError(
            f"{path} must not change after it is verified, got: {error}; use another checkpoint"
        ) from None


def _read_state(path: Path) -> dict[str, Any]:
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(written, dict) and set(written) == {"update", "state"} and isinstance(written["state"], dict):
            return written
    except (ValueError, RecursionError):
        pass
    raise BundleError(f"{path} must hold the state of a run, got something else; use another checkpoint")
