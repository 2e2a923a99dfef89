"""Find the bundle of a path, of a name in the model store, or of an example model, which is part of the package.

A path is a bundle itself, a run, which has one, or a project folder, of which the best bundle is chosen. An existing
path takes precedence over a name, and a stored model over an example.
"""

from __future__ import annotations

import json
import re
import shlex
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.bundle.verified_folder import MANIFEST, explain_checkpoint
from dragoman.config import load_config
from dragoman.errors import BundleError, DragomanError
from dragoman.files import as_path, similar_path
from dragoman.run_files import BUNDLE, CARD, CHECKPOINT_STATE, CHECKPOINTS, LOG, PROJECT, RECORD, RUN

if TYPE_CHECKING:
    from dragoman.bundle.bundle import Bundle

EXAMPLES = Path(__file__).with_name("examples")
EXAMPLE = EXAMPLES / "everyday"
"""The model of `dragoman translate` and `dragoman serve` without the name of a model."""

_KINDS = "a bundle, a run or a project folder"
_MAX_RECORD = 1 << 20  # bytes of run.json
_MAX_DEPTH = 2  # of runs in a project: runs/first
_MAX_FOLDERS = 1000
_LISTED = 5  # models in a message
_MAX_CARD = 1 << 20  # bytes of a model card
_CARD_UPDATES = re.compile(r"^\| Updates \| (\d[\d,]{0,24}) \|$", re.MULTILINE)
_CHECKPOINT = re.compile(r"step_(\d{1,18})")


@dataclass(frozen=True)
class LocatedBundle:
    """A bundle, and the reason for choosing it, which is empty if the path itself was the bundle."""

    path: Path
    reason: str = ""
    note: str = ""
    """A message if the run is not finished, or was trained further after the bundle was written."""
    run: Path | None = None
    """The run of a bundle that was found in a folder of runs."""


@dataclass(frozen=True)
class _Candidate:
    """A run, with its best validation: metric and value."""

    run: Path
    metric: str
    value: float | None
    written: float
    is_finished: bool = True

    @property
    def rank(self) -> tuple[float, float]:
        """Larger is better: the validation, then the time."""
        if self.value is None:
            return (float("-inf"), self.written)
        return (-self.value if self.metric == "loss" else self.value, self.written)


def find_bundle(path: Path) -> LocatedBundle:
    """Return the bundle of a path or a name; raise a `BundleError` that names the next step if there is none.

    That of a run which is not finished is made of its best checkpoint; finished runs of a project come first. The best
    of several runs of a project has the best validation if all of them stopped on one metric; otherwise it is
    the newest.
    """
    stored = named_bundles(path)
    if len(stored) > 1:
        legs = " and ".join(each.parent.name for each in stored)
        raise BundleError(
            f"{path} is a route of two models, {legs}; dragoman translate, dragoman serve and Translators.open accept "
            "it, here name one model"
        )
    return LocatedBundle(stored[0], f"{path}{bundle_origin(stored[0])[1]}") if stored else _find_in_path(path)


def _find_in_path(path: Path) -> LocatedBundle:
    if path.is_file() and path.name == PROJECT:
        path = path.parent
    if explained := explain_checkpoint(path):
        raise BundleError(explained)
    if path.is_file():
        raise BundleError(f"{path} is a file, and a bundle is a folder; name the model first: {_KINDS}")
    if (path / MANIFEST).is_file():
        return LocatedBundle(path)
    if (path / BUNDLE / MANIFEST).is_file():
        return LocatedBundle(path / BUNDLE, f"the bundle of {path}", _continued_note(path / BUNDLE))
    if (own := _candidate(path)) is not None:
        return _located(own, f"a checkpoint of {path}")
    every = [each for folder in _folders(path) if (each := _candidate(folder)) is not None]
    found = [each for each in every if each.is_finished] or every
    if not found:
        raise BundleError(_explain(path))
    if len(found) == 1:
        return _located(found[0], f"the only {'bundle' if found[0].is_finished else 'run'} in {path}")
    if not (path / PROJECT).is_file() and any((each.run.parent / PROJECT).is_file() for each in found):
        listed = ", ".join(str(each.run) for each in found[:_LISTED])
        raise BundleError(f"{path} has {len(found)} models of several projects; name one: {listed}")
    metrics = {each.metric for each in found if each.value is not None}
    if len(metrics) == 1 and all(each.value is not None for each in found):
        best = max(found, key=lambda each: each.rank)
        return _located(best, f"best of {len(found)} in {path}: {best.metric} {best.value:g} in validation")
    newest = max(found, key=lambda each: each.written)
    return _located(newest, f"newest of {len(found)} in {path}: their validations are not comparable")


def named_bundles(path: Path | str) -> list[Path]:
    """Return the bundle of a stored or example model, or both bundles of a route; empty for a path that exists."""
    path = as_path(path)
    if len(path.parts) != 1 or path.exists():
        return []
    from dragoman.bundle.model_store import stored_bundles  # noqa: PLC0415 -- a path needs no store

    return stored_bundles(str(path)) or [each for each in example_bundles() if each.name == str(path)]


