"""Create and lock the directory of a training run; check the configuration of a resumed run."""

from __future__ import annotations

import json
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dragoman.api.training.run_files import LOCK, RUN_FILES, check_new_run, require_lock
from dragoman.config import Config
from dragoman.errors import ConfigError
from dragoman.files import file_lock, remove_temporary_files
from dragoman.training.checkpoint.store import CheckpointStore

__all__ = ["lock_run_directory"]

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
    "device",
}
"""Settings that may change when a run is resumed: its length, its files, its validations, its use of the machine."""


def lock_run_directory(
    run: Path, folder: Path, checkpoints: CheckpointStore, config: Config, held: ExitStack, *, resume: bool
) -> list[str]:
    """Create and lock a run directory until `held` closes; return the settings of a resumed run that changed.

    A new run overwrites nothing, and a resumed one must have the settings it started with, except for its length, its
    files, its validations and its use of the machine.
    """
    if not resume:
        check_new_run(run)
    if run.resolve() == folder.resolve():
        raise ConfigError(
            f"{run} must not be the folder of the configuration itself, got it; name another with --output"
        )
    run.mkdir(parents=True, exist_ok=True)
    require_lock(run, is_ours=held.enter_context(file_lock(run / LOCK)))
    for name in RUN_FILES:
        remove_temporary_files(run / name)
    checkpoint = checkpoints.latest(lambda _: None) if resume else None
    if checkpoint is None:
        return []
    _check_same_config(checkpoint.config(), config)
    return _changed_settings(checkpoint.config(), config)


def _check_same_config(started: Config, config: Config) -> None:
    before, now = (_fixed_settings(each) for each in (started, config))
    if differ := sorted(name for name in {*before, *now} if before.get(name) != now.get(name)):
        got = ", ".join(f"{name} = {_shown(now.get(name))} instead of {_shown(before.get(name))}" for name in differ)
        if all(_can_be_set(before.get(name)) for name in differ):
            remedy = "add " + " ".join(f"--set {shlex.quote(f'{name}={_shown(before[name])}')}" for name in differ)
        else:
            remedy = "restore them"
        if differ == ["training.max_updates"]:  # fixed by this schedule only
            remedy += " (the learning rate of the cosine schedule ends there)"
        raise ConfigError(
            f"a resumed run must have the settings it started with, got {got}; {remedy}, or start a new run with "
            "--output"
        )


def _can_be_set(value: object) -> bool:
    """Whether --set can restore a value: not a table, and not the absence of a setting."""
    return value is not None and not isinstance(value, dict)


def _changed_settings(started: Config, config: Config) -> list[str]:
    """Return the settings that may change and did: with both values."""
    before = started.training.model_dump(include=_CHANGEABLE)
    now = config.training.model_dump(include=_CHANGEABLE)
    return [
        f"training.{name} was {_shown(value)}, is now {_shown(now[name])}"
        for name, value in before.items()
        if value != now[name]
    ]


def _shown(value: object) -> str:
    """Format a value as in a configuration file, on one line."""
    return value if isinstance(value, str) else json.dumps(value)


def _fixed_settings(config: Config) -> dict[str, Any]:
    """Return the settings that determine the weights, by their dotted names."""
    training = config.training.model_dump(exclude=_CHANGEABLE)
    if config.training.has_fixed_end:
        training["max_updates"] = config.training.max_updates  # the rate of every update depends on the last one
    if config.training.stop_on != "loss":
        training["validation_sentences"] = config.training.validation_sentences  # the best score is of these sentences
    model = config.model.model_dump()
    return {f"training.{name}": value for name, value in training.items()} | {
        f"model.{name}": value for name, value in model.items()
    }
