"""Speed of training next to busy processes, and its memory in fp32 and bf16.

Other programs are imitated by processes that compute without pause. The number of threads is fixed to two or one, or
left to Dragoman ("automatic"). Before threads were adapted, training always used two. Memory is the peak of a process;
before the limit, 1,024 compiled kernels were kept.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.reporting import RESULTS, heading, parser, table, write
from benchmarks.training_loop import NEVER, make_project
from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.config import Config, load_config
from dragoman.environment import peak_memory
from dragoman.reporting.number_format import format_count
from dragoman.training.callbacks.events import CallbackList, StepEvent

UNLIMITED = 1024  # kernels that oneDNN and torch keep by default
CHOICES = {"two": 2, "one": 1, "automatic": 0}


class Rate(CallbackList):
    """Target tokens per second and the peak memory after some updates; stops after `seconds` or `updates`.

    The first `settle` seconds are not part of the speed: kernels are compiled and threads are chosen.
    """

    def __init__(self, settle: float, seconds: float, updates: int) -> None:
        super().__init__()
        self.tokens, self.took = 0, 0.0
        self.memory: dict[int, int] = {}
        self._settle, self._seconds, self._updates = settle, seconds, updates
        self._began: float | None = None
        self._mark: float | None = None

    def on_update(self, event: StepEvent) -> None:
        now = time.perf_counter()
        self._began = self._began or now
        if event.update in (150, self._updates):
            self.memory[event.update] = peak_memory()
        if self._mark is None:
            if now - self._began >= self._settle:
                self._mark = now
            return
        self.tokens += event.tokens
        self.took = now - self._mark
        if self.took >= self._seconds or event.update >= self._updates:
            os.kill(os.getpid(), signal.SIGTERM)


def measured_config(options: argparse.Namespace) -> Config:
    """The Transformer of the preset for 5,000 pairs: width 128, two layers per side, 2 million parameters."""
    whole = load_config(options.work / "dragoman.toml")
    settings: dict[str, Any] = {"precision": options.precision, "threads": options.fixed, "max_updates": NEVER}
    settings |= {
        "max_epochs": 0,
        "validate_every": NEVER,
        "checkpoint_every": NEVER,
        "batch_tokens": options.batch_tokens,
    }
    model = load_config(options.work / "model.toml").model
    return whole.model_copy(update={"model": model, "training": whole.training.model_copy(update=settings)})


def child(options: argparse.Namespace) -> None:
    """Train in this process, and print a line of JSON."""
    rate = Rate(options.settle, options.seconds, options.updates)
    with tempfile.TemporaryDirectory(dir=options.work) as run:
        train_model(check_training(measured_config(options), options.work, Path(run) / "run"), callbacks=[rate])
    print(json.dumps({"tokens_per_second": rate.tokens / max(rate.took, 1e-9), "memory": rate.memory}))


def ask(options: argparse.Namespace, *arguments: str, capacity: int | None = None) -> dict[str, Any]:
    """What a new process measures."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("CACHE_CAPACITY")}
    environment |= {"OMP_NUM_THREADS": str(options.threads)}
    if capacity:
        environment |= {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": str(capacity), "LRU_CACHE_CAPACITY": str(capacity)}
    command = [sys.executable, "-m", "benchmarks.training_load", "--child", "--work", str(options.work), *arguments]
    command += ["--batch-tokens", str(options.batch_tokens)]
    found = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    result: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    print(*arguments, capacity, result, flush=True)
    return result


@contextmanager
def busy(number: int) -> Iterator[None]:
    """Run processes that compute without pause."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def measure_speed(options: argparse.Namespace) -> list[dict[str, Any]]:
    figures = []
    for precision in options.precisions:
        for number in options.busy:
            rates: dict[str, list[float]] = {name: [] for name in CHOICES}
            for _ in range(options.rounds):
                for name, threads in CHOICES.items():
                    with busy(number):
                        found = ask(
                            options,
                            *("--precision", precision, "--fixed", str(threads), "--seconds", str(options.seconds)),
                            *("--settle", str(options.settle)),
                        )
                    rates[name].append(found["tokens_per_second"])
            figures.append({"precision": precision, "busy": number, **rates})
    return figures


def measure_memory(options: argparse.Namespace) -> list[dict[str, Any]]:
    figures = []
    kinds: list[tuple[str, str, int | None]] = [("fp32", "fp32", None), ("bf16, before", "bf16", UNLIMITED)]
    kinds += [("bf16, now", "bf16", None), *((f"bf16, {each} kernels", "bf16", each) for each in options.capacities)]
    for name, precision, capacity in kinds:
        found = ask(
            options,
            *("--precision", precision, "--fixed", str(options.threads), "--seconds", "1e9"),
            *("--updates", str(options.updates)),
            capacity=capacity,
        )
        figures.append({"name": name, "capacity": capacity, **found})
    return figures


def measure(options: argparse.Namespace) -> None:
    """Measure the chosen parts, and write the page with the last figures of the other one."""
    make_project(options.corpus, options.work)
    (options.work / "model.toml").write_text('extends = "pairs-5k"\n', encoding="utf-8")
    stored = RESULTS / "training-load.json"
    found: dict[str, Any] = json.loads(stored.read_text(encoding="utf-8")) if stored.is_file() else {}
    if "speed" in options.parts:
        before = {(each["precision"], each["busy"]): each for each in found.get("speed", {}).get("figures", ())}
        settings = {"load": os.getloadavg()[0], "seconds": options.seconds, "threads": options.threads}
        settings["batch_tokens"] = options.batch_tokens
        now = {(each["precision"], each["busy"]): each for each in measure_speed(options)}
        found["speed"] = settings | {"figures": list((before | now).values())}
    if "memory" in options.parts:
        settings = {"updates": options.updates, "threads": options.threads, "batch_tokens": options.batch_tokens}
        found["memory"] = settings | {"figures": measure_memory(options)}
    text = heading("Training on a busy machine", "python -m benchmarks.training_load", options.threads)
    text += f"\n{__doc__ or ''}\nMulti30k en→de, a Transformer of width 128 and 2 million parameters.\n"
    for part, section in {"speed": speed_section, "memory": memory_section}.items():
        text += section(found[part]) if part in found else ""
    write("training-load", text, found)


def speed_section(found: dict[str, Any]) -> str:
    text = "\n## Speed\n\nThousand target tokens per second, "
    text += f"batches of at most {found['batch_tokens']:,} tokens, median of "
    text += f"interleaved rounds of {found['seconds']:g} s, on {found['threads']} cores. The ratio is automatic to the "
    text += (
        "better of the others, median of the rounds; the goal is the lowest that is allowed. The load average before "
    )
    text += f"the last measurement was {found['load']:.1f}; the figures are of value only if it was near 0.\n\n"
    rows = []
    for each in found["figures"]:
        shown = [f"{statistics.median(each[name]) / 1000:.2f}" for name in CHOICES]
        name = f"{each['precision']}, {each['busy']} busy"
        rows.append([name, str(len(each["one"])), *shown, f"**{automatic_ratio(each):.2f}**", "0.90"])
    return text + table(["precision and load", "rounds", *CHOICES, "ratio", "goal"], rows)


def automatic_ratio(figure: dict[str, Any]) -> float:
    """Return the speed of automatic threads, relative to the better of one and two: the median of the rounds."""
    rounds = zip(figure["two"], figure["one"], figure["automatic"], strict=True)
    return statistics.median(automatic / max(one, two) for two, one, automatic in rounds)


def memory_section(found: dict[str, Any]) -> str:
    text = f"\n## Memory\n\nPeak memory with {format_count(found['threads'], 'thread')} and batches of at most "
    text += (
        f"{found['batch_tokens']:,} tokens; the ratio is to fp32 at the end, the goal 1.5. The speed is in thousand "
    )
    text += "tokens per second, one run each: it is of value only on an idle machine.\n\n"
    rows = []
    base = max(found["figures"][0]["memory"].values())
    for each in found["figures"]:
        sizes = [size for _, size in sorted((int(update), size) for update, size in each["memory"].items())]
        cells = [f"{size / 2**30:.2f} GiB" for size in sizes]
        rows.append([each["name"], *cells, f"**{sizes[-1] / base:.2f}**", f"{each['tokens_per_second'] / 1000:.2f}"])
    updates = [f"after {number:,}" for number in sorted({150, found["updates"]})]
    return text + table(["precision", *updates, "ratio", "speed"], rows)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("parts", nargs="*", default=["speed", "memory"], help="speed, memory or both")
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--precisions", nargs="+", default=["fp32", "bf16"])
    options.add_argument("--busy", nargs="+", type=int, default=[0, 1, 2])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=40.0, help="of one measurement of speed")
    options.add_argument("--settle", type=float, default=10.0, help="seconds before it")
    options.add_argument("--updates", type=int, default=2500, help="of one measurement of memory")
    options.add_argument("--batch-tokens", type=int, default=4096)
    options.add_argument("--capacities", nargs="*", type=int, default=[64, 256], help="other limits to compare")
    options.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--precision", default="fp32", help=argparse.SUPPRESS)
    options.add_argument("--fixed", type=int, default=0, help=argparse.SUPPRESS)
    options.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        child(chosen)
        return
    with tempfile.TemporaryDirectory(prefix="dragoman-load-") as room:
        chosen.work = Path(room)
        measure(chosen)


if __name__ == "__main__":
    main()
