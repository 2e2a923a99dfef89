"""Files of a training run, and the check that a new run overwrites none; without torch, so that the check is quick."""

from __future__ import annotations

from pathlib import Path

from dragoman.bundle.adapter import ADAPTER
from dragoman.errors import ConfigError

__all__ = ["BUNDLE", "CHECKPOINTS", "CONFIG", "LOCK", "REPORT", "RUN_FILES", "check_new_run"]

REPORT = "report.html"
BUNDLE = "bundle"
CONFIG = "dragoman.toml"
CHECKPOINTS = "checkpoints"
LOCK = ".lock"

RUN_FILES = (CONFIG, "log.jsonl", "run.json", REPORT, ADAPTER, BUNDLE)
"""Output of a run; the directory of a new run must have none of it."""


def check_new_run(run: Path) -> None:
    """Require that a folder has no output of another run."""
    if (run / BUNDLE).exists():
        raise ConfigError(
            f"{run} must be a new folder, got a finished run; translate with it: dragoman translate {run}, train it "
            "longer with --resume and a larger training.max_updates, or name another folder with --output"
        )
    if any((run / CHECKPOINTS).glob("step_*")):
        raise ConfigError(
            f"{run} must be a new folder, got a run with checkpoints; resume it with --resume, or name another folder "
            "with --output"
        )
    if existing := [name for name in RUN_FILES if (run / name).exists()]:
        raise ConfigError(
            f"{run} must be a new folder, got one with {existing[0]} in it; name another folder with --output"
        )
