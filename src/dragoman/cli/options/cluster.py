"""Workers of a cluster, as command-line options describe them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dragoman.cli.console import echo
from dragoman.errors import ConfigError
from dragoman.reporting.number_format import format_count, format_duration

if TYPE_CHECKING:
    from dragoman.api.training.checked_training import CheckedTraining
    from dragoman.api.training.training_run import TrainResult
    from dragoman.config import Config
    from dragoman.data.worker_processes import Workers


def check_cluster(address: str | None, workers: int | None) -> None:
    """Raise an error if Ray is not installed, the address cannot be used, or workers are given without one."""
    if address is None:
        if workers is not None:
            raise ConfigError("--workers needs --on; write --on ray")
        return
    from dragoman.environment import require

    require("ray", "cluster", f"--on {address}")
    from dragoman.cluster.ray_session import check_address

    check_address(address)


class ReportStart(Protocol):
    """Prints that the workers of a cluster have started."""

    def __call__(self, workers: int, threads: int | None = None, note: str = "") -> None:
        """Print the number of workers, the threads of each if given, the seconds of the start, and a note."""


@contextmanager
def cluster_session(address: str, workers: int | None, threads: int = 1) -> Iterator[ReportStart]:
    """Connect to a cluster, or start Ray on this machine for this number of workers, all cores by default.

    Yields a function to call when the workers have started. Modules that import Ray are imported inside of the block.
    """
    from dragoman.cluster.ray_session import ray_session
    from dragoman.environment import usable_cores

    began = time.monotonic()

    def report(workers: int, threads: int | None = None, note: str = "") -> None:
        each = "" if threads is None else f", {format_count(threads, 'thread')} each,"
        seconds = format_duration(time.monotonic() - began)
        echo(f"cluster {format_count(workers, 'worker')}{each} on {address}; started in {seconds}{note}", err=True)

    with ray_session(address, processors=threads * workers if workers else usable_cores()):
        yield report


@contextmanager
def preparation_workers(address: str | None, workers: int | None, processes: int) -> Iterator[Workers]:
    """Start the workers that prepare data: processes of this machine, or workers of a cluster."""
    if address is None:
        from dragoman.data.worker_processes import Workers

        yield Workers(processes)
        return
    with cluster_session(address, workers) as report:
        from dragoman.cluster.cluster_workers import ClusterWorkers
        from dragoman.cluster.worker_pool import default_workers

        count = workers or default_workers(1)
        opened = ClusterWorkers(count, processes=processes)
        report(count)
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
    threads = config.training.threads or 1
    with cluster_session(address, workers, threads) as report:
        from dragoman.cluster.cluster_training import ClusterTrainer
        from dragoman.cluster.training_worker import TrainingJob

        trainer = ClusterTrainer(config, workers)
        report(trainer.workers, threads)

        def train(
            training: CheckedTraining, *, loader_workers: int = 0, checkpoint_url: str | None = None, **options: Any
        ) -> TrainResult:
            if checkpoint_url is not None and "://" not in checkpoint_url:
                checkpoint_url = str(Path(checkpoint_url).absolute())
            # Absolute paths: workers have another working folder.
            folders = (training.folder.absolute(), training.run.absolute())
            job = TrainingJob(config, *folders, loader_workers, allow_network, checkpoint_url, training.overrides)
            return trainer.train(job, resume=training.resume, **options)

        yield train
