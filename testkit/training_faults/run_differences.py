"""Whether two runs ended with the same bits, and whether a run's log tells of each update once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.bundle.verified_folder import MANIFEST, verify
from dragoman.training.checkpoint import CheckpointStore

_TIMED = ("time", "seconds", "tokens_per_second")  # of an entry: what is not the training's own doing


def weights_hash(run: Path) -> str:
    """The SHA-256 of the weights in a run's last checkpoint."""
    steps = CheckpointStore(run / "checkpoints").steps()
    manifest = verify(run / "checkpoints" / f"step_{steps[-1]}")
    return str(manifest["files"]["weights.safetensors"]["sha256"])


def differences(run: Path, reference: Path) -> list[str]:
    """What is not the same to the bit: files of the checkpoints both have, the bundle's weights, the curve of losses.

    The last checkpoint is among those both must have. Nothing at all is an empty list.
    """
    ours, theirs = (CheckpointStore(each / "checkpoints").steps() for each in (run, reference))
    if not ours or not theirs or ours[-1] != theirs[-1]:
        return [f"the last checkpoint: {ours[-1:]} and {theirs[-1:]}"]
    found = []
    for step in sorted({*ours} & {*theirs}):
        folders = [each / "checkpoints" / f"step_{step}" for each in (run, reference)]
        found += [f"step_{step}/{name}" for name in _unlike(*folders)]
    if (reference / "bundle").is_dir():
        found += [f"bundle/{name}" for name in _unlike(run / "bundle", reference / "bundle") if name != "card.md"]
    if curve(run) != curve(reference):
        found.append("log.jsonl")
    return found


def _unlike(folder: Path, other: Path) -> list[str]:
    """The names of the files that differ, by verified manifests; these must be the same bytes where none does."""
    ours, theirs = (verify(each)["files"] for each in (folder, other))
    names = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    same_bytes = (folder / MANIFEST).read_bytes() == (other / MANIFEST).read_bytes()
    return names if same_bytes or names else [MANIFEST]


def curve(run: Path) -> list[dict[str, Any]]:
    """Updates and validations of the log, without times."""
    lines = (run / "log.jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    return [
        {name: value for name, value in entry.items() if name not in _TIMED}
        for entry in entries
        if entry["kind"] in ("update", "validation", "skipped")
    ]