def example_bundles() -> list[Path]:
    """Return the bundles of the package."""
    return sorted(each.parent for each in EXAMPLES.glob(f"*/{MANIFEST}"))


def is_example(bundle: Path) -> bool:
    """Whether a bundle is part of the package."""
    return bundle.parent == EXAMPLES


def bundle_origin(bundle: Path) -> tuple[str, str]:
    """Return the name of a bundle that was found by name, and the words that say where it is."""
    if is_example(bundle):
        return bundle.name, ", an example model"
    return bundle.parent.name, " in the model store"


def open_located(path: Path | str) -> Bundle:
    """Open the bundle of a path; a run that is not finished, or was trained further, gives a warning."""
    from dragoman.bundle.bundle import Bundle  # noqa: PLC0415 -- finding one needs no arrays

    found = find_bundle(as_path(path))
    if found.note:
        warnings.warn(found.note, stacklevel=3)
    return Bundle.open(found.path)


def _located(found: _Candidate, reason: str) -> LocatedBundle:
    if found.is_finished:
        return LocatedBundle(found.run / BUNDLE, reason, _continued_note(found.run / BUNDLE), found.run)
    from dragoman.bundle.checkpoint_bundle import checkpoint_bundle  # noqa: PLC0415 -- few runs are not finished

    try:
        bundle, note = checkpoint_bundle(found.run)
    except BundleError as error:
        raise BundleError(f"{error}; continue it with {_resume_command(found.run)}") from None
    return LocatedBundle(bundle, reason, note, found.run)


def _continued_note(bundle: Path) -> str:
    """Return a message if the run of a bundle has checkpoints of later updates; empty otherwise."""
    run = bundle.parent
    try:
        with (bundle / CARD).open("rb") as file:
            card = file.read(_MAX_CARD).decode(errors="replace")
        names = [each.name for each in (run / CHECKPOINTS).iterdir() if (each / CHECKPOINT_STATE).is_file()]
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
    """Return the folder of a run: the path itself, or the run of the best bundle of a project, or `BundleError`."""
    if explained := explain_checkpoint(path):
        raise BundleError(explained)
    if (path / RECORD).is_file():
        return path
    if path.name == BUNDLE and (path.parent / RECORD).is_file():
        return path.parent
    runs = [each for each in _folders(path) if (each / RECORD).is_file()]
    if not runs:
        if not path.exists():
            raise BundleError(f"{path} does not exist{similar_path(path, ()) or '; check its spelling'}")
        which = "it is neither a run nor a project"
        if (path / MANIFEST).is_file():
            which = "it is a bundle; name the run that wrote it"
        elif (path / PROJECT).is_file():
            which = "the project is not trained yet"
        raise BundleError(f"{path} has no run: {which}; dragoman train makes runs")
    found = [each for run in runs if (each := _candidate(run)) is not None]
    return max(found, key=lambda each: (each.is_finished, each.rank)).run if found else runs[0]


def _resume_command(run: Path) -> str:
    """Return the command that continues a run of a project in the folder above it."""
    project = run.parent if (run.parent / PROJECT).is_file() else None
    name = f" {shlex.quote(str(project))}" if project is not None and str(project) != "." else ""
    output = "" if run.name == RUN else f" --output {shlex.quote(str(run))}"
    return f"dragoman train{name}{output} --resume"


def _candidate(folder: Path) -> _Candidate | None:
    """Return the run in a folder if it has a bundle or a checkpoint."""
    manifest = folder / BUNDLE / MANIFEST
    if manifest.is_file():
        return _Candidate(folder, *_best(folder / RECORD), _time(manifest))
    has_record = (folder / RECORD).is_file() or (folder / LOG).is_file()
    if not has_record or not any((folder / CHECKPOINTS).glob("step_*")):
        return None
    return _Candidate(folder, *_best(folder / RECORD), _time(folder / RECORD), is_finished=False)


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
        level = [folder for folder in below if not (folder / RECORD).is_file()]


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
        from dragoman.bundle.model_store import propose_get  # noqa: PLC0415 -- only for this message

        near = similar_path(path, ()) or propose_get(str(path)) or f"; check its spelling, and name {_KINDS}"
        return f"{path} does not exist{near}"
    runs = [path, *_folders(path)]
    if unfinished := next((run for run in runs if (run / RECORD).is_file() or (run / LOG).is_file()), None):
        return f"the run in {unfinished} has no checkpoint yet; continue it with {_resume_command(unfinished)}"
    if (path / PROJECT).is_file():
        return f"the project in {path} is not trained yet; run dragoman train {shlex.quote(str(path))}"
    return f"{path} has no model: name {_KINDS}; dragoman train and dragoman import write a bundle"
