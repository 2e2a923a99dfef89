"""Checkpoints of a run, in verified folders: gather the training state, save it, list and restore checkpoints."""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from dragoman.bundle.verified_folder import recover, remove_folder, remove_leftovers, verify, write_verified
from dragoman.bundle.weights import disk_errors
from dragoman.config import Config, parse_config, to_toml
from dragoman.errors import BundleError, TrainingError
from dragoman.files import usual_permissions
from dragoman.models.base import Model
from dragoman.run_files import CHECKPOINT_STATE, PROJECT
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.optimizer import MovingAverage

_WEIGHTS = "weights.safetensors"
_OPTIMIZER = "optimizer.safetensors"
_AVERAGE = "average.safetensors"
_REQUIRED = {_WEIGHTS, _OPTIMIZER, CHECKPOINT_STATE, PROJECT}
_FOLDER = re.compile(r"step_(0|[1-9]\d{0,17})")
_LEFTOVER = re.compile(rf"({_FOLDER.pattern})\.(tmp|old)")


def gather_weights(model: nn.Module, *, keep: bool = True) -> dict[str, Tensor]:
    """The weights of a model by name, tied ones once; all ranks call this, and those that do not `keep` get none."""
    return gather_tensors(_named(model), keep=keep)


def gather_tensors(tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
    """Copy tensors to the host, one at a time; gather sharded ones."""
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if keep or isinstance(tensor, DTensor):
            gathered = gather_tensor(tensor)
            if keep:
                found[name] = gathered
    return found


def gather_tensor(tensor: Tensor) -> Tensor:
    """Copy a tensor to the host; gather it if it is sharded."""
    tensor = tensor.detach()
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).cpu().contiguous()


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights from `gather_weights` into a model of the same shape."""
    load_tensors(_named(model), weights)


def load_tensors(into: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> None:
    """Copy complete tensors into tensors of the same names and shapes, sharded or not."""
    assert into.keys() == tensors.keys(), sorted(into.keys() ^ tensors.keys())
    with torch.no_grad():
        for name, tensor in into.items():
            tensor.copy_(_placed_like(tensor, tensors[name]))


def gather_optimizer_state(
    model: nn.Module, optimizer: torch.optim.Optimizer, *, keep: bool = True
) -> dict[str, Tensor]:
    """The state of an optimizer by ``<state>/<parameter>``. If it is sharded, all ranks must call this."""
    tensors = {
        f"{key}/{name}": value
        for name, parameter in model.named_parameters()
        for key, value in sorted(optimizer.state.get(parameter, {}).items())
    }
    return gather_tensors(tensors, keep=keep)


def load_optimizer_state(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Load the tensors of `gather_optimizer_state` into an optimizer."""
    state: dict[int, dict[str, Tensor]] = {}
    indices = {id(p): n for n, p in enumerate(p for group in optimizer.param_groups for p in group["params"])}
    parameters = dict(model.named_parameters())
    for path, value in tensors.items():
        key, name = path.split("/", 1)
        parameter = parameters[name]
        entry = state.setdefault(indices[id(parameter)], {})
        entry[key] = _placed_like(parameter, value) if value.shape == parameter.shape else value.clone()
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _named(model: nn.Module) -> dict[str, Tensor]:
    saved = model.state_dict().keys()
    buffers = {name: tensor for name, tensor in model.named_buffers() if name in saved}
    return {**dict(model.named_parameters()), **buffers}


