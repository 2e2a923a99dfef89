"""Run the cases of `test_cluster_training` in a process of their own: Ray reads its environment when it is imported."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.cluster.ray_session import ray_session
from dragoman.config import Config
from dragoman.errors import DragomanError
from dragoman.training.callbacks.events import CallbackList, StepEvent, TrainingStarted
from dragoman.training.checkpoint import CheckpointStore
from testkit.tiny_project import tiny_project, tiny_training
from testkit.training_faults.run_differences import differences

UPDATES = 40


class Disturber(CallbackList):
    """Kill all workers of this machine but one, or stop this process, once after an update; count starts."""

    def __init__(self, what: str = "", after: int = 0) -> None:
        super().__init__()
        self.what, self.after = what, after
        self.starts: list[int] = []
        self.updates: list[int] = []
        self.messages: list[str] = []
        self.killed = 0

    def on_start(self, started: TrainingStarted) -> None:
        self.starts.append(started.update)
        self._disturb(0)

    def on_update(self, event: StepEvent) -> None:
        self.updates.append(event.update)
        self._disturb(event.update)

    def on_message(self, text: str) -> None:
        self.messages.append(text)

    def _disturb(self, update: int) -> None:
        if update < self.after or not self.what:
            return
        if self.what == "stop":
            os.kill(os.getpid(), signal.SIGINT)
        else:
            os.kill(worker_processes()[-1], signal.SIGKILL)
            self.killed += 1
        self.what = ""


def worker_processes() -> list[int]:
    """The processes that train: children of the raylet of this process."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_worker = (process / "cmdline").read_bytes().startswith(b"ray::TrainingWorker")
            if is_worker and parent_of(parent_of(int(process.name))) == os.getpid():
                found.append(int(process.name))
    return sorted(found)


def workers_left(seconds: float = 60.0) -> int:
    """How many workers still run when they had time to end: Ray does not wait for the processes that it ends."""
    until = time.monotonic() + seconds
    while worker_processes() and time.monotonic() < until:
        time.sleep(0.05)
    return len(worker_processes())


def parent_of(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.search(r"^PPid:\t(\d+)$", status, re.MULTILINE)[1])  # type: ignore[index]


def forget_position(run: Path) -> None:
    """Set the position in the data of the newest checkpoint to the start."""
    store = CheckpointStore(run / "checkpoints")
    found = store.open(store.steps()[-1])
    state = json.loads(json.dumps(found.state))
    state["loader"] |= {"epoch": 0, "window": 0, "batch": 0}
    values = {"weights": found.weights(), "optimizer": found.optimizer(), "average": found.average()}
    store.save(found.update, **values, state=state, config=found.config())  # type: ignore[arg-type]


def cases(work: Path, config: Config, *, is_long: bool) -> Iterator[tuple[str, Any]]:
    """Yield what each case found: one killed worker and errors, or with `is_long` the cases of the nightly tests."""
    from dragoman.cluster import cluster_training
    from dragoman.cluster.cluster_training import ClusterTrainer
    from dragoman.cluster.training_worker import TrainingJob

    folder = tiny_project().folder

    def train(
        name: str, workers: int | None, disturber: Disturber, *, resume: bool = False, settings: Config = config
    ) -> Any:
        job = TrainingJob(settings, folder, work / name)
        return ClusterTrainer(settings, workers).train(job, resume=resume, callbacks=[disturber])

    train_model(check_training(config, folder, work / "local"))
    if is_long:
        quiet = Disturber()
        trained = train("one", 1, quiet)
        yield "1 worker", differences(work / "one", work / "local")
        yield "events", [quiet.starts, quiet.updates]
        yield "bundle", str(trained.bundle.folder.relative_to(work))

        ended = train("stopped", 2, Disturber("stop", after=4)).ended
        yield "ended", [ended.why, 4 <= ended.update < UPDATES, ended.update]
        shutil.copytree(work / "stopped", work / "forgotten")
        train("stopped", 1, Disturber(), resume=True)
        yield "other number of workers", differences(work / "stopped", work / "local")
        forget_position(work / "forgotten")
        train_model(check_training(config, folder, work / "forgotten", resume=True))
        yield "position forgotten", differences(work / "forgotten", work / "local")
    else:
        killer = Disturber("kill", after=5)
        train("killed", None, killer)
        yield "killed", differences(work / "killed", work / "local")
        yield "kills", killer.killed
        yield "starts", killer.starts
        yield "messages", killer.messages

    cluster_training._RESTARTS = 0
    endless = config.model_copy(update={"training": config.training.model_copy(update={"max_updates": 100_000})})
    for name, workers, disturber in (("lost", 1, Disturber("kill")), ("three", 3, Disturber())):
        if is_long == (name == "lost"):
            try:
                train(name, workers, disturber, settings=endless)
            except DragomanError as error:
                yield name, f"{type(error).__name__}: {error}"
    yield "workers left", workers_left()


def found(work: Path, *, is_long: bool) -> dict[str, Any]:
    """What each case found; Ray must run."""
    updates = UPDATES if is_long else 12
    settings = ["training.reproducible=true", "training.keep_last=99", f"training.max_updates={updates}"]
    settings += [f"training.validate_every={updates}", "training.validation_sentences=0"]
    config = tiny_training("luong2015-desk", *settings, "training.ema_decay=0.9")
    return dict(cases(work, config, is_long=is_long))


if __name__ == "__main__":
    with ray_session("ray", processors=2):
        report = found(Path(sys.argv[1]), is_long=True)
    print(json.dumps(report))
