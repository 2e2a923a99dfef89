"""The whole training loop (loader, log, curves, checkpoints), compared with the plain step on the same batches.

R and T are the models of `benchmarks.training_step`, without input feeding. Both run alternately in one process: after
every few updates the loop waits while the plain step processes the same batches, which it has in memory. Memory is that
of each in its own process.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from benchmarks.reporting import heading, parser, table, write
from benchmarks.training_step import VOCAB, make_models
from dragoman.api.training.checked_training import check_training
from dragoman.api.training.preparation import prepare_corpora
from dragoman.api.training.training_run import train_model
from dragoman.config import Config, load_config
from dragoman.data.batch import Batch
from dragoman.data.loader import BatchLoader
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.environment import peak_memory
from dragoman.models import Model, build_model
from dragoman.training import build_optimizer, train_step
from dragoman.training.callbacks.events import CallbackList, StepEvent, TrainingStarted
from dragoman.training.step import RewardBaseline

GOALS = {"speed": 0.95, "memory": 1.25, "scaling": 0.9}
NEVER = 1_000_000_000
MEMORY_UPDATES = 8


class PlainStep:
    """`train_step` on batches that are in memory already."""

    def __init__(self, config: Config, folder: Path, updates: int) -> None:
        prepared = _prepared(config, folder)
        self._config = config.training
        self._model = _model(config, prepared)
        self._optimizer = build_optimizer(self._model, self._config)
        self._baseline = RewardBaseline(self._config.baseline_decay)
        with BatchLoader.from_prepared(prepared, config) as loader:
            self.batches: list[Batch] = list(islice(loader, updates))

    def step(self, update: int) -> None:
        """Update number `update`, from 1."""
        batch = self.batches[(update - 1) % len(self.batches)]
        made = train_step(self._model, self._optimizer, batch, self._config, update, self._baseline)
        self._baseline = made.baseline


@dataclass
class Interleaved(CallbackList):
    """Run the plain step on the same batches after every `every` updates of the loop; stop after `rounds`.

    The loop is charged all time between its updates except checkpoints, which are measured separately.
    """

    plain: PlainStep
    every: int
    rounds: int
    seconds: float = float("inf")
    clock: Callable[[], float] = time.perf_counter
    loop_seconds: list[float] = field(default_factory=list)
    plain_seconds: list[float] = field(default_factory=list)
    save_seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._began = self._mark = self.clock()
        self._mine = 0.0

    def on_start(self, began: TrainingStarted) -> None:
        self._mark = self.clock()

    def on_checkpoint_end(self, update: int, folder: Path) -> None:
        now = self.clock()
        self.save_seconds.append(now - self._mark)
        self._mark = now

    def on_update(self, moment: StepEvent) -> None:
        now = self.clock()
        self._mine += now - self._mark
        if moment.update % self.every == 0:
            self.loop_seconds.append(self._mine)
            self._mine = 0.0
            for update in range(moment.update - self.every + 1, moment.update + 1):
                self.plain.step(update)
            after = self.clock()
            self.plain_seconds.append(after - now)
            done = len(self.plain_seconds)
            if done > self.rounds or (done > 1 and after - self._began > self.seconds):
                os.kill(os.getpid(), signal.SIGTERM)
        self._mark = self.clock()


@dataclass(frozen=True)
class Comparison:
    """Seconds per round of both sides, and of one checkpoint, charged at the default checkpoint interval."""

    loop: list[float]
    plain: list[float]
    save: float
    updates: int
    checkpoint_every: int

    @property
    def ratios(self) -> list[float]:
        """The speed of the loop over that of the plain step, by round."""
        charged = self.save * self.updates / self.checkpoint_every
        return [plain / (loop + charged) for loop, plain in zip(self.loop, self.plain, strict=True)]

    @property
    def ratio(self) -> float:
        """Their median."""
        return statistics.median(self.ratios)


def compare(
    config: Config,
    folder: Path,
    run: Path,
    *,
    every: int,
    rounds: int,
    seconds: float = float("inf"),
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Measure both sides interleaved; the first round warms up and is not counted."""
    plain = PlainStep(config, folder, every * (rounds + 1))
    for update in range(1, every * (rounds + 1) + 1):
        # Some kernels are compiled at the first use of each shape; without this step only the loop would pay for it.
        plain.step(update)
    turns = Interleaved(plain, every, rounds, seconds, clock)
    train_model(check_training(_endless(config), folder, run), callbacks=[turns])
    # The first checkpoint has no optimizer state yet: the last one has the usual size.
    return Comparison(
        turns.loop_seconds[1:],
        turns.plain_seconds[1:],
        turns.save_seconds[-1],
        every,
        config.training.checkpoint_every,
    )


