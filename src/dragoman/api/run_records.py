"""What the folder of a run tells about its training: curves, facts, and its configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from dragoman.bundle.shared_config import shared_config
from dragoman.config import Config, load_config
from dragoman.data.check.figures import counted
from dragoman.data.check.scores import digits, title
from dragoman.errors import DataError
from dragoman.files import read_json
from dragoman.inspection.comparison import TRAINING_LOSS, VALIDATION_LOSS, Curve, TrainingFacts

__all__ = ["RunRecord", "read_run", "settings_of"]

_LOG, _RUN, _CONFIG = "log.jsonl", "run.json", "dragoman.toml"


@dataclass(frozen=True)
class RunRecord:
    """A run as it was recorded; what was not is empty. The configuration is without the paths of a machine."""

    curves: tuple[Curve, ...]
    facts: TrainingFacts | None
    config: Config | None
    parameters: int | None


@dataclass
class _Course:
    """How far training was at each entry of the log, and the values that were written there."""

    update: float = 0.0
    tokens: float = 0.0
    seconds: float = 0.0
    points: dict[str, list[tuple[float, float, float, float]]] = field(default_factory=dict)

    def see(self, entry: Mapping[str, Any]) -> None:
        kind, update = entry.get("kind"), _number(entry.get("update"))
        if update is None or kind not in ("update", "validation"):
            return
        self.update = max(self.update, update)
        if kind == "update":
            tokens, speed = _number(entry.get("tokens")), _number(entry.get("tokens_per_second"))
            self.tokens += tokens or 0.0
            self.seconds += tokens / speed if tokens and speed else 0.0
            self._add(TRAINING_LOSS, update, entry.get("loss"))
            return
        self.seconds += _number(entry.get("seconds")) or 0.0
        self._add(VALIDATION_LOSS, update, entry.get("loss"))
        scores = entry.get("scores")
        for name, value in scores.items() if isinstance(scores, dict) else ():
            self._add(name, update, value)

    def _add(self, quantity: str, update: float, value: object) -> None:
        number = _number(value)
        if number is not None:
            self.points.setdefault(quantity, []).append((update, self.tokens, self.seconds, number))

    def curves(self) -> tuple[Curve, ...]:
        return tuple(Curve(name, *zip(*points, strict=True)) for name, points in self.points.items())


def read_run(folder: Path) -> RunRecord:
    """Read the record of a run that has ended, or that still goes on."""
    course = _Course()
    for entry in _entries(folder / _LOG):
        course.see(entry)
    facts = read_json(folder / _RUN)
    if facts is not None and not isinstance(facts, dict):
        raise DataError(f"{folder / _RUN} must be the record of a run, got something else; name another folder")
    config = shared_config(load_config(folder / _CONFIG)) if (folder / _CONFIG).is_file() else None
    parameters = facts.get("parameters") if facts else None
    return RunRecord(
        course.curves(),
        None if facts is None else _training(facts, course),
        config,
        parameters if isinstance(parameters, int) else None,
    )


def settings_of(config: Config) -> dict[str, str]:
    """Every setting by its dotted name, its value as TOML; of a list of tables each has a number, from 1."""
    found: dict[str, str] = {}

    def walk(value: object, name: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, f"{name}.{key}" if name else str(key))
        elif isinstance(value, list | tuple) and any(isinstance(inner, dict) for inner in value):
            for number, inner in enumerate(value, start=1):
                walk(inner, f"{name}[{number}]")
        else:
            found[name] = json.dumps(value, ensure_ascii=False)

    walk(config.model_dump(exclude_none=True), "")
    return found


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log that can be read; the last may be half written, if the run goes on."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict):
                yield entry


def _training(facts: Mapping[str, Any], course: _Course) -> TrainingFacts:
    data = facts.get("data")
    pairs = data.get("pairs") if isinstance(data, dict) else None
    pairs = pairs if isinstance(pairs, dict) else {}
    update, seconds = _number(facts.get("update")) or 0.0, _number(facts.get("seconds")) or 0.0
    if not facts.get("ended"):  # what the record says was true at the last validation; the log has gone on
        update, seconds = max(update, course.update), course.seconds
    return TrainingFacts(
        updates=int(update),
        tokens=int(course.tokens),
        seconds=seconds,
        tokens_per_second=course.tokens / seconds if seconds and course.tokens else None,
        pairs={str(name): int(number) for name, count in pairs.items() if (number := _number(count)) is not None},
        ended=str(facts.get("ended") or "not yet"),
        best=_best(facts.get("best")),
        machine=str(facts.get("machine") or ""),
        versions={name: str(facts[name]) for name in ("dragoman", "torch") if facts.get(name)},
        data_fingerprint=_text(data.get("fingerprint")) if isinstance(data, dict) else "",
        config_digest=_text(facts.get("config_sha256")),
    )


def _best(best: object) -> str:
    """The best validation in words."""
    if not isinstance(best, dict):
        return ""
    scores = best.get("scores")
    numbers = {**(scores if isinstance(scores, dict) else {}), "loss": best.get("loss")}
    told = [
        f"{title(name)} {number:.{digits(name)}f}"
        for name, value in numbers.items()
        if (number := _number(value)) is not None
    ]
    return f"{', '.join(told)}; after {counted(int(_number(best.get('update')) or 0), 'update')}"


def _number(value: object) -> float | None:
    """A number that JSON holds; whatever else stands there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:  # a whole number of hundreds of digits
        return None


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
