"""Create and lock the directory of a training run; check the configuration of a resumed run."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dragoman.config import Config
from dragoman.errors import ConfigError
from dragoman.files import file_lock, remove_temporary_files
from dragoman.training.checkpoint.store import CheckpointStore

__all__ = ["REPORT", "lock_run_directory"]

_CHANGEABLE = {
    "max_updates",
    "max_epochs",
    "patience",
    "validate_every",
    "validation_sentences",
    "checkpoint_every",
    "keep_last",
    "average_last",
    "log_every",
    "sharded",
    "recompute",
    "threads",
}
"""Settings that may change when a run is resumed: its length, its files, its validations, its use of the machine."""

REPORT = "report.html"

_FILES = ("dragoman.toml", "log.jsonl", "run.json", REPORT, "bundle")
"""Output of a run; the directory of a new run must have none of it."""


def lock_run_directory(
    run: Path, folder: Path, checkpoints: CheckpointStore, config: Config, held: ExitStack, *, resume: bool
) -> None:
    """Create and lock a run directory until `held` closes.

    A new run overwrites nothing, and a resumed one must have the settings it started with.
    """
    steps = checkpoints.steps()
    if steps and not resume:
        raise ConfigError(
            f"{run} must be a new folder, got a run with a checkpoint at update {steps[-1]}; resume it with --resume, "
            "or name another folder with --output"
        )
    if run.resolve() == folder.resolve():
        raise ConfigError(
            f"{run} must not be the folder of the configuration itself, got it; name another with --output"
        )
    if not resume and (existing := [name for name in _FILES if (run / name).exists()]):
        raise ConfigError(
            f"{run} must be a new folder, got one with {existing[0]} in it; name another folder with --output"
        )
    run.mkdir(parents=True, exist_ok=True)
    if not held.enter_context(file_lock(run / ".lock")):
        raise ConfigError(f"{run} must be used by one training at a time, got another that is running; wait for it")
    for name in _FILES:
        remove_temporary_files(run / name)
    if resume:
        _check_same_config(checkpoints, config)


def _check_same_config(checkpoints: CheckpointStore, config: Config) -> None:
    checkpoint = checkpoints.latest(lambda _: None)
    if checkpoint is None:
        return
    before, now = (_fixed_settings(each) for each in (checkpoint.config(), config))
    if differ := sorted(name for name in {*before, *now} if before.get(name) != now.get(name)):
        raise ConfigError(
            f"a resumed run must have the settings it started with, got others for {', '.join(differ)}; undo that, or "
            "start a new run with --output"
        )


def _fixed_settings(config: Config) -> dict[str, Any]:
    """Return the settings that determine the weights, by their dotted names."""
    training = config.training.model_dump(exclude=_CHANGEABLE)
    if config.training.schedule == "cosine":
        training["max_updates"] = config.training.max_updates  # the rate of every update depends on the last one
    if config.training.stop_on != "loss":
        training["validation_sentences"] = config.training.validation_sentences  # the best score is of these sentences
    model = config.model.model_dump()
    return {f"training.{name}": value for name, value in training.items()} | {
        f"model.{name}": value for name, value in model.items()
    }
