"""The processes that train together, however they were started: torchrun, Slurm, another launcher, or just one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
from torch import distributed

__all__ = ["World", "joined"]

_PATIENCE = timedelta(hours=2)  # the first process may translate a whole validation set while the others wait
_SLURM = {"RANK": "SLURM_PROCID", "WORLD_SIZE": "SLURM_NTASKS", "LOCAL_RANK": "SLURM_LOCALID"}


@dataclass(frozen=True)
class World:
    """This process among all of them. Plain numbers travel between hosts' memories, gradients by the fastest way."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

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
        distributed.all_gather(everyone, mine)
        return [each.tolist() for each in everyone]

    def first_says(self, value: Any = None) -> Any:
        """What the first process says, on all of them. Plain values: they go as JSON."""
        if self.size == 1:
            return value
        content = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        length = torch.tensor([len(content)])
        distributed.broadcast(length, 0)
        if not self.is_first:
            content = torch.empty(int(length), dtype=torch.uint8)
        distributed.broadcast(content, 0)
        return json.loads(bytes(content.tolist()))


@contextmanager
def joined() -> Iterator[World]:
    """Meet the other processes that the launcher started, if any, and leave them at the end."""
    if distributed.is_initialized():  # a launcher that has done it for us
        yield World(distributed.get_rank(), distributed.get_world_size(), _device())
        return
    for name, slurm in _SLURM.items():
        if name not in os.environ and "MASTER_ADDR" in os.environ and slurm in os.environ:
            os.environ[name] = os.environ[slurm]
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield World(device=_device())
        return
    device = _device()
    distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=_PATIENCE)
    try:
        yield World(distributed.get_rank(), size, device)
    finally:
        distributed.destroy_process_group()


def _device() -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    return device
