"""Record a run in log.jsonl and run.json; each update once, even after a crash, resume or rollback."""

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from dragoman.config import Config, to_toml
from dragoman.environment import machine_info
from dragoman.errors import TrainingError
from dragoman.files import atomic_write, read_json, write_json
from dragoman.run_files import LOG, RECORD
from dragoman.training.callbacks.events import (
    CallbackList,
    StepEvent,
    TrainingEnded,
    TrainingStarted,
    ValidationEvent,
    ValidationSample,
)
from dragoman.version import __version__

Entry = dict[str, Any]

# Some readers end a line at these characters. JSON escapes the other line breaks.
_LINE_BREAKS = str.maketrans({character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"})
_MESSAGES = ("note", "skipped")


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Convert an `OSError`, for instance of a full disk, to a `TrainingError`."""
    try:
        yield
    except OSError as error:
        raise TrainingError(f"{path} cannot be written: {error}; fix that, then continue with --resume") from None


@dataclass
class RetainedEntries:
    """The entries of earlier starts that remain valid."""

    best: Entry | None = None
    last: Entry | None = None
    unreadable: int = 0

    def add(self, entry: Entry) -> None:
        if entry.get("kind") == "validation":
            self.last = entry
            if entry.get("is_best"):
                self.best = entry


class RunLog:
    """A file of JSON objects, one per line. It is opened for each line, so no line stays in a buffer."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, kind: str, entry: Entry) -> None:
        """Write a line, and pass it to the operating system."""
        with writable(self._path), self._path.open("ab") as file:
            file.write(_line({"kind": kind, "time": timestamp(), **entry}))

    def sync(self) -> None:
        """Flush all lines to the disk."""
        with writable(self._path), self._path.open("ab") as file:
            os.fsync(file.fileno())

    def truncate(self, started: TrainingStarted) -> RetainedEntries:
        """Remove entries after the checkpoint that a run resumes from, and an incomplete last line."""

        def kept(entry: Entry) -> Entry | None:
            is_later = entry["update"] > started.update or entry.get("drawn", 0) > started.drawn
            is_repeated = entry.get("kind") == "validation" and entry["update"] > started.last_validated
            return None if is_later or is_repeated else entry

        return self._rewrite(kept)

    def roll_back(self, update: int) -> None:
        """Remove entries after an update. Later messages, which explain the rollback, are moved to that update."""

        def kept(entry: Entry) -> Entry | None:
            if entry["update"] <= update:
                return entry
            is_message = entry.get("kind") in _MESSAGES
            return {**entry, "update": update, "at_update": entry["update"]} if is_message else None

        self._rewrite(kept)

    def _rewrite(self, change: Callable[[Entry], Entry | None]) -> RetainedEntries:
        """Replace each entry by the result of `change`; None removes it."""
        kept = RetainedEntries()
        if not self._path.exists():
            return kept
        with (
            writable(self._path),
            atomic_write(self._path) as draft,
            draft.open("wb") as new,
            self._path.open("rb") as old,
        ):
            for line in old:
                entry = _read(line)
                if entry is None:
                    kept.unreadable += line.endswith(b"\n")  # otherwise it was cut off by a crash, which is expected
                elif (changed := change(entry)) is not None:
                    kept.add(changed)
                    new.write(line if changed is entry else _line(changed))
        return kept


def _line(entry: Entry) -> bytes:
    text = json.dumps(finite_or_null(entry), ensure_ascii=False, allow_nan=False).translate(_LINE_BREAKS)
    return f"{text}\n".encode("utf-8", "backslashreplace")  # text that is not valid Unicode becomes a JSON escape


def _read(line: bytes) -> Entry | None:
    """Parse a line; None if it is incomplete or not an entry."""
    try:
        entry = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    is_entry = (
        isinstance(entry, dict) and isinstance(entry.get("update"), int) and isinstance(entry.get("drawn", 0), int)
    )
    return entry if is_entry else None


def finite_or_null(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite_or_null(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_or_null(item) for item in value]
    return value


def timestamp() -> str:
    """The current time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


_WEIGHT_DIGITS = 3


class RunRecord(CallbackList):
    """A callback that records the curves in ``log.jsonl``, and run, machine and result in ``run.json``."""

    def __init__(
        self,
        folder: Path,
        config: Config,
        *,
        facts: Mapping[str, Any],
        overrides: Sequence[str] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """`facts` are for run.json; `overrides` are settings in addition to the file, None without one."""
        super().__init__()
        self._folder = folder
        self._every = config.training.log_every
        self._log = RunLog(folder / LOG)
        digest = hashlib.sha256(to_toml(config).encode()).hexdigest()
        self._run = _Run(folder / RECORD, digest, dict(facts), None if overrides is None else [*overrides])
        self._report = report
        self._window = _Window()
        self._update: int | None = None
        self._drawn = 0
        self._early: list[str] = []

    def on_start(self, started: TrainingStarted) -> None:
        """Remove entries that the run will repeat, and open the record."""
        self._folder.mkdir(parents=True, exist_ok=True)
        kept = self._log.truncate(started)
        self._update, self._drawn = started.update, started.drawn
        self._run.begin(started, kept)
        for text in self._early:
            self.on_message(text)
        if kept.unreadable:
            self._note(f"log.jsonl had {kept.unreadable} invalid lines; they were removed")

    def on_update(self, event: StepEvent) -> None:
        """Add the update to the window; write the window every `log_every` updates."""
        if self._update is not None and event.update <= self._update:
            self._roll_back(event.update - 1)
        self._update, self._drawn = event.update, event.drawn
        self._window.add(event)
        if event.skipped:
            facts = asdict(event)
            self._log.append("skipped", {"update": event.update, "why": facts.pop("skipped"), **facts})
        if event.update % self._every == 0:
            self._write_window()

    def on_validation_end(self, event: ValidationEvent) -> None:
        """Write the scores to both."""
        entry = _validation(event)
        self._log.append("validation", entry)
        self._run.validate(event.update, entry)

    def on_checkpoint_start(self, update: int) -> None:
        """Flush the log: a run resumed from this checkpoint does not report these events again."""
        if self._update is not None and update < self._update:
            self._roll_back(update)
            self._update = update
        self._write_window()
        self._log.sync()

    def on_checkpoint_end(self, update: int, folder: Path) -> None:
        self._log.append("checkpoint", {"update": update})

    def on_message(self, text: str) -> None:
        """Log a message; before the start it is kept until the log is open."""
        if self._update is None:
            self._early.append(text)
        else:
            self._log.append("note", {"update": self._update, "drawn": self._drawn, "text": text})

    def on_end(self, ended: TrainingEnded) -> None:
        """Write the last window and close the record."""
        self._write_window()
        self._log.append("end", asdict(ended))
        self._run.end(ended)

    def _note(self, text: str) -> None:
        """Log and report a message about the record itself."""
        self.on_message(text)
        if self._report:
            self._report(text)

    def _roll_back(self, update: int) -> None:
        """Remove the entries of updates that training undid, except messages."""
        self._window = _Window()
        self._log.roll_back(update)

    def _write_window(self) -> None:
        window, self._window = self._window, _Window()
        if window.last is None:
            return
        self._log.append("update", window.entry(window.last))


@dataclass
class _Window:
    """The updates since the last entry. Of a skipped update only the time counts."""

    updates: int = 0
    tokens: int = 0
    loss: float = 0.0
    gradient_norm: float = 0.0
    seconds: float = 0.0
    last: StepEvent | None = None

    def add(self, event: StepEvent) -> None:
        self.seconds += event.seconds
        if event.skipped:
            return
        self.updates += 1
        self.tokens += event.tokens
        self.loss += event.loss * event.tokens
        self.gradient_norm += event.gradient_norm
        self.last = event

    def entry(self, last: StepEvent) -> Entry:
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


def _validation(event: ValidationEvent) -> Entry:
    entry = {name: getattr(event, name) for name in ("update", "loss", "is_best", "metric", "best_update")}
    entry |= {"best_value": event.best_value, "seconds": event.seconds}
    scored = event.scored
    entry |= {"scores": dict(scored.scores), "signatures": dict(scored.signatures)}
    entry["samples"] = [_sample(sample) for sample in scored.samples]
    if scored.directions:
        entry["directions"] = {name: dict(scores) for name, scores in scored.directions.items()}
    return entry


def _sample(sample: ValidationSample) -> Entry:
    entry = asdict(sample)
    if sample.weights is None:
        del entry["weights"]
    else:
        entry["weights"] = [[round(weight, _WEIGHT_DIGITS) for weight in row] for row in sample.weights]
    return entry


@dataclass
class _Run:
    """run.json: replaced atomically at the start, after each validation and at the end."""

    path: Path
    config_sha256: str
    data: dict[str, Any]
    overrides: list[str] | None = None
    facts: Entry = field(default_factory=dict)
    clock: float = 0.0

    def begin(self, started: TrainingStarted, kept: RetainedEntries) -> None:
        before = read_json(self.path) or {}
        starts = [{**start, "ended": start.get("ended") or "cut off"} for start in before.get("starts", [])]
        starts.append({"when": timestamp(), "from_update": started.update, "update": started.update, "seconds": 0.0})
        starts[-1]["ended"] = None
        self.clock = time.monotonic()
        self.facts = {
            "dragoman": __version__,
            "torch": torch.__version__,
            "machine": machine_info().signature,
            "processes": started.processes,
            "threads": torch.get_num_threads(),
            "device": started.device,
            "parameters": started.parameters,
            "trainable_parameters": started.parameters if started.trainable is None else started.trainable,
            "config_sha256": self.config_sha256,
            "overrides": self.overrides,
            "data": self.data,
            "update": started.update,
            "max_updates": started.max_updates,
            "ended": None,
            "best": kept.best and _result(kept.best),
            "last": kept.last and _result(kept.last),
            "seconds": 0.0,
            "starts": starts,
        }
        self._write(started.update, time.monotonic() - self.clock)

    def validate(self, update: int, entry: Entry) -> None:
        self.facts["last"] = _result(entry)
        if entry["is_best"]:
            self.facts["best"] = _result(entry)
        self._write(update, time.monotonic() - self.clock)

    def end(self, ended: TrainingEnded) -> None:
        self.facts["ended"] = self.facts["starts"][-1]["ended"] = ended.why
        self._write(ended.update, ended.seconds)

    def _write(self, update: int, seconds: float) -> None:
        self.facts["update"] = update
        self.facts["starts"][-1] |= {"update": update, "seconds": round(seconds, 3)}
        self.facts["seconds"] = round(sum(start["seconds"] for start in self.facts["starts"]), 3)
        with writable(self.path):
            write_json(self.path, finite_or_null(self.facts))


def _result(validation: Entry) -> Entry:
    """The summary of a validation in run.json."""
    names = ("update", "metric", "loss", "scores", "signatures")
    return {name: validation.get(name) for name in names}
