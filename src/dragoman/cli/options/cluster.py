"""Workers of a cluster, as command-line options describe them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import echo
from dragoman.errors import ConfigError
from dragoman.reporting.number_format import format_count, format_duration

if TYPE_CHECKING:
    from dragoman.api.training.training_run import TrainResult
    from dragoman.config import Config
    from dragoman.data.worker_processes import Workers

__all__ = ["check_cluster", "preparation_workers", "training_function"]


def check_cluster(address: str | None, workers: int | None) -> None:
    """Raise an error if Ray is not installed, the address cannot be used, or workers are given without one."""
    if address is None:
        if workers is not None:
            raise ConfigError("--workers must come with --on, got it alone; write --on ray")
        return
    from dragoman.environment import require

    require("ray", "cluster", f"--on {address}")
    from dragoman.cluster.ray_session import check_address

    check_address(address)


@contextmanager
def preparation_workers(address: str | None, workers: int | None, processes: int) -> Iterator[Workers]:
    """Start the workers that prepare data: processes of this machine, or workers of a cluster."""
    if address is None:
        from dragoman.data.worker_processes import Workers

        yield Workers(processes)
        return
    from dragoman.cluster.ray_session import ray_session
    from dragoman.environment import usable_cores

    began = time.monotonic()
    with ray_session(address, processors=workers or usable_cores()):
        from dragoman.cluster.cluster_workers import ClusterWorkers
        from dragoman.cluster.worker_pool import default_workers

        count = workers or default_workers(1)
        opened = ClusterWorkers(count, processes=processes)
        seconds = format_duration(time.monotonic() - began)
        echo(f"cluster {format_count(count, 'worker')} on {address}; started in {seconds}", err=True)
        yield opened


@contextmanager
def training_function(
    config: Config, address: str | None, workers: int | None, *, allow_network: bool
) -> Iterator[Callable[..., TrainResult]]:
    """Return the function that trains: `train_model` of this process, or one with its parameters on a cluster."""
    if address is None:
        from dragoman.api.training.training_run import train_model

        yield train_model
        return
    from dragoman.cluster.ray_session import ray_session
    from dragoman.environment import usable_cores

    threads = config.training.threads or 1
    began = time.monotonic()
    with ray_session(address, processors=threads * workers if workers else usable_cores()):
        from dragoman.cluster.cluster_training import ClusterTrainer
        from dragoman.cluster.training_worker import TrainingJob

        trainer = ClusterTrainer(config, workers)
        count, each = format_count(trainer.workers, "worker"), format_count(threads, "thread")
        seconds = format_duration(time.monotonic() - began)
        echo(f"cluster {count}, {each} each, on {address}; started in {seconds}", err=True)

        def train(
            config: Config,
            folder: Path,
            *,
            run: Path,
            loader_workers: int = 0,
            checkpoint_url: str | None = None,
            **options: Any,
        ) -> TrainResult:
            if checkpoint_url is not None and "://" not in checkpoint_url:
                checkpoint_url = str(Path(checkpoint_url).absolute())
            # Absolute paths: workers have another working folder.
            job = TrainingJob(config, folder.absolute(), run.absolute(), loader_workers, allow_network, checkpoint_url)
            return trainer.train(job, **options)

        yield train
