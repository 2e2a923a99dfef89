"""Any number of processes: the same batches in the same order, the same losses, and in reproducible mode the same bits.

The processes are real ones and speak gloo; `process_group_worker` holds what runs in them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.config import Config, load_config
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.errors import ConfigError
from dragoman.training.checkpoint import CheckpointStore
from dragoman.training.distributed import parallel
from testkit.three_languages import make_three_languages
from testkit.tiny_project import tiny_project, tiny_training
from testkit.training_faults.run_differences import differences
from tests.equivalence.process_group_worker import PATIENCE, SIZES, Job, Report, Together, processes
from tests.equivalence.test_resume import EVERY_KIND

UPDATES = 8
TRANSFORMER = "vaswani2017-desk"


@pytest.fixture(scope="module")
def together() -> Iterator[Together]:
    with processes() as started:
        yield started


def four_batches(name: str, *overrides: str) -> Config:
    """Four batches per update, so that one, two and four processes can share it."""
    settings = ("training.micro_batches=4", "training.batch_tokens=40", f"training.max_updates={UPDATES}")
    return tiny_training(name, *settings, "training.checkpoint_every=4", "training.keep_last=9", *overrides)


def with_everything(name: str, *overrides: str) -> Config:
    """A moving average too, and layers that are computed again in the backward pass."""
    config = four_batches(name, "training.ema_decay=0.9", *overrides)
    return config.model_copy(update={"training": config.training.model_copy(update={"recompute": True})})


def job(config: Config, run: Path, **settings: Any) -> Job:
    return Job(config, tiny_project().folder, run, **settings)


def in_order(reports: list[Report], batches: int) -> list[list[int]]:
    """The first batches of all processes, in the order of the plan."""
    return list(chain.from_iterable(zip(*(report.rows for report in reports), strict=True)))[:batches]


def saved(run: Path, update: int = UPDATES) -> dict[str, Tensor]:
    """All tensors of a checkpoint."""
    checkpoint = CheckpointStore(run / "checkpoints").open(update)
    found = {f"weights/{name}": tensor for name, tensor in checkpoint.weights().items()}
    found |= {f"average/{name}": tensor for name, tensor in (checkpoint.average() or {}).items()}
    return found | checkpoint.optimizer()


def largest_difference(run: Path, other: Path) -> float:
    """Between the weights, and their averages, of two runs."""
    ours, theirs = saved(run), saved(other)
    assert ours.keys() == theirs.keys()
    names = [name for name in ours if name.startswith(("weights/", "average/"))]
    return max(float((ours[name] - theirs[name]).abs().max()) for name in names)


def apart(one: dict[int, float], other: dict[int, float]) -> float:
    """The largest difference between two curves of losses."""
    assert list(one) == list(other) == list(range(1, UPDATES + 1))
    return max(abs(one[update] - other[update]) for update in one)


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("luong2015-desk", marks=pytest.mark.long), TRANSFORMER])
def test_the_same_batches_and_the_same_losses(name: str, together: Together, tmp_path: Path):
    config = four_batches(name)
    reports = {size: together.train(size, job(config, tmp_path / str(size))) for size in SIZES}
    batches = 4 * UPDATES
    orders = [in_order(reports[size], batches) for size in SIZES]
    assert len(orders[0]) == batches
    assert orders[0] == orders[1] == orders[2]
    for size in SIZES[1:]:
        assert apart(reports[1][0].losses, reports[size][0].losses) < 1e-6


@pytest.mark.slow
def test_reproducible_runs_have_the_same_bits_whatever_the_processes(together: Together, tmp_path: Path):
    config = four_batches("luong2015-desk", "training.reproducible=true", "training.ema_decay=0.9")
    whole = tmp_path / "1"
    alone = together.train(1, job(config, whole))
    for size in SIZES[1:]:
        together.train(size, job(config, tmp_path / str(size)))
        assert differences(tmp_path / str(size), whole) == [], size
    changing, order = tmp_path / "changing", []
    for size, stop_after in ((1, 3), (2, 3), (4, 2), (1, 0)):
        reports = together.train(size, job(config, changing, stop_after=stop_after, stopping_rank=size - 1))
        # The batches of the update that was not made any more are drawn again.
        order += in_order(reports, len(reports[0].losses) * 4)
    assert order == in_order(alone, 4 * UPDATES)
    assert differences(changing, whole) == []


@pytest.mark.slow
@pytest.mark.parametrize("place", ["source", "both"])
def test_several_directions_have_the_same_bits_with_one_and_two_processes(
    place: str, together: Together, tmp_path: Path
):
    made = make_three_languages(tmp_path / "three")
    settings = ("training.reproducible=true", "training.micro_batches=2", f"training.max_updates={UPDATES}")
    config = load_config(made, [*settings, f"data.language_tokens={place}", "training.ema_decay=0.9"])
    jobs = {size: Job(config, made.parent, tmp_path / str(size)) for size in (1, 2)}
    orders = [in_order(together.train(size, each), 2 * UPDATES) for size, each in jobs.items()]
    assert orders[0] == orders[1]
    stored = len(PreparedData.open(made.parent / "prepared").shards())
    views = {row // (stored // 3) for batch in orders[0] for row in batch}
    assert views == set(range(6)), "every direction is drawn from"
    assert differences(tmp_path / "2", tmp_path / "1") == []
    changing = tmp_path / "changing"
    for size, stop_after in ((2, 3), (1, 0)):
        together.train(size, Job(config, made.parent, changing, stop_after=stop_after))
    assert differences(changing, tmp_path / "1") == []


@pytest.mark.slow
def test_sums_in_another_order_are_noticed(together: Together, tmp_path: Path):
    """Control: without the reproducible mode, other numbers of processes give other bits."""
    config = four_batches("luong2015-desk", "training.ema_decay=0.9")
    for size in (1, 4):
        together.train(size, job(config, tmp_path / str(size)))
    assert differences(tmp_path / "4", tmp_path / "1") != []


@pytest.mark.slow
def test_one_process_that_is_asked_to_stop_stops_all_with_a_checkpoint(together: Together, tmp_path: Path):
    config = four_batches("luong2015-desk")
    reports = together.train(2, job(config, tmp_path / "run", stop_after=6, stopping_rank=1))
    assert [(report.why, report.update) for report in reports] == [("terminated", 5)] * 2
    assert CheckpointStore(tmp_path / "run" / "checkpoints").steps()[-1] == 5
    together.train(2, job(config, tmp_path / "run"))
    together.train(2, job(config, tmp_path / "whole"))
    assert differences(tmp_path / "run", tmp_path / "whole") == []


@pytest.mark.slow
def test_every_family_trains_on_two_processes(together: Together, tmp_path: Path):
    """DDP raises where a parameter gets no gradient."""
    for name in EVERY_KIND:
        config = tiny_training(name, "training.max_updates=3", "training.validation_sentences=0")
        reports = {size: together.train(size, job(config, tmp_path / f"{name}-{size}")) for size in (1, 2)}
        losses = [reports[size][0].losses for size in (1, 2)]
        assert max(abs(losses[0][update] - losses[1][update]) for update in range(1, 4)) < 1e-6, name


def wrongly_normalised() -> None:
    """Each process divides by its own target tokens, and the mean of the gradients is taken: the common mistake."""
    make = parallel.GradientAccumulator.accumulate

    def wrong(self: Any, batches: Any, tokens: int, update: int) -> Any:
        mine = sum(batch.target_tokens for batch in batches)
        found = make(self, batches, mine * 2, update)
        return parallel.Gradient(found.nll, tokens)

    parallel.GradientAccumulator.accumulate = wrong  # type: ignore[method-assign]


@pytest.mark.long
def test_uneven_processes_are_normalised_by_all_their_tokens(tmp_path: Path):
    config = tiny_training("luong2015-desk", f"training.max_updates={UPDATES}", "training.optimizer=sgd")
    runs = {name: tmp_path / name for name in ("one", "two", "wrong")}
    with processes() as together:
        together.train(1, job(config, runs["one"]))
        together.train(2, job(config, runs["two"]))
        together.train(2, job(config, runs["wrong"], setup=wrongly_normalised))  # these processes end with the block
    assert largest_difference(runs["one"], runs["two"]) < 1e-7
    assert largest_difference(runs["one"], runs["wrong"]) > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("tie", ["all", pytest.param("none", marks=pytest.mark.long)])
def test_sharded_is_the_same_as_replicated(tie: str, together: Together, tmp_path: Path):
    config = with_everything(f"{TRANSFORMER} + model.tie={tie}")
    sharded = with_everything(f"{TRANSFORMER} + model.tie={tie}", "training.sharded=true")
    replicated = together.train(2, job(config, tmp_path / "ddp"))
    divided = together.train(2, job(sharded, tmp_path / "fsdp"))
    assert apart(replicated[0].losses, divided[0].losses) < 1e-5
    assert largest_difference(tmp_path / "ddp", tmp_path / "fsdp") < 1e-5


@pytest.mark.slow
def test_a_sharded_run_goes_on_without_and_the_reverse(together: Together, tmp_path: Path):
    configs = [with_everything(TRANSFORMER, f"training.sharded={value}") for value in ("true", "false")]
    together.train(1, job(configs[1], tmp_path / "whole"))
    for number, (first, second) in enumerate((configs, configs[::-1])):
        run = tmp_path / str(number)
        together.train(2, job(first, run, stop_after=4))
        together.train(2 if second is configs[0] else 1, job(second, run))
        assert largest_difference(run, tmp_path / "whole") < 1e-5
    together.train(1, job(configs[0], tmp_path / "alone"))  # a single process
    assert largest_difference(tmp_path / "alone", tmp_path / "whole") == 0.0


@pytest.mark.slow
def test_recurrent_models_can_be_sharded_too(together: Together, tmp_path: Path):
    for name in ("luong2015-desk", "xu2015-desk"):
        together.train(2, job(four_batches(name), tmp_path / f"{name}-ddp"))
        together.train(2, job(four_batches(name, "training.sharded=true"), tmp_path / f"{name}-fsdp"))
        assert largest_difference(tmp_path / f"{name}-ddp", tmp_path / f"{name}-fsdp") < 1e-5


@pytest.mark.slow
def test_batches_that_cannot_be_shared_evenly_are_refused(together: Together, tmp_path: Path):
    config = four_batches("luong2015-desk", "training.micro_batches=3")
    with pytest.raises(ConfigError, match=r"micro_batches must be a multiple of the number of processes = 2, got 3"):
        together.train(2, job(config, tmp_path / "run"))


ELASTIC = [
    *("training.micro_batches=2", "training.batch_tokens=40", "training.max_updates=80", "training.reproducible=true"),
    *("training.checkpoint_every=10", "training.keep_last=99"),
]


def launch(run: Path) -> subprocess.Popen[str]:
    """Two processes of the command line under torchrun, which starts both again when one dies."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=3"]
    command += ["-m", "dragoman", "train", str(tiny_project().config), "--output", str(run), "--resume"]
    command += [word for setting in ELASTIC for word in ("--set", setting)]
    threads = {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, env={**os.environ, **threads}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def workers_of(launcher: int) -> list[int]:
    """The processes that train, which a launcher started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_child = f"\nPPid:\t{launcher}\n" in (process / "status").read_text(encoding="utf-8")
            if is_child and b"\0train\0" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return sorted(found)


def wait_for(happened: Callable[[], bool], launched: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE
    while not happened():
        assert launched.poll() is None, "it ended too early"
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.01)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for processes in /proc")
def test_a_process_that_is_killed_is_started_again_and_nothing_is_lost(tmp_path: Path):
    run, whole = tmp_path / "killed", tmp_path / "whole"
    launched = launch(run)
    try:
        wait_for((run / "checkpoints" / "step_20").exists, launched)
        os.kill(workers_of(launched.pid)[-1], signal.SIGKILL)
        _, said = launched.communicate(timeout=PATIENCE)
    finally:
        if launched.poll() is None:
            launched.terminate()  # torchrun ends its processes first
            launched.wait(timeout=PATIENCE)
    assert launched.returncode == 0, said
    assert "-9" in said, "torchrun tells of the kill"
    train_model(check_training(load_config(tiny_project().config, ELASTIC), tiny_project().folder, whole))
    assert differences(run, whole) == []
