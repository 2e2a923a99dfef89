"""The record of a run: log.jsonl, run.json and curves. What it says of an update is said once, whatever was killed."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from dragoman import __version__
from dragoman.config import Config, to_toml
from dragoman.environment import machine
from dragoman.files import read_json, write_json
from dragoman.training.curves import Curves
from dragoman.training.progress import Began, Ended, Moment, Validated
from dragoman.training.run_log import Entry, Kept, RunLog, finite, now, writable

__all__ = ["Record"]


class Record:
    """Writes down what happens in a run, as an `Observer`.

    ``log.jsonl`` is the truth about curves. ``run.json`` says what ran, where, and how it ended. ``curves`` is for
    TensorBoard. A run that goes on takes back what was written after the update it goes on from.
    """

    def __init__(
        self, folder: Path, config: Config, *, facts: Mapping[str, Any], tell: Callable[[str], None] | None = None
    ) -> None:
        """`facts` are the data's, for run.json; `tell` hears what the record itself has to note."""
        self._folder = folder
        self._every = config.training.log_every
        self._log = RunLog(folder / "log.jsonl")
        self._run = _Run(folder / "run.json", hashlib.sha256(to_toml(config).encode()).hexdigest(), dict(facts))
        self._tell = tell
        self._window = _Window()
        self._update: int | None = None
        self._drawn = 0
        self._early: list[str] = []
        self._curves: Curves | None = None

    def began(self, began: Began) -> None:
        """Take back what the run will say again, and open the record."""
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = self._log.cut_back(began)
        self._update, self._drawn = began.update, began.drawn
        self._run.begin(began, kept)
        for text in self._early:
            self.noted(text)
        if kept.unreadable:
            self._note(f"log.jsonl had {kept.unreadable} lines that cannot be read; they are left out")
        self._curves = Curves(self._folder / "curves", began.update, self._note)

    def updated(self, moment: Moment) -> None:
        """Remember it; every so many updates, write."""
        if self._update is not None and moment.update <= self._update:
            self._go_back(moment.update - 1)
        self._update, self._drawn = moment.update, moment.drawn
        self._window.add(moment)
        if moment.skipped:
            self._log.append("skipped", _skipped(moment))
        if moment.update % self._every == 0:
            self._write_window()

    def validating(self, update: int) -> None:
        """Nothing is known yet."""

    def validated(self, validated: Validated) -> None:
        """Write it into all three."""
        entry = _validation(validated)
        self._log.append("validation", entry)
        self._run.validate(validated.update, entry)
        if self._curves:
            numbers = {"loss": validated.loss, **validated.scored.scores}
            self._curves.draw(validated.update, {f"validation/{name}": value for name, value in numbers.items()})
            self._curves.show(validated.update, validated.scored.samples)

    def saving(self, update: int) -> None:
        """Bring the log to the disk, up to here: once there is the checkpoint, nobody says this again."""
        if self._update is not None and update < self._update:
            self._go_back(update)
            self._update = update
        self._write_window()
        self._log.sync()

    def saved(self, update: int, folder: Path) -> None:
        """Write that it is there."""
        self._log.append("checkpoint", {"update": update})

    def noted(self, text: str) -> None:
        """Write it down, once there is a log."""
        if self._update is None:
            self._early.append(text)
        else:
            self._log.append("note", {"update": self._update, "drawn": self._drawn, "text": text})

    def ended(self, ended: Ended) -> None:
        """Write what is left, and close the record."""
        self._write_window()
        self._log.append("end", asdict(ended))
        self._run.end(ended)
        if self._curves:
            self._curves.close()

    def _note(self, text: str) -> None:
        """Note something about the record itself."""
        self.noted(text)
        if self._tell:
            self._tell(text)

    def _go_back(self, update: int) -> None:
        """Training undid its last updates, and will make them anew; only what was noted of them stays."""
        self._window = _Window()
        self._log.go_back(update)
        if self._curves:
            self._curves.go_back(update)

    def _write_window(self) -> None:
        window, self._window = self._window, _Window()
        if window.last is None:
            return
        entry = window.entry(window.last)
        self._log.append("update", entry)
        if self._curves:
            names = ("loss", "learning_rate", "gradient_norm", "tokens_per_second")
            self._curves.draw(window.last.update, {f"train/{name}": entry[name] for name in names})


