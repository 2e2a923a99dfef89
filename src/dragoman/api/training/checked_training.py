"""Open and check a training before torch is imported: its settings, resumed or new, its prepared data, its folder."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.api.training.project_config import project_file
from dragoman.bundle.adapter import ADAPTER
from dragoman.bundle.locate import has_fixed_end
from dragoman.config import Config, load_config
from dragoman.data.preparation.prepared_data import MANIFEST, PreparedData, data_of, settings_of
from dragoman.errors import ConfigError, DataError
from dragoman.files import as_path, file_lock, read_json, remove_temporary_files
from dragoman.run_files import BUNDLE, CHECKPOINTS, LOCK, LOG, PROJECT, RECORD, REPORT, RUN

if TYPE_CHECKING:
    from dragoman.training.checkpoint import CheckpointStore

_RUN_FILES = (PROJECT, LOG, RECORD, REPORT, ADAPTER, BUNDLE)
"""Output of a run; the folder of a new run must have none of it."""

Prepare = Callable[[Config, Path], object]
"""Prepares the data of a configuration, whose relative paths start from a folder."""

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
    "callbacks",
    "sharded",
    "recompute",
    "threads",
    "device",
}
"""Settings that may change when a run is resumed: its length, its files, its validations, its use of the machine."""


@dataclass(frozen=True)
class CheckedTraining:
    """What `train_model` trains, checked by `check_training`. Relative paths of `config` start from `folder`."""

    config: Config
    folder: Path
    run: Path
    prepared: PreparedData
    resume: bool = False
    overrides: Sequence[str] | None = None
    """Settings given in addition to the configuration file, which the run records; None if there was no file."""
    note: str = ""
    """A message on what the training will do without."""


def open_training(
    config: Config | Path | str,
    folder: Path | str | None = None,
    overrides: Sequence[str] = (),
    run: Path | str | None = None,
    *,
    resume: bool = False,
    prepare: Prepare | None = None,
) -> CheckedTraining:
    """Load and check a training; data that were never prepared are prepared by `prepare`.

    `config` may be a file or a project folder, from which relative paths start if there is no `folder`. A resumed run
    has the settings it was started with. Processes of a launcher do not prepare: all would write the same files.
    """
    path = None if isinstance(config, Config) else project_file(config)
    start = as_path(folder) if folder is not None else path.parent if path else Path()
    where = start / RUN if run is None else as_path(run)
    _check_folder(where, start, resume=resume)
    if isinstance(config, Config):
        if overrides:
            raise ConfigError("overrides apply to a file, not to a loaded configuration; pass them to load_config")
        settings, recorded = config, None
    else:
        assert path is not None
        settings, recorded = load_run_config(path, where, overrides, resume=resume)
    is_prepared = (start / data_of(settings).folder / MANIFEST).exists()
    if prepare is not None and not is_prepared and "WORLD_SIZE" not in os.environ:
        prepare(settings, start)
    return _checked(settings, start, where, resume=resume, overrides=recorded)


def check_training(
    config: Config, folder: Path, run: Path, *, resume: bool = False, overrides: Sequence[str] | None = None
) -> CheckedTraining:
    """Check a training whose data are prepared; raise a `DragomanError` that states what to change."""
    _check_folder(run, folder, resume=resume)
    return _checked(config, folder, run, resume=resume, overrides=overrides)


def _checked(
    config: Config, folder: Path, run: Path, *, resume: bool, overrides: Sequence[str] | None
) -> CheckedTraining:
    prepared = PreparedData.open(folder / data_of(config).folder)
    prepared.check_settings(config, fix=restore_data(run) if resume else "")
    config.training.batches_per_process(int(os.environ.get("WORLD_SIZE", "1")))
    if "validation" not in prepared.manifest["splits"] and (
        config.training.patience or config.training.stop_on != "loss"
    ):
        raise ConfigError(
            "there is no validation set, which training.patience and training.stop_on need; set data.validation or "
            "data.validation_pairs"
        )
    return CheckedTraining(config, folder, run, prepared, resume, overrides, _check_bleu(config))


def _check_bleu(config: Config) -> str:
    """Return a message if BLEU's tokenizer for a target language is not installed; raise if BLEU ends training."""
    if not config.training.validation_sentences:
        return ""
    from dragoman.evaluation.significance import missing_bleu_package  # noqa: PLC0415 -- sacrebleu

    targets = sorted({target for _, target in data_of(config).all_directions()})
    missing = [(target, package) for target in targets if (package := missing_bleu_package(target))]
    if not missing:
        return ""
    language, package = missing[0]
    if config.training.stop_on == "bleu":
        raise ConfigError(
            f"training.stop_on must be loss or chrf without BLEU's tokenizer for {language}, got bleu; change it, or "
            f"pip install '{package}'"
        )
    return f"scores without BLEU: its tokenizer for {language} is not installed; pip install '{package}'"


