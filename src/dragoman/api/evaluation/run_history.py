"""Read the learning curves, the summary and the configuration from the folder of a training run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from dragoman.bundle.bundle_config import shared_config
from dragoman.config import Config, load_config
from dragoman.errors import DataError
from dragoman.files import read_json, read_json_lines
from dragoman.inspection.comparison.report_types import TRAINING_LOSS, VALIDATION_LOSS, Curve, TrainingSummary

__all__ = ["RunHistory", "flatten_settings", "read_run"]

_LOG, _RUN, _CONFIG = "log.jsonl", "run.json", "dragoman.toml"


@dataclass(frozen=True)
class RunHistory:
    """The record of a run; missing parts are empty. The configuration has no paths."""

    curves: tuple[Curve, ...]
    summary: TrainingSummary | None
    config: Config | None
    parameters: int | None


@dataclass
class _LogReader:
    """Accumulates progress and values over the entries of a log."""

    update: float = 0.0
    tokens: float = 0.0
    seconds: float = 0.0
    points: dict[str, list[tuple[float, float, float, float]]] = field(default_factory=dict)

    def add(self, entry: Mapping[str, Any]) -> None:
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


def read_run(folder: Path) -> RunHistory:
    """Read the record of a finished or running training."""
    reader = _LogReader()
    for entry in read_json_lines(folder / _LOG):
        reader.add(entry)
    facts = read_json(folder / _RUN)
    if facts is not None and not isinstance(facts, dict):
        raise DataError(f"{folder / _RUN} must be the record of a run, got something else; name another folder")
    config = shared_config(load_config(folder / _CONFIG)) if (folder / _CONFIG).is_file() else None
    parameters = facts.get("parameters") if facts else None
    return RunHistory(
        reader.curves(),
        None if facts is None else _summary(facts, reader),
        config,
        parameters if isinstance(parameters, int) else None,
    )


def flatten_settings(config: Config) -> dict[str, str]:
    """Return settings by dotted name, with values as TOML; tables in a list are numbered from 1."""
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


def _summary(facts: Mapping[str, Any], course: _LogReader) -> TrainingSummary:
    data = facts.get("data")
    pairs = data.get("pairs") if isinstance(data, dict) else None
    pairs = pairs if isinstance(pairs, dict) else {}
    update, seconds = _number(facts.get("update")) or 0.0, _number(facts.get("seconds")) or 0.0
    if not facts.get("ended"):  # the record is from the last validation; the log is newer
        update, seconds = max(update, course.update), course.seconds
    best = facts.get("best")
    return TrainingSummary(
        updates=int(update),
        tokens=int(course.tokens),
        seconds=seconds,
        tokens_per_second=course.tokens / seconds if seconds and course.tokens else None,
        pairs={str(name): int(number) for name, count in pairs.items() if (number := _number(count)) is not None},
        ended=str(facts.get("ended") or "not yet"),
        best=_best_scores(best),
        best_update=int(_number(best.get("update")) or 0) if isinstance(best, dict) else None,
        machine=str(facts.get("machine") or ""),
        versions={name: str(facts[name]) for name in ("dragoman", "torch") if facts.get(name)},
        data_fingerprint=_text(data.get("fingerprint")) if isinstance(data, dict) else "",
        config_digest=_text(facts.get("config_sha256")),
    )


def _best_scores(best: object) -> dict[str, float]:
    """Return the scores and the loss of the best validation."""
    if not isinstance(best, dict):
        return {}
    scores = best.get("scores")
    values = {**(scores if isinstance(scores, dict) else {}), "loss": best.get("loss")}
    return {name: number for name, value in values.items() if (number := _number(value)) is not None}


def _number(value: object) -> float | None:
    """Return a finite JSON number as a float, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:  # an integer with hundreds of digits
        return None


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
