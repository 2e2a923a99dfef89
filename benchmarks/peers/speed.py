"""Target tokens per second: rounds in which every contender runs once, one after the other."""

from __future__ import annotations

import argparse
import importlib.metadata
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers import contenders as who
from benchmarks.peers import windows
from benchmarks.peers.contenders import TOKENS, Contender, Place
from benchmarks.peers.corpus import prepare
from benchmarks.peers.drivers.dragoman_train import CHECKPOINT_EVERY, LOG_EVERY
from benchmarks.peers.drivers.dragoman_train import prepare as prepare_ours
from benchmarks.peers.environments import ENVIRONMENTS, InstallError, install, version
from benchmarks.peers.running import Measured, RunError, measure
from benchmarks.reporting import heading, table, write
from dragoman.version import __version__

GOAL = 2.0


@dataclass
class Side:
    """A contender and its measurements, or its error message."""

    contender: Contender
    rounds: list[Measured] = field(default_factory=list)
    error: str = ""

    @property
    def rates(self) -> list[float]:
        return [found.speed.tokens_per_second for found in self.rounds]

    @property
    def mean(self) -> float:
        return statistics.mean(self.rates) if self.rates else 0.0


def pythons(needed: set[str | None], folder: Path) -> tuple[dict[str | None, Path], dict[str, str], dict[str, str]]:
    """The Python of each environment, its versions, and the errors of those that could not be made."""
    found: dict[str | None, Path] = {None: Path(sys.executable)}
    versions = {"dragoman": f"dragoman {__version__}, torch {importlib.metadata.version('torch')}"}
    errors: dict[str, str] = {}
    for name in sorted(filter(None, needed)):
        try:
            found[name] = install(ENVIRONMENTS[name], folder)
            versions[name] = version(ENVIRONMENTS[name], folder)
        except InstallError as error:
            errors[name] = str(error)
    return found, versions, errors


def measure_speed(options: argparse.Namespace) -> None:
    sides = [Side(contender) for contender in who.contenders(options.models, options.ours)]
    if options.only:
        sides = [side for side in sides if side.contender.name.startswith(tuple(options.only))]
    found, versions, errors = pythons({side.contender.environment for side in sides}, options.environments)
    with tempfile.TemporaryDirectory(prefix="peers-") as scratch:
        data = Path(scratch) / "data"
        prepare(options.corpus, data, [TOKENS])
        if options.ours == "train":
            prepare_ours(options.corpus, Path(scratch))
        for number in range(options.rounds):
            for side in sides:
                name = side.contender.environment
                if name in errors:
                    side.error = errors[name]
                if not side.error:
                    place = Place(data, Path(scratch), found[name], options.threads)
                    run(side, place, options.seconds, options.warmup)
                said = side.error or f"{side.rates[-1]:,.0f}"
                print(f"round {number + 1}, {side.contender.model}, {side.contender.name}: {said}", flush=True)
    report(options, sides, versions)


def run(side: Side, place: Place, seconds: float, warmup: float) -> None:
    try:
        side.rounds.append(measure(side.contender.job(place, side.contender.model), seconds, warmup))
    except RunError as error:
        side.error = str(error)


def report(options: argparse.Namespace, sides: list[Side], versions: dict[str, str]) -> None:
    command = "python -m benchmarks.peers" + (f" --ours {options.ours}" if options.ours != "train" else "")
    text = heading("Training beside other toolkits", command, options.threads)
    text += "\nWith " + "; ".join(versions.values()) + ".\n"
    text += f"\n{who.__doc__ or ''}"
    text += "\nData: Multi30k en→de, one joint BPE vocabulary of 8,000, given as subwords; batches of about "
    text += f"{TOKENS:,} target tokens, as each toolkit makes them; Adam. Target tokens a second, ends of sentence "
    text += "counted and padding not, "
    text += f"{options.rounds} rounds of {options.seconds:.0f} s after {options.warmup:.0f} s that do not count, one "
    text += "process after the other. Dragoman is " + OURS[options.ours] + ".\n"
    for model in options.models:
        text += f"\n## {model}\n\n" + compare([side for side in sides if side.contender.model == model])
    text += "\n## What is counted\n\n" + (windows.__doc__ or "").split("\n\n")[-1]
    write(options.results or "peers", text, figures(options, sides, versions))


OURS = {
    "train": f"`dragoman train`: loader, log every {LOG_EVERY} updates and checkpoints every {CHECKPOINT_EVERY} on, "
    "the same files through its own `prepare`, which learns its own BPE vocabulary of 8,000 and drops a few pairs",
    "step": "its training step alone, without loader, log and checkpoints",
}


def compare(sides: list[Side]) -> str:
    """The table of one model, and the ratio to the fastest of the others."""
    ours = [side for side in sides if side.contender.is_ours and side.rounds]
    others = [side for side in sides if not side.contender.is_ours and side.rounds]
    short = [side.contender.name.removeprefix("Dragoman, ") for side in ours]
    header = ["", "tokens/s", "rounds", "tokens an update", "peak MiB", *(f"ours {name} / it" for name in short)]
    rows = [row(side, ours) for side in sides]
    text = table(header, rows)
    if others and ours:
        fastest = max(others, key=lambda side: side.mean)
        text += f"\nBeside the fastest, {fastest.contender.name}:\n\n"
        for side in ours:
            each = [a / b for a, b in zip(side.rates, fastest.rates, strict=False)]
            text += f"- {side.contender.name}: **{side.mean / fastest.mean:.2f}** times as fast, by round "
            text += f"{min(each):.2f}–{max(each):.2f}" + (
                f" (goal {GOAL:.0f})\n" if "bf16" in side.contender.name else "\n"
            )
    notes = [f"- {side.contender.name}: {side.contender.note}.\n" for side in sides if side.contender.note]
    failed = [f"- {side.contender.name} did not run: `{side.error}`\n" for side in sides if side.error]
    return text + ("\n" + "".join(notes + failed) if notes or failed else "")


def row(side: Side, ours: list[Side]) -> list[str]:
    if not side.rounds:
        return [side.contender.name, "–", "–", "–", "–", *("–" for _ in ours)]
    ratios = ["–" if side.contender.is_ours else f"{our.mean / side.mean:.2f}" for our in ours]
    return [
        side.contender.name,
        f"{side.mean:,.0f}",
        f"{min(side.rates):,.0f}–{max(side.rates):,.0f}",
        f"{statistics.mean(found.speed.tokens_per_update for found in side.rounds):,.0f}",
        f"{max(found.peak_bytes for found in side.rounds) / 2**20:,.0f}",
        *ratios,
    ]


def figures(options: argparse.Namespace, sides: list[Side], versions: dict[str, str]) -> dict[str, Any]:
    return {
        "threads": options.threads,
        "versions": versions,
        "contenders": [
            {
                "name": side.contender.name,
                "model": side.contender.model,
                "tokens_per_second": side.rates,
                "tokens_per_update": [found.speed.tokens_per_update for found in side.rounds],
                "seconds": [found.speed.seconds for found in side.rounds],
                "peak_bytes": [found.peak_bytes for found in side.rounds],
                "error": side.error,
            }
            for side in sides
        ],
    }
