"""Train models with the commands of a user, and read how far a training is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


def dragoman(*arguments: str | Path) -> None:
    """Run a command of a user."""
    subprocess.run([sys.executable, "-m", "dragoman", *map(str, arguments)], check=True)


def train_once(folder: Path, config: str, settings: Sequence[str] = ()) -> Path:
    """Train a model unless its training is finished, and return its run; an interrupted training is resumed."""
    finished = folder / "finished"
    if not finished.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "dragoman.toml"
        path.write_text(config, encoding="utf-8")
        overrides = [word for setting in settings for word in ("--set", setting)]
        dragoman("prepare", path, *overrides)
        dragoman("train", path, "--resume", "--threads", "1", *overrides)
        finished.touch()
    return folder / "run"


def log_entries(run: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of one kind in the log of a run."""
    for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines():
        if (entry := json.loads(line))["kind"] == kind:
            yield entry


def progress_row(folder: Path) -> list[str]:
    """Return how far the training in a folder is: updates done and planned, minutes, best validation score."""
    record = folder / "run" / "run.json"
    if not record.exists():
        return ["not started", "0", "–"]
    facts = json.loads(record.read_text(encoding="utf-8"))
    best = facts["best"]
    score = "–" if best is None else f"{best['metric']} {best['scores'].get(best['metric'], best['loss']):.2f}"
    return [f"{facts['update']:,} of {facts['max_updates']:,}", f"{facts['seconds'] / 60:.0f}", score]
