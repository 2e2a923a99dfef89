"""Workers of a cluster, as command-line options describe them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dragoman.cli.console import echo
from dragoman.errors import ConfigError
from dragoman.reporting.number_format import format_count, format_duration

if TYPE_CHECKING:
    from dragoman.data.worker_processes import Workers

__all__ = ["check_cluster", "preparation_workers"]


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
