"""Render a training run as one self-contained HTML page: progress, learning curves, samples with their alignment.

The page is made from ``run.json`` and ``log.jsonl``. While training runs it loads itself again every few seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.evaluation.results import SetScore, format_score
from dragoman.files import finite_number, read_json, read_json_lines
from dragoman.reporting.heatmap import heatmap_svg
from dragoman.reporting.html import render_page
from dragoman.reporting.line_chart import Scale, Series, legend_html, line_chart_svg
from dragoman.reporting.number_format import format_compact, format_count, format_duration, metric_title
from dragoman.run_files import LOG, PROJECT, RECORD

if TYPE_CHECKING:
    from dragoman.training.callbacks.status import TrainingStatus  # the package imports torch

_EARLIER = 6  # translations of a sample by earlier validations
_NOTES = 50
_LEGEND = (0.0, 0.25, 0.5, 0.75, 1.0)  # weights in the legend of a heat map

_ENDS: dict[str, tuple[str, str]] = {
    "finished": ("ok", "Training is complete"),
    "no better": ("ok", "Training is complete: it stopped early, without improvement"),
    "terminated": ("warning", "Training was stopped by a signal"),
    "interrupted": ("warning", "Training was interrupted"),
    "failed": ("error", "Training failed"),
}


@dataclass
class _Log:
    """Entries of a log by kind."""

    updates: list[Mapping[str, Any]] = field(default_factory=list)
    validations: list[Mapping[str, Any]] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)

    def add(self, entry: Mapping[str, Any]) -> None:
        kind, update = entry.get("kind"), entry.get("update")
        if not isinstance(update, int):
            return
        if kind == "update":
            self.updates.append(entry)
        elif kind == "validation":
            self.validations.append(entry)
        elif kind in ("note", "skipped"):
            self.notes.append((update, str(entry.get("text") or entry.get("why") or "")))


@dataclass(frozen=True)
class _Sample:
    """Values of a sample for the template; `earlier` has its translations by earlier validations."""

    source: str
    reference: str
    translation: str
    svg: str
    earlier: Sequence[tuple[int, str]]


def render_training_report(
    folder: Path,
    status: TrainingStatus | None = None,
    *,
    is_running: bool = False,
    now: float = 0.0,
    results: Sequence[SetScore] = (),
) -> str:
    """Render the page of a run, to be written as UTF-8. All texts are escaped.

    That of a running training has the values of `status`, which the log does not have yet; there is none before the
    first update.
    """
    live = status if is_running else None
    log, facts = _Log(), read_json(folder / RECORD) or {}
    for entry in read_json_lines(folder / LOG):
        log.add(entry)
    level, verdict = ("ok", live.activity if live else "Starting") if is_running else _verdict(facts)
    config = folder / PROJECT
    return render_page(
        "training.html",
        title=f"Training {folder.resolve().parent.name}/{folder.resolve().name}",
        styles=("palette.css", "page.css", "comparison.css", "training.css"),
        script="training.js",
        state="running" if is_running else "ended",
        level=level,
        verdict=verdict,
        tiles=_tiles(log, facts, live, now),
        share=live.share if live else None,
        charts=_charts(log),
        legend=[f"{weight:.2f}" for weight in _LEGEND],
        samples=_samples(log),
        last_validation=log.validations[-1]["update"] if log.validations else None,
        results=[_result_row(each) for each in results],
        metrics=[score.metric for score in results[0].scores] if results else [],
        signatures=[score.signature for score in results[0].scores] if results else [],
        notes=log.notes[-_NOTES:],
        facts=_facts(facts),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        config=config.read_text(encoding="utf-8").splitlines() if config.is_file() else [],
    )


def _verdict(facts: Mapping[str, Any]) -> tuple[str, str]:
    ended = facts.get("ended")
    return _ENDS.get(str(ended), ("warning", "Training was cut off"))


def _tiles(log: _Log, facts: Mapping[str, Any], live: TrainingStatus | None, now: float) -> list[tuple[str, str, str]]:
    """Return the large numbers: name, value, remark."""
    last = log.updates[-1] if log.updates else {}
    update = live.update if live else facts.get("update", 0)
    maximum, epoch = facts.get("max_updates") or update, live.epoch if live else last.get("epoch", 0)
    loss = (live.loss if live.has_begun else None) if live else finite_number(last.get("loss"))
    speed = live.speed if live else _mean_speed(log)
    tiles = [("update", f"{update:,}", f"of {maximum:,}" + (f", epoch {epoch}" if epoch else ""))]
    if loss is not None:
        count = last.get("updates")
        remark = "moving mean" if live else f"mean of the last {format_count(count, 'update')}" if count else ""
        tiles.append(("training loss", f"{loss:.3f}", remark))
    best = facts.get("best")
    if isinstance(best, dict):
        metric = best.get("metric") or "loss"
        value = best.get("loss") if metric == "loss" else (best.get("scores") or {}).get(metric)
        if (number := finite_number(value)) is not None:
            shown = f"{number:.3f}" if metric == "loss" else f"{number:.1f}"
            title = "validation loss" if metric == "loss" else metric_title(metric)
            tiles.append((f"best {title}", shown, f"at update {best.get('update', 0):,}"))
    if speed:
        tiles.append(("target tokens per second", format_compact(speed), ""))
    if live is None:
        tiles.append(("time", format_duration(finite_number(facts.get("seconds")) or 0.0), "validations included"))
    elif (left := live.left(now)) is not None:
        tiles.append(("time left", format_duration(left), "at most" if live.began.stops_early else "estimated"))
    return tiles


def _mean_speed(log: _Log) -> float | None:
    speeds = [speed for entry in log.updates if (speed := finite_number(entry.get("tokens_per_second"))) is not None]
    return sum(speeds) / len(speeds) if speeds else None


def _charts(log: _Log) -> list[tuple[str, str, str]]:
    """Return title, legend and SVG of every chart that has points."""
    across = Scale("updates", format_compact, from_zero=True)
    scores = dict.fromkeys(name for entry in log.validations for name in entry.get("scores") or {})
    wanted: list[tuple[str, Scale, list[Series]]] = [
        (
            "Loss",
            Scale("Loss", lambda value: f"{value:.3g}", is_log=True),
            [
                Series("training", 0, _points(log.updates, "loss")),
                Series("validation", 1, _points(log.validations, "loss")),
            ],
        )
    ]
    for name in scores:
        title = f"{metric_title(name)} in validation"
        points = [
            (entry["update"], value)
            for entry in log.validations
            if (value := finite_number((entry.get("scores") or {}).get(name))) is not None
        ]
        wanted.append((title, Scale(title, lambda value: f"{value:.3g}"), [Series(metric_title(name), 1, points)]))
    for title, name in (
        ("Target tokens per second", "tokens_per_second"),
        ("Learning rate", "learning_rate"),
        ("Gradient norm", "gradient_norm"),
    ):
        read = format_compact if name == "tokens_per_second" else _short
        wanted.append((title, Scale(title, read), [Series(title, 0, _points(log.updates, name))]))
    drawn = [
        (
            title,
            legend_html([line.name for line in lines]) if len(lines) > 1 else "",
            line_chart_svg(title, lines, across=across, up=up, name=f"chart-{number}"),
        )
        for number, (title, up, lines) in enumerate(wanted)
    ]
    return [each for each in drawn if each[2]]


def _short(value: float) -> str:
    return f"{value:.3g}"


def _points(entries: Sequence[Mapping[str, Any]], name: str) -> list[tuple[float, float]]:
    return [(entry["update"], value) for entry in entries if (value := finite_number(entry.get(name))) is not None]


def _samples(log: _Log) -> list[_Sample]:
    """Return the samples of the last validation with what earlier ones made of them."""
    if not log.validations:
        return []
    *before, last = log.validations
    found = []
    for number, sample in enumerate(_listed(last)):
        earlier: list[tuple[int, str]] = []
        for entry in before:
            listed = _listed(entry)
            text = str(listed[number].get("translation", "")) if number < len(listed) else ""
            if text and (not earlier or earlier[-1][1] != text):
                earlier.append((entry["update"], text))
        source, reference, translation = (str(sample.get(name, "")) for name in ("source", "reference", "translation"))
        found.append(_Sample(source, reference, translation, _map(sample), earlier[-_EARLIER:]))
    return found


def _listed(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in entry.get("samples") or [] if isinstance(each, dict)]


def _map(sample: Mapping[str, Any]) -> str:
    """Draw the attention weights of a sample; empty if the log has none."""
    source, target = sample.get("source_words") or [], sample.get("target_words") or []
    try:
        weights = np.array(sample.get("weights") or [], dtype=np.float64)
    except (TypeError, ValueError):
        return ""
    if not source or not target or weights.shape != (len(target), len(source)):
        return ""
    title = f"Attention map: {sample.get('translation', '')}"
    return heatmap_svg(source, target, np.nan_to_num(weights).clip(0.0, 1.0), title=title)


def _result_row(result: SetScore) -> list[str]:
    model = "before training" if result.model == "base" else result.model
    return [result.name, model, f"{result.sentences:,}", *map(format_score, result.scores)]


def _facts(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return lines about the model, the data and the machine."""
    data = facts.get("data")
    pairs = data.get("pairs") if isinstance(data, dict) else None
    lines = [
        ("parameters", f"{facts['parameters']:,}" if isinstance(facts.get("parameters"), int) else ""),
        ("pairs", ", ".join(f"{name} {count:,}" for name, count in pairs.items()) if isinstance(pairs, dict) else ""),
        ("device", str(facts.get("device") or "")),
        ("processes", str(facts.get("processes") or "")),
        ("threads", str(facts.get("threads") or "")),
        ("machine", str(facts.get("machine") or "")),
        ("dragoman", str(facts.get("dragoman") or "")),
        ("torch", str(facts.get("torch") or "")),
        ("starts", str(len(facts.get("starts") or []) or "")),
    ]
    return [(name, value) for name, value in lines if value]
