"""Two agents of torchrun, as on two machines: the bits of one process, also if a node is lost and joins again.

A node is an agent and the process that it starts. Both listen on 127.0.0.1 and meet at the c10d store of the first.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.config import load_config
from testkit.tiny_project import tiny_project
from testkit.training_faults.run_differences import differences
from tests.equivalence.process_group_worker import PATIENCE
from tests.equivalence.test_world_size import wait_for, workers_of

SETTINGS = [
    *("training.micro_batches=2", "training.batch_tokens=40", "training.reproducible=true"),
    *("training.checkpoint_every=4", "training.keep_last=99"),
]


def settings(updates: int) -> list[str]:
    return [*SETTINGS, f"training.max_updates={updates}"]


class Nodes:
    """Two nodes that train one run."""

    def __init__(self, run: Path, updates: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._run = run
        self._updates = updates
        self.agents: list[subprocess.Popen[str]] = []

    def start(self, number: int) -> None:
        """Start a node; the first one has the store."""
        command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
        command += ["--max-restarts=3", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{self._port}"]
        command += ["--rdzv-id=test", "--rdzv-conf=is_host=" + ("1" if number == 0 else "0"), "--local-addr=127.0.0.1"]
        command += ["-m", "dragoman", "train", str(tiny_project().config), "--output", str(self._run), "--resume"]
        command += [word for setting in settings(self._updates) for word in ("--set", setting)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
        with self._log(number).open("a") as log:
            agent = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=log, text=True)
        self.agents[number : number + 1] = [agent]

    def kill(self, number: int) -> None:
        """Kill an agent and its process at once, as if the machine had lost its power."""
        agent = self.agents[number]
        for process in (agent.pid, *workers_of(agent.pid)):
            os.kill(process, signal.SIGKILL)
        agent.wait()

    def wait(self) -> list[int]:
        """Return the exit codes of both agents."""
        return [agent.wait(timeout=PATIENCE) for agent in self.agents]

    def logs(self) -> str:
        return "\n".join(self._log(number).read_text(encoding="utf-8")[-3000:] for number in range(2))

    def _log(self, number: int) -> Path:
        return self._run.with_name(f"{self._run.name}-{number}.log")


@contextmanager
def two_nodes(run: Path, updates: int) -> Iterator[Nodes]:
    nodes = Nodes(run, updates)
    try:
        nodes.start(0)
        nodes.start(1)
        yield nodes
    finally:
        for agent in nodes.agents:
            if agent.poll() is None:
                agent.terminate()  # torchrun ends its process first
        nodes.wait()


def one_process(run: Path, updates: int) -> Path:
    train_model(check_training(load_config(tiny_project().config, settings(updates)), tiny_project().folder, run))
    return run


@pytest.mark.slow
def test_two_nodes_give_the_bits_of_one_process(tmp_path: Path):
    with two_nodes(tmp_path / "nodes", 4) as nodes:
        assert nodes.wait() == [0, 0], nodes.logs()
    assert differences(tmp_path / "nodes", one_process(tmp_path / "one", 4)) == []


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for processes in /proc")
def test_a_node_that_is_killed_joins_again_and_nothing_is_lost(tmp_path: Path):
    run = tmp_path / "nodes"
    with two_nodes(run, 40) as nodes:
        wait_for((run / "checkpoints" / "step_8").exists, nodes.agents[0])
        nodes.kill(1)
        nodes.start(1)
        assert nodes.wait() == [0, 0], nodes.logs()
    assert "Connection" in nodes.logs(), "the other process noticed"
    assert differences(run, one_process(tmp_path / "one", 40)) == []


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for processes in /proc")
def test_without_the_node_of_the_store_all_end_and_a_new_job_continues(tmp_path: Path):
    run = tmp_path / "nodes"
    with two_nodes(run, 40) as nodes:
        wait_for((run / "checkpoints" / "step_8").exists, nodes.agents[0])
        nodes.kill(0)
        assert nodes.agents[1].wait(timeout=PATIENCE) != 0
    with two_nodes(run, 40) as nodes:  # as a scheduler starts a job again
        assert nodes.wait() == [0, 0], nodes.logs()
    assert differences(run, one_process(tmp_path / "one", 40)) == []