@dataclass
class _Window:
    """The updates since the last entry. One that was skipped counts by its time alone."""

    updates: int = 0
    tokens: int = 0
    loss: float = 0.0
    gradient_norm: float = 0.0
    seconds: float = 0.0
    last: Moment | None = None

    def add(self, moment: Moment) -> None:
        self.seconds += moment.seconds
        if moment.skipped:
            return
        self.updates += 1
        self.tokens += moment.tokens
        self.loss += moment.loss * moment.tokens
        self.gradient_norm += moment.gradient_norm
        self.last = moment

    def entry(self, last: Moment) -> Entry:
        return {
            "update": last.update,
            "epoch": last.epoch,
            "updates": self.updates,
            "loss": self.loss / self.tokens if self.tokens else math.nan,
            "tokens": self.tokens,
            "tokens_per_second": self.tokens / self.seconds if self.seconds else math.nan,
            "gradient_norm": self.gradient_norm / self.updates,
            "learning_rate": last.learning_rate,
        }


def _skipped(moment: Moment) -> Entry:
    entry = asdict(moment)
    return {"update": moment.update, "why": entry.pop("skipped"), **entry}


def _validation(validated: Validated) -> Entry:
    entry = {name: getattr(validated, name) for name in ("update", "loss", "is_best", "metric", "best_update")}
    entry |= {"best_value": validated.best_value, "seconds": validated.seconds}
    scored = validated.scored
    entry |= {"scores": dict(scored.scores), "signatures": dict(scored.signatures)}
    texts = ("source", "reference", "translation")
    entry["samples"] = [{name: getattr(sample, name) for name in texts} for sample in scored.samples]
    return entry


@dataclass
class _Run:
    """run.json: always whole, and true since the last validation."""

    path: Path
    config_sha256: str
    data: dict[str, Any]
    facts: Entry = field(default_factory=dict)
    clock: float = 0.0

    def begin(self, began: Began, kept: Kept) -> None:
        before = read_json(self.path) or {}
        starts = [{**start, "ended": start.get("ended") or "cut off"} for start in before.get("starts", [])]
        starts.append({"when": now(), "from_update": began.update, "update": began.update, "seconds": 0.0})
        starts[-1]["ended"] = None
        self.clock = time.monotonic()
        self.facts = {
            "dragoman": __version__,
            "torch": torch.__version__,
            "machine": machine().signature,
            "processes": began.processes,
            "threads": torch.get_num_threads(),
            "device": began.device,
            "parameters": began.parameters,
            "config_sha256": self.config_sha256,
            "data": self.data,
            "update": began.update,
            "max_updates": began.max_updates,
            "ended": None,
            "best": kept.best and _result(kept.best),
            "last": kept.last and _result(kept.last),
            "seconds": 0.0,
            "starts": starts,
        }
        self._write(began.update, time.monotonic() - self.clock)

    def validate(self, update: int, entry: Entry) -> None:
        self.facts["last"] = _result(entry)
        if entry["is_best"]:
            self.facts["best"] = _result(entry)
        self._write(update, time.monotonic() - self.clock)

    def end(self, ended: Ended) -> None:
        self.facts["ended"] = self.facts["starts"][-1]["ended"] = ended.why
        self._write(ended.update, ended.seconds)

    def _write(self, update: int, seconds: float) -> None:
        self.facts["update"] = update
        self.facts["starts"][-1] |= {"update": update, "seconds": round(seconds, 3)}
        self.facts["seconds"] = round(sum(start["seconds"] for start in self.facts["starts"]), 3)
        with writable(self.path):
            write_json(self.path, finite(self.facts))


def _result(validation: Entry) -> Entry:
    """What run.json says of a validation."""
    names = ("update", "metric", "loss", "scores", "signatures")
    return {name: validation.get(name) for name in names}