def _placed_like(tensor: Tensor, values: Tensor) -> Tensor:
    """The values on the device, and with the sharding, of `tensor`."""
    values = values.to(tensor.device)
    if isinstance(tensor, DTensor):
        return distribute_tensor(values, tensor.device_mesh, tensor.placements)
    return values.clone()


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint. `state` holds the saved JSON values."""

    folder: Path
    update: int
    state: dict[str, Any]

    def weights(self) -> dict[str, Tensor]:
        return _read_tensors(self.folder / _WEIGHTS)

    def optimizer(self) -> dict[str, Tensor]:
        """The optimizer state by `<state>/<parameter>`."""
        return _read_tensors(self.folder / _OPTIMIZER)

    def average(self) -> dict[str, Tensor] | None:
        """The moving average of the weights, if the run has one."""
        path = self.folder / _AVERAGE
        return _read_tensors(path) if path.exists() else None

    def config(self) -> Config:
        table = tomllib.loads((self.folder / PROJECT).read_text(encoding="utf-8"))
        return parse_config(table)


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
        """Write a checkpoint and return its folder. Tensors are contiguous, on the CPU, without shared storage."""
        folder = self._folder(update)
        with write_verified(folder) as draft:
            _write_tensors(draft / _WEIGHTS, weights)
            _write_tensors(draft / _OPTIMIZER, optimizer)
            if average is not None:
                _write_tensors(draft / _AVERAGE, average)
            written = {"update": update, "state": dict(state)}
            (draft / CHECKPOINT_STATE).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
            (draft / PROJECT).write_text(to_toml(config), encoding="utf-8")
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
            raise BundleError(f"{folder} has no {min(missing)}; use another checkpoint")
        written = _read_state(folder / CHECKPOINT_STATE)
        if written["update"] != update:
            raise BundleError(f"{folder} is the checkpoint of update {written['update']}, not {update}; rename it")
        return Checkpoint(folder, update, written["state"])

    def steps(self) -> list[int]:
        """The updates that have a checkpoint folder, damaged or not, in ascending order."""
        names = [path.name for path in self.folder.iterdir() if path.is_dir()] if self.folder.is_dir() else []
        return sorted(int(found[1]) for name in names if (found := _FOLDER.fullmatch(name)))

    def prune(self, *, keep_last: int, keep: Collection[int]) -> None:
        """Remove temporary folders and checkpoints but the newest `keep_last`, those in `keep` and damaged ones."""
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
        raise BundleError(f"{path} changed after it was verified: {error}; use another checkpoint") from None


def _read_state(path: Path) -> dict[str, Any]:
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(written, dict) and set(written) == {"update", "state"} and isinstance(written["state"], dict):
            return written
    except (ValueError, RecursionError):
        pass
    raise BundleError(f"{path} does not hold the state of a run; use another checkpoint")


class CheckpointManager:
    """Saves and restores model, optimizer and averaged weights. The main process writes; the others wait for it."""

    def __init__(
        self,
        config: Config,
        model: Model[Any, Any],
        optimizer: torch.optim.Optimizer,
        average: MovingAverage | None,
        checkpoints: CheckpointStore,
        group: ProcessGroup,
    ) -> None:
        self._config = config
        self._model = model
        self._optimizer = optimizer
        self._average = average
        self._checkpoints = checkpoints
        self._group = group

    def save(self, update: int, state: Mapping[str, Any], *, keep: Collection[int]) -> Path:
        """Write a checkpoint and return its folder; remove all others except those in `keep` and damaged ones."""
        is_main = self._group.is_main
        weights = gather_weights(self._model, keep=is_main)
        optimizer = gather_optimizer_state(self._model, self._optimizer, keep=is_main)
        average = None
        if self._average is not None:
            average = gather_tensors(self._average.named(), keep=is_main)

        def write() -> None:
            try:
                self._checkpoints.save(
                    update, weights=weights, optimizer=optimizer, average=average, state=state, config=self._config
                )
                self._checkpoints.prune(keep_last=1, keep=keep)
            except OSError as error:
                raise TrainingError(
                    f"the checkpoint of update {update} cannot be written to {self._checkpoints.folder}: "
                    f"{error.strerror or error}; earlier checkpoints are undamaged: check the disk, then continue "
                    "with --resume"
                ) from error

        self._group.run_on_main(write)
        return self._checkpoints.folder / f"step_{update}"

    def restore(self, checkpoint: Checkpoint) -> None:
        """Load the weights, the optimizer state and the averaged weights of a checkpoint."""
        load_weights(self._model, checkpoint.weights())
        load_optimizer_state(self._model, self._optimizer, checkpoint.optimizer())
        if self._average is not None:
            load_tensors(self._average.named(), checkpoint.average() or {})
