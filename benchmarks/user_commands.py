"""Train models with the commands of a user."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


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
