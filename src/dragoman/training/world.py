"""The processes that train together, however they were started: torchrun, Slurm, another launcher, or just one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
from torch import distributed
from torch.distributed import PrefixStore, Store, TCPStore  # type: ignore[attr-defined] # public, yet not in __all__

from dragoman.errors import DragomanError, TrainingError

__all__ = ["World", "joined"]

_PATIENCE = timedelta(hours=2)  # the first process may translate a whole validation set while the others wait
_SLURM = {"RANK": "SLURM_PROCID", "WORLD_SIZE": "SLURM_NTASKS", "LOCAL_RANK": "SLURM_LOCALID"}


@dataclass(frozen=True)
class World:
    """This process among all of them. Plain numbers travel between hosts' memories, gradients by the fastest way."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    host: distributed.ProcessGroup | None = None
    """How plain numbers travel; None stands for the group of all processes."""

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files and speaks."""
        return self.rank == 0

    def gathered(self, values: Sequence[float]) -> list[list[float]]:
        """The numbers of each process, in order of rank; all give as many."""
        if self.size == 1:
            return [list(values)]
        mine = torch.tensor(values, dtype=torch.float64)
        everyone = [torch.empty_like(mine) for _ in range(self.size)]
        distributed.all_gather(everyone, mine, group=self.host)
        return [each.tolist() for each in everyone]

    def first_says(self, value: Any = None) -> Any:
        """What the first process says, on all of them. Plain values: they go as JSON."""
        if self.size == 1:
            return value
        content = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        length = torch.tensor([len(content)])
        distributed.broadcast(length, 0, group=self.host)
        if not self.is_first:
            content = torch.empty(int(length), dtype=torch.uint8)
        distributed.broadcast(content, 0, group=self.host)
        return json.loads(bytes(content.tolist()))

    def first_does(self, work: Callable[[], Any]) -> Any:
        """What work that only the first process does gives it (None on the others); if it fails, all of them fail."""
        done, fault = None, None
        if self.is_first:
            try:
                done = work()
            except DragomanError as error:
                fault = error
        said = self.first_says(None if fault is None else str(fault))
        if fault is not None:
            raise fault
        if said is not None:
            raise TrainingError(said)
        return done


@contextmanager
def joined() -> Iterator[World]:
    """Meet the other processes that the launcher started, if any, and leave them at the end."""
    if distributed.is_initialized():  # a launcher that has done it for us
        host = distributed.new_group(backend="gloo", timeout=_PATIENCE)
        yield World(distributed.get_rank(), distributed.get_world_size(), _device(), host)
        return
    for name, slurm in _SLURM.items():
        if name not in os.environ and "MASTER_ADDR" in os.environ and slurm in os.environ:
            os.environ[name] = os.environ[slurm]
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield World(device=_device())
        return
    device = _device()
    meeting: dict[str, Any] = {"store": _fresh_store(), "rank": int(os.environ["RANK"]), "world_size": size}
    if device.type == "cuda":
        distributed.init_process_group("nccl", **meeting)
        host = distributed.new_group(backend="gloo", timeout=_PATIENCE)
    else:
        distributed.init_process_group("gloo", timeout=_PATIENCE, **meeting)
        host = None
    yield World(distributed.get_rank(), size, device, host)
    distributed.destroy_process_group()  # not after an error: there may be an exchange that never ends


def _fresh_store() -> Store | None:
    """A place to meet that does not remember processes which died; None leaves it to torch.

    On one machine torchrun starts processes again with the store of those before them, whose addresses are still in it
    (pytorch/pytorch#135712). On several machines the count of restarts is not the same everywhere, so it cannot help.
    """
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True" or os.environ.get("GROUP_WORLD_SIZE") != "1":
        return None
    store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    return PrefixStore(f"start {os.environ['TORCHELASTIC_RESTART_COUNT']}", store)


def _device() -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device