def _check_folder(run: Path, folder: Path, *, resume: bool) -> None:
    """Require the folder of a new run, or of one in which no other process trains; the main process checks it."""
    if os.environ.get("RANK", "0") != "0":
        return
    if run.resolve() == folder.resolve():
        raise ConfigError(
            f"{run} is the folder of the configuration itself; name another folder for the run with --output"
        )
    if not resume:
        _check_new(run)
    elif (run / LOCK).is_file():
        with file_lock(run / LOCK) as is_ours:
            _require_lock(run, is_ours=is_ours)


def _check_new(run: Path) -> None:
    """Require that a folder has no output of another run."""
    if (run / BUNDLE).exists():
        longer = ", train it longer with --resume and a larger training.max_updates"
        raise ConfigError(
            f"{run} has a finished run already; translate with it: dragoman translate {run}"
            f"{'' if has_fixed_end(run / PROJECT) else longer}, or name another folder with --output"
        )
    if has_checkpoints(run):
        raise ConfigError(
            f"{run} has a run with checkpoints already; resume it with --resume, or name another folder with --output"
        )
    if existing := [name for name in _RUN_FILES if (run / name).exists()]:
        raise ConfigError(f"{run} has a file {existing[0]} already; name another folder with --output")


def _require_lock(run: Path, *, is_ours: bool) -> None:
    if not is_ours:
        raise ConfigError(f"another training is running in {run}; wait for it")


def lock_run(training: CheckedTraining, config: Config, checkpoints: CheckpointStore, held: ExitStack) -> list[str]:
    """Create and lock the folder of a run until `held` closes; return the settings of a resumed run that changed.

    `config` has the precision of the training. Another process may have begun a run since the check.
    """
    run = training.run
    if not training.resume:
        _check_new(run)
    run.mkdir(parents=True, exist_ok=True)
    _require_lock(run, is_ours=held.enter_context(file_lock(run / LOCK)))
    for name in _RUN_FILES:
        remove_temporary_files(run / name)
    checkpoint = checkpoints.latest(lambda _: None) if training.resume else None
    if checkpoint is None:
        return []
    check_same_settings(checkpoint.config(), config)
    return changed_settings(checkpoint.config(), config)


def load_run_config(
    config: Path, run: Path, overrides: Sequence[str] = (), *, resume: bool = False
) -> tuple[Config, list[str] | None]:
    """Return the configuration of a run, and its overrides, which the run records for the next time.

    A resumed run has the overrides that it recorded, then `overrides`. If its record is
    damaged, it has its own configuration, and None is returned for the overrides. A setting that must not change raises
    a `ConfigError`, before anything is prepared.
    """
    started = run / PROJECT
    if not resume or not started.is_file():
        return load_config(config, overrides), [*overrides]
    recorded = _recorded_overrides(run)
    merged = None if recorded is None else _merged([*recorded, *overrides])
    opened = load_config(started, overrides) if merged is None else load_config(config, merged)
    if has_checkpoints(run):
        before = load_config(started)
        precise = opened
        if opened.training.precision == "auto":
            same = opened.training.model_copy(update={"precision": before.training.precision})
            precise = opened.model_copy(update={"training": same})
        check_same_settings(before, precise, given=[_name(each) for each in overrides])
    return opened, merged


