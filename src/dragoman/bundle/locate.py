"""Find the bundle of a path: a bundle itself, the bundle of a run, or the best bundle of a project folder."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.bundle.verified_folder import MANIFEST
from dragoman.config import load_config
from dragoman.errors import BundleError, DragomanError
from dragoman.files import similar_path

__all__ = ["LocatedBundle", "explain_checkpoint", "find_bundle", "find_run", "has_fixed_end"]

_BUNDLE, _RUN, _LOG, _CONFIG = "bundle", "run.json", "log.jsonl", "dragoman.toml"
_CHECKPOINTS, _STATE = "checkpoints", "state.json"
_DEFAULT_RUN = "run"  # folder of a run without --output
_KINDS = "a bundle, a run or a project folder"
_MAX_RECORD = 1 << 20  # bytes of run.json
_MAX_DEPTH = 2  # of runs in a project: runs/first
_MAX_FOLDERS = 1000
_LISTED = 5  # models in a message
_CARD, _MAX_CARD = "card.md", 1 << 20  # bytes
_CARD_UPDATES = re.compile(r"^\| Updates \| (\d[\d,]{0,24}) \|$", re.MULTILINE)
_CHECKPOINT = re.compile(r"step_(\d{1,18})")


@dataclass(frozen=True)
class LocatedBundle:
    """A bundle, and the reason for choosing it, which is empty if the path itself was the bundle."""

    path: Path
    reason: str = ""
    note: str = ""
    """A message if the run was trained further after the bundle was written."""


@dataclass(frozen=True)
class _Candidate:
    """The bundle of a run, with its best validation: metric and value."""

    path: Path
    metric: str
    value: float | None
    written: float

    @property
    def rank(self) -> tuple[float, float]:
        """Larger is better: the validation, then the time."""
        if self.value is None:
            return (float("-inf"), self.written)
        return (-self.value if self.metric == "loss" else self.value, self.written)


def find_bundle(path: Path) -> LocatedBundle:
    """Return the bundle of a path; raise a `BundleError` that names the next step if there is none.

    The best of several runs of a project has the best validation if all of them stopped on one metric; otherwise it is
    the newest.
    """
    if path.is_file() and path.name == _CONFIG:
        path = path.parent
    if explained := explain_checkpoint(path):
        raise BundleError(explained)
    if path.is_file() and not _is_zip(path):
        raise BundleError(f"{path} must be {_KINDS}, got a file that is no zip archive; name the model first")
    if path.is_file() or (path / MANIFEST).is_file():
        return LocatedBundle(path)
    if (path / _BUNDLE / MANIFEST).is_file():
        return _located(path / _BUNDLE, f"the bundle of {path}")
    found = list(_candidates(path))
    if not found:
        raise BundleError(_explain(path))
    if len(found) == 1:
        return _located(found[0].path, f"the only bundle in {path}")
    if not (path / _CONFIG).is_file() and any((each.path.parent.parent / _CONFIG).is_file() for each in found):
        listed = ", ".join(str(each.path.parent) for each in found[:_LISTED])
        raise BundleError(
            f"{path} must be {_KINDS}, got a folder with {len(found)} models of projects; name one: {listed}"
        )
    metrics = {each.metric for each in found if each.value is not None}
    if len(metrics) == 1 and all(each.value is not None for each in found):
        best = max(found, key=lambda each: each.rank)
        return _located(best.path, f"best of {len(found)} in {path}: {best.metric} {best.value:g} in validation")
    newest = max(found, key=lambda each: each.written)
    return _located(newest.path, f"newest of {len(found)} in {path}: their validations are not comparable")


def _located(bundle: Path, reason: str) -> LocatedBundle:
    return LocatedBundle(bundle, reason, _continued_note(bundle))


def _continued_note(bundle: Path) -> str:
    """Return a message if the run of a bundle has checkpoints of later updates; empty otherwise."""
    run = bundle.parent
    try:
        with (bundle / _CARD).open("rb") as file:
            card = file.read(_MAX_CARD).decode(errors="replace")
        names = [each.name for each in (run / _CHECKPOINTS).iterdir() if (each / _STATE).is_file()]
    except OSError:
        return ""
    written = _CARD_UPDATES.search(card)
    newest = max((int(found[1]) for name in names if (found := _CHECKPOINT.fullmatch(name))), default=0)
    if written is None or newest <= (updates := int(written[1].replace(",", ""))):
        return ""
    return (
        f"the bundle is of update {updates:,}, but the run was trained further, to update {newest:,}; its bundle is "
        f"written at the end of training: wait for it, or continue it with {_resume_command(run)}"
    )


def find_run(path: Path) -> Path:
    """Return the folder of a run: the path itself, or the run of the best bundle of a project folder.

    Raise a `BundleError` if there is none.
    """
    if explained := explain_checkpoint(path):
        raise BundleError(explained)
    if (path / _RUN).is_file():
        return path
    if path.name == _BUNDLE and (path.parent / _RUN).is_file():
        return path.parent
    runs = [each for each in _folders(path) if (each / _RUN).is_file()]
    if not runs:
        got = "a project that is not trained" if (path / _CONFIG).is_file() else "another path"
        near = "" if path.exists() else similar_path(path, ())
        raise BundleError(f"{path} must be a run or a project folder, got {got}{near or '; dragoman train makes runs'}")
    bundles = {each.path.parent: each for each in _candidates(path)}
    return max(runs, key=lambda run: bundles[run].rank if run in bundles else (float("-inf"), _time(run / _RUN)))


def explain_checkpoint(path: Path) -> str:
    """Return which path to name instead of a checkpoint, or of a folder of checkpoints; empty for other paths."""
    is_one = (path / _STATE).is_file() and (path / MANIFEST).is_file()
    if not is_one and (path.name != _CHECKPOINTS or not path.is_dir()):
        return ""
    got = "a checkpoint" if is_one else "a folder of checkpoints"
    run = next((each for each in path.parents[:2] if (each / _RUN).is_file() or (each / _BUNDLE).is_dir()), None)
    if run is None:
        return f"{path} must be {_KINDS}, got {got} without its run; name the run, or the bundle that training wrote"
    if (run / _BUNDLE / MANIFEST).is_file():
        return f"{path} must be {_KINDS}, got {got}; name its run: {run}"
    return (
        f"{path} must be {_KINDS}, got {got} of a run without a bundle; train it to the end with {_resume_command(run)}"
    )


def _resume_command(run: Path) -> str:
    """Return the command that continues a run of a project in the folder above it."""
    project = run.parent if (run.parent / _CONFIG).is_file() else None
    name = f" {shlex.quote(str(project))}" if project is not None and str(project) != "." else ""
    output = "" if run.name == _DEFAULT_RUN else f" --output {shlex.quote(str(run))}"
    return f"dragoman train{name}{output} --resume, and the --set options that it was started with"


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"PK"
    except OSError:
        return True  # `Bundle.open` explains it


def _candidates(project: Path) -> Iterator[_Candidate]:
    for folder in _folders(project):
        bundle = folder / _BUNDLE
        if (bundle / MANIFEST).is_file():
            metric, value = _best(folder / _RUN)
            yield _Candidate(bundle, metric, value, _time(bundle / MANIFEST))


def _folders(project: Path) -> Iterator[Path]:
    """Yield the folders of a project in which runs may be, level by level."""
    level, count = [project], 0
    for _ in range(_MAX_DEPTH):
        below: list[Path] = []
        for folder in level:
            try:
                below += sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
            except OSError:
                continue
        for folder in below:
            count += 1
            if count > _MAX_FOLDERS:
                return
            yield folder
        level = [folder for folder in below if not (folder / _RUN).is_file()]


def _best(record: Path) -> tuple[str, float | None]:
    """Return metric and value of the best validation of a run, if its record has them."""
    try:
        if record.stat().st_size > _MAX_RECORD:
            return "", None
        facts = json.loads(record.read_bytes())
    except (OSError, ValueError, RecursionError):
        return "", None
    best = facts.get("best") if isinstance(facts, dict) else None
    if not isinstance(best, dict):
        return "", None
    metric = str(best.get("metric") or "loss")
    value = _value(best, metric)
    return metric, float(value) if isinstance(value, int | float) else None


def _value(best: Mapping[str, Any], metric: str) -> Any:
    scores = best.get("scores")
    return best.get("loss") if metric == "loss" else scores.get(metric) if isinstance(scores, dict) else None


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def has_fixed_end(config: Path) -> bool:
    """Whether a run with this configuration file cannot be resumed with another number of updates."""
    try:
        return load_config(config).training.has_fixed_end
    except (DragomanError, OSError):
        return False


def _explain(path: Path) -> str:
    """Return why a path has no bundle, with the next step."""
    if not path.exists():
        near = similar_path(path, (".zip",)) or "; check its spelling"
        return f"{path} must be {_KINDS}, got a path that does not exist{near}"
    runs = [path, *_folders(path)]
    if unfinished := next((run for run in runs if (run / _RUN).is_file() or (run / _LOG).is_file()), None):
        earlier = "" if has_fixed_end(unfinished / _CONFIG) else "; --set training.max_updates=N sets an earlier end"
        return (
            f"{path} must hold a bundle, got an unfinished run in {unfinished}; train it to the end with "
            f"{_resume_command(unfinished)}{earlier}"
        )
    if (path / _CONFIG).is_file():
        return f"{path} must hold a bundle, got a project that is not trained; run dragoman train {path}"
    return f"{path} must be {_KINDS}, got another folder; dragoman train and dragoman import write a bundle"
