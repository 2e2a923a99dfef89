"""Make a bundle of the best checkpoint of an unfinished run, in its folder or a temporary one."""

from __future__ import annotations

import atexit
import json
import math
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.bundle.adapter import Adapter, split_lora
from dragoman.bundle.bundle import QUANTIZATION, SHORTLIST, WEIGHTS, Bundle, inherit_inference, tokenizer_names
from dragoman.bundle.bundle_config import read_shared_config, shared_toml
from dragoman.bundle.model_card import model_card
from dragoman.bundle.verified_folder import check_hashes, manifest_digest, verify, write_verified
from dragoman.bundle.weights import read_weights, write_weights
from dragoman.config import Config
from dragoman.errors import BundleError, DragomanError
from dragoman.files import file_lock, read_json
from dragoman.run_files import (
    CARD,
    CHECKPOINT_BUNDLES,
    CHECKPOINT_STATE,
    CHECKPOINTS,
    LOCK,
    PROJECT,
    RECORD,
    TOKENIZERS,
)
from dragoman.text import Tokenizer
from dragoman.version import __version__

_AVERAGE = "average.safetensors"
_STEP = re.compile(r"step_([1-9]\d{0,17})")  # without the initial weights
_ATTEMPTS = 5  # a training that is running may remove the chosen checkpoint
_POLL_SECONDS = 0.05  # while another process writes the bundle
_LICENCE = "The run is not finished: see the card of its base model, whose licence applies."


@dataclass(frozen=True)
class _Choice:
    """A checkpoint, and why it is used."""

    folder: Path
    update: int
    why: str
    manifest: dict[str, Any]
    config: Config

    @property
    def digest(self) -> str:
        return manifest_digest(self.manifest)


def save_run_tokenizers(
    run: Path, config: Config, tokenizers: Mapping[str, Tokenizer], base: Bundle | None = None
) -> None:
    """Save the tokenizers, multipliers and shortlist of a run, so that it can be used without its data."""
    names = tokenizer_names(config.tokenizer)
    contents = {name: tokenizers[side].to_bytes() for name, side in zip(names, ("source", "target"), strict=False)}
    if base is not None:
        _, quantization, shortlist = inherit_inference(base, config, tokenizers)
        kept = {QUANTIZATION: quantization, SHORTLIST: shortlist}
        contents |= {name: each.to_bytes() for name, each in kept.items() if each is not None}
    folder = run / TOKENIZERS
    try:
        files = verify(folder)["files"]
        if {name: (folder / name).read_bytes() for name in files} == contents:
            return
    except (BundleError, OSError):
        pass
    with write_verified(folder) as draft:
        for name, content in contents.items():
            (draft / name).write_bytes(content)


def checkpoint_bundle(run: Path) -> tuple[Path, str]:
    """Return a bundle of the best checkpoint of an unfinished run, or of the latest, and a line that names it."""
    for _ in range(_ATTEMPTS):
        steps = _steps(run)
        try:
            chosen = _choose(run, steps)
            return _write(run, chosen), f"the run is not finished: using {chosen.why}"
        except (BundleError, OSError) as error:
            if steps == _steps(run):
                raise BundleError(str(error)) from None
    raise BundleError(f"the checkpoints of {run} changed while they were read; try again")


def _steps(run: Path) -> list[int]:
    """Return the updates of the checkpoints, the newest first."""
    folder = run / CHECKPOINTS
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    return sorted((int(found[1]) for name in names if (found := _STEP.fullmatch(name))), reverse=True)


def _choose(run: Path, steps: list[int]) -> _Choice:
    """Return the checkpoint with the best validation; the newest if there was none. A damaged one is not used."""
    reason: Exception | None = None
    for newest in steps:
        try:
            best, value = _best(run, newest)
            config = _open(run, newest)[1]
            if best:
                metric = config.training.stop_on
                shown = f", validation {metric} {value:.2f}" if math.isfinite(value) else ""
                return _Choice(
                    _folder(run, best), best, f"the best checkpoint, update {best:,}{shown}", *_open(run, best)
                )
            why = f"the latest checkpoint, update {newest:,}, without a validation so far"
            return _Choice(_folder(run, newest), newest, why, *_open(run, newest))
        except (DragomanError, OSError, ValueError, KeyError, TypeError) as error:
            reason = reason or error
    if reason is None:
        raise BundleError(f"{run} has no checkpoint of a trained model yet")
    raise BundleError(f"{run} has no readable checkpoint: {reason}")