def check_same_settings(started: Config, config: Config, *, given: Collection[str] = ()) -> None:
    """Require the settings that a run was started with; `given` are the names of settings given with --set."""
    before, now = (_fixed_settings(each) for each in (started, config))
    differ = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if not differ:
        return
    got = ", ".join(f"{name} = {_shown(now.get(name))} instead of {_shown(before.get(name))}" for name in differ)
    if all(name in given for name in differ):
        remedy = "leave out " + " ".join(f"--set {name}" for name in differ)
    elif all(_can_be_set(before.get(name)) for name in differ):
        remedy = "add " + " ".join(f"--set {shlex.quote(f'{name}={_shown(before[name])}')}" for name in differ)
    else:
        remedy = "restore them"
    if differ == ["training.max_updates"]:  # fixed by this schedule only
        remedy += " (the learning rate of the cosine schedule ends there)"
    raise ConfigError(
        f"a resumed run must have the settings it started with, got {got}; {remedy}, or start a new run with --output"
    )


def restore_data(run: Path) -> str:
    """Return what to do if the prepared data are no longer those of a run; empty if the run has no checkpoint yet."""
    fix = "the run needs the data it was started with: restore them, or start a new run with --output"
    return fix if has_checkpoints(run) else ""


def changed_settings(started: Config, config: Config) -> list[str]:
    """Return the settings that may change and did: with both values."""
    before = started.training.model_dump(include=_CHANGEABLE)
    now = config.training.model_dump(include=_CHANGEABLE)
    return [
        f"training.{name} was {_shown(value)}, is now {_shown(now[name])}"
        for name, value in before.items()
        if value != now[name]
    ]


def has_checkpoints(run: Path) -> bool:
    """Whether a run has a checkpoint."""
    return any((run / CHECKPOINTS).glob("step_*"))


def _recorded_overrides(run: Path) -> list[str] | None:
    try:
        record = read_json(run / RECORD)
    except DataError:
        return None
    found = record.get("overrides") if isinstance(record, dict) else None
    return [str(each) for each in found] if isinstance(found, list) else None


def _merged(overrides: Sequence[str]) -> list[str]:
    """Return the last override of each setting, in the order in which they apply."""
    last = {_name(each): place for place, each in enumerate(overrides)}
    return [overrides[place] for place in sorted(last.values())]


def _name(override: str) -> str:
    return ".".join(part.strip() for part in override.partition("=")[0].split("."))


def _can_be_set(value: object) -> bool:
    """Whether --set can restore a value: not a list of tables, and not the absence of a setting."""
    return value is not None and not (isinstance(value, list) and any(isinstance(each, dict) for each in value))


def _shown(value: object) -> str:
    """Format a value as in a configuration file, on one line."""
    return value if isinstance(value, str) else json.dumps(value)


def _fixed_settings(config: Config) -> dict[str, Any]:
    """Return the settings that determine the data and the weights, by their dotted names."""
    training = config.training.model_dump(exclude=_CHANGEABLE)
    if config.training.has_fixed_end:
        training["max_updates"] = config.training.max_updates  # the rate of every update depends on the last one
    if config.training.stop_on != "loss":
        training["validation_sentences"] = config.training.validation_sentences  # the best score is of these sentences
    tables: dict[str, Any] = {"training": training, "model": config.model.model_dump()}
    if config.data is not None:
        prepared = settings_of(config)
        del prepared["data"]["replaces_bad_bytes"]  # `PreparedData.check_settings` compares it
        prepared["data"] |= config.data.model_dump(include={"sampling", "augment"})
        tables |= prepared
    return _flat(tables)


def _flat(table: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= _flat(value, f"{place}{name}.") if isinstance(value, Mapping) and value else {place + name: value}
    return found
