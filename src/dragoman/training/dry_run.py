"""Run a few updates to predict the speed and the memory use of training, and to choose its precision."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from dragoman.config import Config, load_config
from dragoman.data.batch import Batch
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.environment import peak_memory
from dragoman.models.build import build_model, model_cost
from dragoman.nn.stateless_noise import Noise
from dragoman.run_files import PROJECT
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.optimizer import build_optimizer
from dragoman.training.step import LossModule, train_step
from dragoman.training.warm_start import choose_trained

_MAX_FLOPS = 2e12  # per update: a few seconds on two cores
_SECONDS = 8.0
_PRECISION_FLOPS = 5e11  # per trial of a precision: about half a second
_PRECISION_TOKENS = (128, 512)  # few tokens would show less of the gain
_PRECISION_TRIALS = 3
_PRECISION_LENGTH = 16
_BF16_GAIN = 1.1  # at least: where both take about as long, each start should choose fp32
_BUSY_LOAD = 1.5  # load average; this process alone is 1


@dataclass(frozen=True)
class DryRun:
    """Measurements of a few updates."""

    parameters: int
    tokens_per_second: float
    is_busy: bool
    """Whether other processes were running: torch's threads then wait for each other, and all takes much longer."""
    memory_bytes: int
    """Peak memory of the process with these batches."""


def dry_run_tokens(config: Config) -> int:
    """Target tokens per update of a dry run: at most a full batch, and few enough to take seconds."""
    return min(config.training.batch_tokens, max(64, int(_MAX_FLOPS / model_cost(config).training_flops)))


def measure_updates(config: Config, vocabulary: tuple[int, int], batches: Sequence[Batch]) -> DryRun:
    """Train on the batches in rotation for some seconds; the first update, a warm-up, is not counted."""
    model = build_model(config.model, *vocabulary, seed=config.training.seed)
    choose_trained(model, config.training)
    optimizer = build_optimizer(model, config.training)
    with _fastest_threads(config, lambda: train_step(model, optimizer, batches[0], config.training, 1)):
        load = os.getloadavg()[0]
        start, tokens, update = time.perf_counter(), 0, 1
        while tokens == 0 or time.perf_counter() - start < _SECONDS:
            batch = batches[update % len(batches)]
            update += 1
            train_step(model, optimizer, batch, config.training, update)
            tokens += batch.target_tokens
        seconds = time.perf_counter() - start
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return DryRun(parameters, tokens / seconds, load > _BUSY_LOAD, peak_memory())


def faster_precision(config: Config, vocabulary: tuple[int, int], device: torch.device) -> Literal["fp32", "bf16"]:
    """Compute gradients in both precisions in turn, on one CPU thread; return the faster, if clearly, or fp32."""
    is_cpu = device.type == "cpu"
    flops = model_cost(config).training_flops
    fewest, most = _PRECISION_TOKENS
    sentences = int(min(most, max(fewest, _PRECISION_FLOPS / flops))) // _PRECISION_LENGTH
    lengths = np.full(sentences, _PRECISION_LENGTH)
    sides = (Sentences(np.resize(np.arange(size // 2, size), lengths.sum()), lengths) for size in vocabulary)
    batch = Batch.from_flat(Pairs(*sides), np.arange(sentences)).to(device)
    model = build_model(config.model, *vocabulary, seed=config.training.seed).to(device)
    choose_trained(model, config.training)
    losses = {
        precision: LossModule(model, config.training.model_copy(update={"precision": precision}))
        for precision in ("fp32", "bf16")
    }
    seconds = dict.fromkeys(losses, float("inf"))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if is_cpu else threads)
        for trial in range(1 + _PRECISION_TRIALS):
            for precision, loss in losses.items():
                began = _device_seconds(device)
                total, _ = loss(batch, Noise.of(config.training.seed, 1, batch.rows))
                total.backward()
                taken = _device_seconds(device) - began
                model.zero_grad(set_to_none=True)
                if trial:  # the first compiles the kernels
                    seconds[precision] = min(seconds[precision], taken)
            if trial and seconds["bf16"] > 2 * seconds["fp32"]:  # emulated: more trials would take long
                break
    finally:
        torch.set_num_threads(threads)
    return "bf16" if seconds["fp32"] > _BF16_GAIN * seconds["bf16"] else "fp32"


def _device_seconds(device: torch.device) -> float:
    """The time that this thread computed, or on another device the time when it has finished its work."""
    if device.type == "cpu":
        return time.thread_time()
    torch.accelerator.synchronize(device)
    return time.perf_counter()


@contextmanager
def _fastest_threads(config: Config, update: Callable[[], object]) -> Iterator[None]:
    """Use one thread or all, the faster: on a busy machine several may take a hundred times as long."""
    most = torch.get_num_threads()
    is_fixed = config.training.threads > 0 or config.training.reproducible
    seconds: dict[int, float] = {}
    try:
        for number in [most] if is_fixed else dict.fromkeys((1, most)):
            torch.set_num_threads(number)
            if not seconds:
                update()
            began = time.perf_counter()
            update()
            seconds[number] = time.perf_counter() - began
        torch.set_num_threads(min(seconds, key=seconds.__getitem__))
        yield
    finally:
        torch.set_num_threads(most)


def with_precision(
    config: Config, vocabulary: tuple[int, int], run: Path, group: ProcessGroup, *, resume: bool
) -> Config:
    """Return the configuration with fp32 or bf16 for ``auto``, equal on all processes and in resumed runs."""
    if config.training.precision != "auto":
        return config

    def choose() -> str:
        started = run / PROJECT
        if resume and started.is_file() and (before := load_config(started).training.precision) != "auto":
            return before
        return faster_precision(config, vocabulary, group.device)

    return _with_precision(config, group.broadcast(group.run_on_main(choose)))


def measured_precision(config: Config, vocabulary: tuple[int, int], device: torch.device) -> Config:
    """Return the configuration with the faster precision of a new training on a device."""
    if config.training.precision != "auto":
        return config
    return _with_precision(config, faster_precision(config, vocabulary, device))


def _with_precision(config: Config, precision: str) -> Config:
    return config.model_copy(update={"training": config.training.model_copy(update={"precision": precision})})
