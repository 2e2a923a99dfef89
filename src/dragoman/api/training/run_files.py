"""Files of a training run, and the check that a new run overwrites none; without torch, so that the check is quick."""

from __future__ import annotations

from pathlib import Path

from dragoman.bundle.adapter import ADAPTER
from dragoman.bundle.locate import has_fixed_end
from dragoman.errors import ConfigError
from dragoman.files import file_lock

__all__ = [
    "BUNDLE",
    "CHECKPOINTS",
    "CONFIG",
    "LOCK",
    "REPORT",
    "RUN_FILES",
    "check_new_run",
    "check_not_running",
    "require_lock",
]

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
        longer = ", train it longer with --resume and a larger training.max_updates"
        raise ConfigError(
            f"{run} must be a new folder, got a finished run; translate with it: dragoman translate {run}"
            f"{'' if has_fixed_end(run / CONFIG) else longer}, or name another folder with --output"
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


def check_not_running(run: Path) -> None:
    """Require that no other process trains in a folder."""
    if (run / LOCK).is_file():
        with file_lock(run / LOCK) as is_ours:
            require_lock(run, is_ours=is_ours)


def require_lock(run: Path, *, is_ours: bool) -> None:
    """Raise a `ConfigError` unless the lock of a run is ours."""
    if not is_ours:
        raise ConfigError(f"{run} must be used by one training at a time, got another that is running; wait for it")