class Rate(CallbackList):
    """Target tokens per second, from the third update on, for some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.tokens, self.took = 0, 0.0
        self._seconds, self._mark = seconds, 0.0

    def on_update(self, moment: StepEvent) -> None:
        now = time.perf_counter()
        if moment.update == 2:
            self._mark = now
        elif moment.update > 2:
            self.tokens += moment.tokens
            self.took = now - self._mark
            if self.took > self._seconds:
                os.kill(os.getpid(), signal.SIGTERM)


def measured_config(name: str, precision: str, folder: Path) -> Config:
    """One of the models on the prepared data, without validation; all else is as in any run."""
    training = {"precision": precision, "warmup_updates": 100, "micro_batches": 1}
    whole = load_config(folder / "dragoman.toml")
    settings = whole.training.model_copy(update=training)
    return whole.model_copy(update={"model": make_models(name)[1], "training": settings})


def make_project(corpus: Path, folder: Path) -> None:
    """Multi30k, prepared."""
    files = [str((corpus / f"train.{language}.gz").resolve()) for language in ("en", "de")]
    lines = ['extends = "pairs-30k"', "[data]", 'source = "en"', 'target = "de"', "[[data.train]]"]
    lines += [f"files = {json.dumps(files)}", "[tokenizer]", 'algorithm = "bpe"', f"size = {VOCAB}"]
    lines += ["[training]", "batch_tokens = 4096", "patience = 0"]
    (folder / "dragoman.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    prepare_corpora(load_config(folder / "dragoman.toml"), folder)


def _endless(config: Config, **settings: Any) -> Config:
    training = config.training.model_copy(update={"max_updates": NEVER, "max_epochs": 0, **settings})
    return config.model_copy(update={"training": training})


def _prepared(config: Config, folder: Path) -> PreparedData:
    assert config.data is not None
    return PreparedData.open(folder / config.data.folder)


def _model(config: Config, prepared: PreparedData) -> Model[Any, Any]:
    tokenizers = prepared.tokenizers()
    sizes = (tokenizers["source"].size, tokenizers["target"].size)
    return build_model(config.model, *sizes, seed=config.training.seed)


# ------------------------------------------------------------------------------------------ in processes of their own


def child(options: argparse.Namespace) -> None:
    """One side of one figure; its result is a line of JSON, from the first process."""
    folder = options.work
    config = measured_config(options.models[0], options.precision, folder)
    with tempfile.TemporaryDirectory(dir=folder) as room:
        if options.child == "plain memory":
            plain = PlainStep(config, folder, MEMORY_UPDATES)
            for update in range(1, MEMORY_UPDATES + 1):
                plain.step(update)
        elif options.child == "loop memory":
            few = {"max_updates": MEMORY_UPDATES, "checkpoint_every": MEMORY_UPDATES // 2}
            train_model(check_training(_endless(config, **few), folder, Path(room) / "run"))
        else:
            _train_for(config, folder, options.seconds)
            return
    print(json.dumps(peak_memory()))


def _train_for(config: Config, folder: Path, seconds: float) -> None:
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    rate = Rate(seconds)
    run = folder / f"scaling-{os.environ.get('TORCHELASTIC_RUN_ID', os.getpid())}"  # the same in all processes
    train_model(check_training(_endless(config, micro_batches=processes), folder, run, resume=True), callbacks=[rate])
    if rate.tokens:
        print(json.dumps(rate.tokens / rate.took))


def ask(options: argparse.Namespace, what: str, name: str, precision: str, *, processes: int = 1) -> float:
    """What a process of its own, or several, found."""
    launcher = [sys.executable, "-m"]
    if processes > 1:
        launcher += ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "-m"]
    threads = "1" if what == "scaling" else str(options.threads)
    command = [*launcher, "benchmarks.training_loop", "--child", what, "--models", name, "--precision", precision]
    command += ["--work", str(options.work), "--threads", threads, "--seconds", str(options.scaling_seconds)]
    found = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": threads}, stdout=subprocess.PIPE, check=True, text=True
    )
    return float(json.loads(found.stdout.splitlines()[-1]))


# ------------------------------------------------------------------------------------------------------- the figures


def measure_speed(options: argparse.Namespace) -> tuple[list[list[str]], list[dict[str, Any]]]:
    rows, figures = [], []
    for name in options.models:
        for precision in ("fp32", "bf16"):
            config = measured_config(name, precision, options.work)
            run = options.work / f"{name}-{precision}"
            found = compare(config, options.work, run, every=4, rounds=options.rounds, seconds=options.seconds)
            print(name, precision, [f"{ratio:.3f}" for ratio in found.ratios], flush=True)
            spread = f"{min(found.ratios):.2f}–{max(found.ratios):.2f}"
            rows.append([f"{name}, {precision}", f"**{found.ratio:.3f}**", spread, f"{found.save:.2f} s", "0.95"])
            figures.append({"model": name, "precision": precision, "loop": found.loop, "plain": found.plain})
    return rows, figures


def measure_memory(options: argparse.Namespace) -> tuple[list[list[str]], list[dict[str, Any]]]:
    rows, figures = [], []
    for name in options.models:
        for precision in ("fp32", "bf16"):
            loop, plain = (ask(options, f"{side} memory", name, precision) for side in ("loop", "plain"))
            sizes = [f"{size / 2**30:.2f} GiB" for size in (loop, plain)]
            rows.append([f"{name}, {precision}", *sizes, f"**{loop / plain:.2f}**", "1.25"])
            figures.append({"model": name, "precision": precision, "loop": loop, "plain": plain})
    return rows, figures


def measure_scaling(options: argparse.Namespace) -> tuple[list[list[str]], list[dict[str, Any]]]:
    rows, figures = [], []
    for name in options.models:
        one, two = [], []
        for _ in range(options.scaling_rounds):
            one.append(ask(options, "scaling", name, "fp32"))
            two.append(ask(options, "scaling", name, "fp32", processes=2))
        ratio = statistics.median(both / (2 * alone) for alone, both in zip(one, two, strict=True))
        rates = [f"{statistics.median(side):,.0f}" for side in (one, two)]
        rows.append([f"{name}, fp32", *rates, f"**{ratio:.2f}**", "0.90"])
        figures.append({"model": name, "one": one, "two": two})
    return rows, figures


def measure(options: argparse.Namespace) -> None:
    began = time.monotonic()
    make_project(options.corpus, options.work)
    speed, memory, scaling = (each(options) for each in (measure_speed, measure_memory, measure_scaling))
    text = heading("The training loop beside the plain step", "python -m benchmarks.training_loop", options.threads)
    text += (
        f"\n{__doc__ or ''}\nMulti30k en→de, one joint BPE vocabulary of {VOCAB:,}, batches of at most 4,096 tokens. "
    )
    text += f"All of it took {(time.monotonic() - began) / 60:.0f} minutes.\n\n## Speed\n\n"
    text += "Plain seconds over the loop's: the median of rounds of 4 updates a side. A save is charged to each update "
    text += "by the share that falls on it with a save every 500 updates.\n\n"
    text += table(["model", "ratio", "rounds", "a save", "goal"], speed[0])
    text += f"\n## Memory\n\nThe highest resident memory over {MEMORY_UPDATES} updates, two saves among the loop's.\n\n"
    text += table(["model", "loop", "plain step", "ratio", "goal"], memory[0])
    text += "\n## Two processes\n\nTarget tokens a second of the loop, one thread a process; the ratio is to twice the "
    text += "rate of one.\n\n"
    text += table(["model", "one process", "two processes", "ratio", "goal"], scaling[0])
    write("training-loop", text, {"speed": speed[1], "memory": memory[1], "scaling": scaling[1]})


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--models", nargs="+", default=["R", "T"])
    options.add_argument("--seconds", type=float, default=60.0, help="at most, for both sides of one speed")
    options.add_argument("--rounds", type=int, default=12, help="at most, of one speed")
    options.add_argument("--scaling-seconds", type=float, default=15.0)
    options.add_argument("--scaling-rounds", type=int, default=2)
    options.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--precision", default="fp32", help=argparse.SUPPRESS)
    options.add_argument("--child", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    if chosen.child:
        child(chosen)
        return
    with tempfile.TemporaryDirectory(prefix="dragoman-loop-") as room:
        chosen.work = Path(room)
        measure(chosen)


if __name__ == "__main__":
    main()
