"""Choose the number format of a training that leaves it to the machine."""

from pathlib import Path

import torch

from dragoman.config import Config, load_config
from dragoman.run_files import PROJECT
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.dry_run import faster_precision


def with_precision(
    config: Config, vocabulary: tuple[int, int], run: Path, group: ProcessGroup, *, resume: bool
) -> Config:
    """Return the configuration with fp32 or bf16 instead of ``auto``, the same on all processes.

    A resumed run keeps what it started with, also on another machine.
    """
    if config.training.precision != "auto":
        return config

    def choose() -> str:
        started = run / PROJECT
        if resume and started.is_file() and (before := load_config(started).training.precision) != "auto":
            return before
        return faster_precision(config, vocabulary, group.device)

    return _with(config, group.broadcast(group.run_on_main(choose)))


def measured_precision(config: Config, vocabulary: tuple[int, int], device: torch.device) -> Config:
    """Return the configuration with the faster precision of a new training on a device."""
    if config.training.precision != "auto":
        return config
    return _with(config, faster_precision(config, vocabulary, device))


def _with(config: Config, precision: str) -> Config:
    return config.model_copy(update={"training": config.training.model_copy(update={"precision": precision})})
