"""A Ray cluster of two nodes on this machine, whose processes can be killed."""

from __future__ import annotations

import os
import re
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_WORKERS = (b"ray::_Actor", b"ray::TrainingWorker")
_SETTINGS = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    # By default Ray waits up to half a minute until a node that does not answer is lost.
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
}


class Nodes:
    """A head node and a second one, with a processor each."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._second = cluster.add_node(num_cpus=1)

    @property
    def address(self) -> str:
        """For RAY_ADDRESS."""
        return str(self._cluster.address)

    def workers(self) -> list[int]:
        """Processes of this cluster that work for a command."""
        raylets, found = {_raylet(self._cluster.head_node), _raylet(self._second)}, []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, AttributeError):
                parent = re.search(r"^PPid:\t(\d+)$", (process / "status").read_text("utf-8"), re.MULTILINE)
                if int(parent[1]) in raylets and (process / "cmdline").read_bytes().startswith(_WORKERS):  # type: ignore[index]
                    found.append(int(process.name))
        return sorted(found)

    def replace_second(self) -> None:
        """Kill the raylet of the second node, then start another node, as an autoscaler does."""
        os.kill(_raylet(self._second), signal.SIGKILL)
        self._cluster.remove_node(self._second, allow_graceful=False)
        self._second = self._cluster.add_node(num_cpus=1)


@contextmanager
def two_nodes() -> Iterator[Nodes]:
    """Start the nodes, and end them with all their processes."""
    os.environ |= _SETTINGS | {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
    from ray.cluster_utils import Cluster  # Ray reads the environment when it is imported

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        yield Nodes(cluster)
    finally:
        cluster.shutdown()


def _raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)
