"""Choose the number format of a training that leaves it to the machine."""

from pathlib import Path

import torch

from dragoman.config import Config, load_config
from dragoman.environment import machine_info
from dragoman.run_files import PROJECT
from dragoman.training.distributed.process_group import ProcessGroup


def with_precision(config: Config, run: Path, group: ProcessGroup, *, resume: bool) -> Config:
    """Return the configuration with fp32 or bf16 instead of ``auto``, the same on all processes.

    A resumed run keeps what it started with, also on another machine.
    """
    if config.training.precision != "auto":
        return config
    precision = group.broadcast(_choose(run / PROJECT, group.device, resume=resume) if group.is_main else None)
    return _replaced(config, precision)


def precision_of_device(config: Config, device: torch.device) -> Config:
    """Return the configuration with the precision of a new training on a device."""
    return _replaced(config, _fastest(device)) if config.training.precision == "auto" else config


def _choose(started: Path, device: torch.device, *, resume: bool) -> str:
    if resume and started.is_file() and (before := load_config(started).training.precision) != "auto":
        return before
    return _fastest(device)


def _fastest(device: torch.device) -> str:
    return "bf16" if has_fast_bf16(device) else "fp32"


def _replaced(config: Config, precision: str) -> Config:
    return config.model_copy(update={"training": config.training.model_copy(update={"precision": precision})})


def has_fast_bf16(device: torch.device) -> bool:
    """Whether the device has instructions for matrix products in bf16; elsewhere these are slower than in fp32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and "AMX bf16" in machine_info(accelerators=False).features