def _best(run: Path, newest: int) -> tuple[int, float]:
    """Return the update and the value of the best validation; 0 if there is none."""
    state = json.loads((_folder(run, newest) / CHECKPOINT_STATE).read_text(encoding="utf-8"))["state"]
    best = state["train_state"].get("best") or {}
    return int(best.get("update", 0)), float(best.get("value", math.nan))


def _open(run: Path, update: int) -> tuple[dict[str, Any], Config]:
    """Return the manifest and the configuration of a checkpoint; the files that are used are verified."""
    folder = _folder(run, update)
    manifest = verify(folder, hash_files=False)
    used = {name: facts for name, facts in manifest["files"].items() if name != "optimizer.safetensors"}
    check_hashes(folder, {"files": used})
    config = read_shared_config(str(folder / PROJECT), (folder / PROJECT).read_bytes())
    return manifest, config


def _folder(run: Path, update: int) -> Path:
    return run / CHECKPOINTS / f"step_{update}"


def _write(run: Path, chosen: _Choice) -> Path:
    """Write the bundle unless it exists; concurrent processes write it once."""
    target = run / CHECKPOINT_BUNDLES / f"step_{chosen.update}"
    if _is_written(target, chosen):
        return target
    try:
        target.parent.mkdir(exist_ok=True)
        (target.parent / LOCK).touch()
    except OSError:  # a run of another user, or on a read-only disk
        target = Path(tempfile.mkdtemp(prefix="dragoman-checkpoint-")) / target.name
        atexit.register(shutil.rmtree, target.parent, ignore_errors=True)
    while True:
        with file_lock(target.parent / LOCK) as is_ours:
            if is_ours:
                if not _is_written(target, chosen):
                    _fill(run, chosen, target)
                return target
        time.sleep(_POLL_SECONDS)


def _is_written(bundle: Path, chosen: _Choice) -> bool:
    try:
        return chosen.digest in (bundle / CARD).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False


def _fill(run: Path, chosen: _Choice, target: Path) -> None:
    """Write configuration, weights, tokenizers and card; opening the bundle checks that they belong together."""
    tokenizers = run / TOKENIZERS
    if not tokenizers.is_dir():
        raise BundleError(f"{run} has no tokenizers, and is not finished")
    files = verify(tokenizers)["files"]
    weights = _weights(chosen)
    facts = _facts(run, chosen, sum(array.size for array in weights.values()))
    with write_verified(target) as draft:
        (draft / PROJECT).write_text(shared_toml(chosen.config), encoding="utf-8")
        write_weights(draft / WEIGHTS, weights)
        for name in files:
            shutil.copyfile(tokenizers / name, draft / name)
        (draft / CARD).write_text(model_card(chosen.config, facts), encoding="utf-8")


def _weights(chosen: _Choice) -> dict[str, Any]:
    """Return the weights that were validated: the moving average if the run has one, with merged factors of LoRA."""
    name = _AVERAGE if _AVERAGE in chosen.manifest["files"] else WEIGHTS
    weights = read_weights(chosen.folder / name)
    lora = chosen.config.training.lora
    if lora is None:
        return dict(weights)
    base, factors = split_lora(weights)
    return dict(Adapter("", lora.rank, lora.alpha, factors).merged(base))


def _facts(run: Path, chosen: _Choice, parameters: int) -> dict[str, Any]:
    """Return the facts of the model card; the digest of the checkpoint tells whether the bundle is up to date."""
    record = read_json(run / RECORD) or {}
    data = record.get("data") or {}
    return {
        "parameters": parameters,
        "updates": chosen.update,
        "versions": {"dragoman": __version__},
        "pairs": data.get("pairs", {}),
        "validation": f"the run is not finished; {chosen.why}; digest {chosen.digest}",
        "start": data.get("start"),
        "licence": _LICENCE if chosen.config.start is not None else None,
    }
