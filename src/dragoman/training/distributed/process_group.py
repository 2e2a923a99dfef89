"""Join the process group of a run started by torchrun, Slurm or another launcher, or use a single process."""

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

from dragoman.config.engine import DeviceName
from dragoman.errors import ConfigError, DragomanError, TrainingError

_TIMEOUT = timedelta(hours=2)  # other ranks wait while the main process translates the validation set
_OWN_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"  # makes torchrun create a store at each start of the processes
_SLURM = {"RANK": "SLURM_PROCID", "WORLD_SIZE": "SLURM_NTASKS", "LOCAL_RANK": "SLURM_LOCALID"}


@dataclass(frozen=True)
class ProcessGroup:
    """Rank and size of the process group, and collective operations on plain values."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    host: distributed.ProcessGroup | None = None
    """The torch group for plain values; None is the default group."""

    @property
    def is_main(self) -> bool:
        """Whether this process writes files and reports events."""
        return self.rank == 0

    def all_gather(self, values: Sequence[float]) -> list[list[float]]:
        """The numbers of each process, by rank; every process passes equally many."""
        if self.size == 1:
            return [list(values)]
        own = torch.tensor(values, dtype=torch.float64)
        ranks = [torch.empty_like(own) for _ in range(self.size)]
        distributed.all_gather(ranks, own, group=self.host)
        return [each.tolist() for each in ranks]

    def broadcast(self, value: Any = None) -> Any:
        """The JSON value that the main process passes, on all processes."""
        if self.size == 1:
            return value
        content = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        length = torch.tensor([len(content)])
        distributed.broadcast(length, 0, group=self.host)
        if not self.is_main:
            content = torch.empty(int(length), dtype=torch.uint8)
        distributed.broadcast(content, 0, group=self.host)
        return json.loads(bytes(content.tolist()))

    def run_on_main(self, work: Callable[[], Any]) -> Any:
        """Run a function on the main process and return its result (None on the others); if it fails, all fail."""
        result, error = None, None
        if self.is_main:
            try:
                result = work()
            except DragomanError as raised:
                error = raised
        message = self.broadcast(None if error is None else str(error))
        if error is not None:
            raise error
        if message is not None:
            raise TrainingError(message)
        return result


@contextmanager
def join_process_group(device_name: DeviceName = "auto") -> Iterator[ProcessGroup]:
    """Join the process group of the launcher, if any, and leave it at the end."""
    if distributed.is_initialized():  # by the launcher
        host = distributed.new_group(backend="gloo", timeout=_TIMEOUT)
        yield ProcessGroup(distributed.get_rank(), distributed.get_world_size(), _device(device_name), host)
        return
    for name, slurm in _SLURM.items():
        if name not in os.environ and "MASTER_ADDR" in os.environ and slurm in os.environ:
            os.environ[name] = os.environ[slurm]
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ProcessGroup(device=_device(device_name))
        return
    device = _device(device_name)
    options: dict[str, Any] = {"store": _fresh_store(), "rank": int(os.environ["RANK"]), "world_size": size}
    if device.type == "cuda":
        distributed.init_process_group("nccl", **options)
        host = distributed.new_group(backend="gloo", timeout=_TIMEOUT)
    else:
        distributed.init_process_group("gloo", timeout=_TIMEOUT, **options)
        host = None
    yield ProcessGroup(distributed.get_rank(), size, device, host)
    distributed.destroy_process_group()  # not after an error: a pending operation may never end


def _fresh_store() -> Store | None:
    """A rendezvous store without the addresses of dead processes; None leaves the choice to torch.

    torchrun restarts processes with the store of the previous ones, which still has their addresses
    (pytorch/pytorch#135712). On several machines the restart count can differ, so it cannot be used as a prefix, and
    torchrun does not send the address of the store to a machine that joins later; so each start needs its own store.
    """
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return None
    if os.environ.get("GROUP_WORLD_SIZE") != "1":
        if os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0") != "0":
            raise ConfigError(
                f"{_OWN_STORE} is not set; set it to 1 for every torchrun on several machines with --max-restarts: "
                "without it no process can be started again"
            )
        return None
    store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    return PrefixStore(f"start {os.environ['TORCHELASTIC_RESTART_COUNT']}", store)


def _device(name: DeviceName) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "training.device must be cpu or auto where torch finds no CUDA device, got cuda; install a build of torch "
            "for CUDA, or leave it out"
        )
    if name == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device
