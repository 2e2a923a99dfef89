"""Checkpoints are restored exactly, and survive an interruption of a save."""

import copy
import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file as save_file_of_torch
from torch import Tensor

from dragoman.config import TrainingConfig, load_config
from dragoman.errors import BundleError
from dragoman.training.checkpoint import (
    Checkpoint,
    CheckpointStore,
    gather_optimizer_state,
    gather_weights,
    load_optimizer_state,
    load_weights,
)
from dragoman.training.optimizer import OPTIMIZERS, build_optimizer
from dragoman.training.step import train_step
from testkit.presets import EVERY_LENGTH, fresh_model, sentences, tiny_config

CONFIG = load_config("luong2015-desk")
STATE = {"best": float("inf"), "epoch": 3, "place": [1, 2], "rate": 0.1 + 0.2}
TIED = "luong2015-desk + model.encoder.bidirectional=true + model.tie=all"


def tensors(size: int = 4, seed: int = 0) -> dict[str, Tensor]:
    return {"w": torch.randn(size, generator=torch.Generator().manual_seed(seed)), "step/w": torch.tensor(3.0)}


def save(kept: CheckpointStore, update: int, **changes: Any) -> Path:
    given = {"weights": tensors(), "optimizer": tensors(), "average": None, "state": STATE, "config": CONFIG} | changes
    return kept.save(update, **given)


def no_note(text: str) -> None:
    raise AssertionError(text)


def newest(kept: CheckpointStore) -> Checkpoint:
    found = kept.latest(no_note)
    assert found is not None
    return found


@pytest.fixture
def kept(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "run" / "checkpoints")


def test_what_was_saved_comes_back(kept: CheckpointStore):
    weights = {"half": torch.ones(3, dtype=torch.bfloat16), "whole": torch.tensor([1, 2]), "one": torch.tensor(0.5)}
    folder = save(kept, 40, weights=weights, average=tensors(seed=1))
    assert folder.name == "step_40"
    found = newest(kept)
    assert (found.folder, found.update, found.state) == (folder, 40, STATE)
    assert found.config() == CONFIG
    for got, given in ((found.weights(), weights), (found.optimizer(), tensors()), (found.average(), tensors(seed=1))):
        assert got is not None
        assert set(got) == set(given)
        assert all(got[name].dtype == given[name].dtype and torch.equal(got[name], given[name]) for name in given)


def test_there_may_be_no_average_and_no_checkpoint(kept: CheckpointStore):
    assert kept.latest(no_note) is None
    assert kept.steps() == []
    kept.prune(keep_last=1, keep=())
    save(kept, 0)
    assert newest(kept).average() is None
    assert kept.open(0).update == 0
    with pytest.raises(BundleError, match="step_7 does not exist"):
        kept.open(7)


def test_the_newest_is_the_highest_number(kept: CheckpointStore):
    for update in (100, 20, 9):
        save(kept, update)
    for other in ("step_200.tmp", "step_0300", "step_", "other"):
        (kept.folder / other).mkdir()
    (kept.folder / "step_400").touch()
    assert kept.steps() == [9, 20, 100]
    assert newest(kept).update == 100


def test_the_same_update_can_be_saved_again(kept: CheckpointStore):
    save(kept, 20)
    save(kept, 20, state={"again": True})
    assert newest(kept).state == {"again": True}
    assert [path.name for path in kept.folder.iterdir()] == ["step_20"]


def test_a_damaged_one_is_noted_passed_over_and_kept(kept: CheckpointStore):
    for update in (20, 40, 60):
        save(kept, update)
    for update in (40, 60):
        (kept.folder / f"step_{update}" / "state.json").write_bytes(b"")
    notes: list[str] = []
    found = kept.latest(notes.append)
    assert found is not None
    assert found.update == 20
    assert [note.rpartition("; ")[2] for note in notes] == ["using step_40 instead", "using step_20 instead"]
    assert "step_60 is damaged (" in notes[0]
    assert "state.json has" in notes[0]
    save(kept, 30)
    kept.prune(keep_last=1, keep=())
    assert kept.steps() == [30, 40, 60]  # what is damaged is no reason to remove what is not
    save(kept, 40)
    save(kept, 60)
    kept.prune(keep_last=1, keep=())
    assert kept.steps() == [60]


def test_if_none_is_whole_that_is_said(kept: CheckpointStore):
    shutil.rmtree(save(kept, 20) / "manifest.json", ignore_errors=True)
    (kept.folder / "step_20" / "manifest.json").unlink()
    notes: list[str] = []
    assert kept.latest(notes.append) is None
    assert notes[0].endswith("; there is no older one")


def test_pruning_keeps_what_it_is_told_to(kept: CheckpointStore):
    for update in range(1, 7):
        save(kept, update)
    (kept.folder / "step_9.tmp").mkdir()
    kept.prune(keep_last=2, keep={2})
    assert kept.steps() == [2, 5, 6]
    assert len(list(kept.folder.iterdir())) == 3
    kept.prune(keep_last=0, keep={5})
    assert kept.steps() == [5]


def test_the_folder_of_another_update_is_not_taken_for_this_one(kept: CheckpointStore):
    save(kept, 20).rename(kept.folder / "step_40")
    with pytest.raises(BundleError, match="is the checkpoint of update 20, not 40; rename it"):
        kept.open(40)


def test_one_that_vanishes_after_it_was_found_is_told(kept: CheckpointStore):
    save(kept, 20)
    found = newest(kept)
    shutil.rmtree(found.folder)
    with pytest.raises(BundleError, match="changed after it was verified"):
        found.weights()


# ------------------------------------------------------------------------------------------ stopped at any moment


def stops(tmp_path: Path, mode: str, how: str) -> list[tuple[str, list[float] | None]]:
    script = Path(__file__).with_name("interrupted_saves.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), mode, how],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    result: list[tuple[str, list[float] | None]] = json.loads(done.stdout)
    assert len(result) > 30
    return result


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["new", "replace", "replace-aside"])
def test_a_save_that_is_stopped_anywhere_leaves_a_checkpoint(mode: str, tmp_path: Path):
    before = [20, 1.0] if mode == "new" else [40, 1.0]
    left = [found for _, found in stops(tmp_path, mode, "verified")]
    assert left == sorted(left, key=lambda found: found != before)  # the old one, and from one moment on the new one
    assert left[0] == before
    assert left[-1] == [40, 2.0]


@pytest.mark.slow
def test_the_campaign_notices_a_careless_save(tmp_path: Path):
    left = [found for _, found in stops(tmp_path, "replace", "careless")]
    assert left.count(None) > len(left) / 2


# ------------------------------------------------------------------------------------------------- a disk that is full

FILES = ["weights.safetensors", "optimizer.safetensors", "average.safetensors", "state.json", "dragoman.toml"]


@pytest.mark.parametrize("name", [*FILES, "manifest.json", "fsync"])
def test_a_full_disk_is_an_oserror_and_the_old_ones_stay(
    name: str, kept: CheckpointStore, monkeypatch: pytest.MonkeyPatch
):
    save(kept, 20)
    write_bytes, write_text = Path.write_bytes, Path.write_text

    def full(path: Path) -> None:
        if path.name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    def half(write: Any) -> Any:
        def stopped(path: Path, data: Any, **settings: Any) -> None:
            write(path, data[: len(data) // 2], **settings)
            full(path)
            write(path, data, **settings)

        return stopped

    def fsync(descriptor: int) -> None:
        full(Path("fsync"))

    def torch_save(table: dict[str, Tensor], path: Path) -> None:
        save_file_of_torch(table, path)
        if path.name == name:
            raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", half(write_bytes))
        patch.setattr(Path, "write_text", half(write_text))
        patch.setattr("dragoman.training.checkpoint.save_file", torch_save)
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="No space left on device") as caught:
            save(kept, 40, average=tensors())
    assert caught.value.errno == errno.ENOSPC
    assert [path.name for path in kept.folder.iterdir()] == ["step_20"]
    assert newest(kept).update == 20
    save(kept, 40, average=tensors())
    assert newest(kept).update == 40


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    made = (
        mount
        and umount
        and subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)], capture_output=True, check=False
        )
    )
    if not made or made.returncode:
        pytest.skip("no small disk to fill: mounting a tmpfs is not permitted here")
    yield disk
    assert umount
    subprocess.run([umount, str(disk)], check=True)


def test_a_real_disk_that_is_full(small_disk: Path):
    kept = CheckpointStore(small_disk / "checkpoints")
    large = {"w": torch.ones(1 << 20)}  # 4 MiB, three times a save
    save(kept, 20, weights=large, optimizer=large)
    used = shutil.disk_usage(small_disk).used
    for _ in range(3):
        with pytest.raises(OSError, match="No space left on device") as caught:
            save(kept, 40, weights=large, optimizer=large, average=large)
        assert caught.value.errno == errno.ENOSPC
        assert caught.value.filename.endswith("safetensors")
        assert shutil.disk_usage(small_disk).used == used
        assert torch.equal(newest(kept).weights()["w"], large["w"])
    kept.prune(keep_last=0, keep=())
    save(kept, 40, weights=large, optimizer=large, average=large)
    assert newest(kept).update == 40


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_an_optimizer_goes_on_as_if_it_had_never_been_put_away(optimizer: str):
    config = TrainingConfig.model_validate({"optimizer": optimizer, "learning_rate": 0.1})
    batch = sentences(EVERY_LENGTH)
    model = fresh_model(tiny_config(TIED))
    rule = build_optimizer(model, config)
    for update in (1, 2):
        train_step(model, rule, batch, config, update)
    tensors = {name: tensor.clone() for name, tensor in gather_optimizer_state(model, rule).items()}
    weights = {name: tensor.clone() for name, tensor in gather_weights(model).items()}
    other = fresh_model(tiny_config(TIED))
    fresh = build_optimizer(other, config)
    load_weights(other, weights)
    load_optimizer_state(other, fresh, tensors)
    for update in (3, 4):
        train_step(model, rule, batch, config, update)
        train_step(other, fresh, batch, config, update)
    for name, tensor in gather_weights(model).items():
        assert torch.equal(tensor, gather_weights(other)[name]), name
    again = gather_optimizer_state(other, fresh)
    assert again.keys() == tensors.keys()
    assert all(torch.equal(tensor, again[name]) for name, tensor in gather_optimizer_state(model, rule).items())


def test_names_and_what_they_hold():
    model = fresh_model(tiny_config(TIED))
    weights = gather_weights(model)
    assert list(weights) == [name for name, _ in model.named_parameters()], "tied ones once"
    assert len({tensor.data_ptr() for tensor in weights.values()}) == len(weights)
    rule = build_optimizer(model, TrainingConfig())
    assert gather_optimizer_state(model, rule) == {}
    train_step(model, rule, sentences(EVERY_LENGTH), TrainingConfig(), 1)
    first = next(iter(weights))
    assert {"exp_avg", "exp_avg_sq", "step"} == {
        place.split("/")[0] for place in gather_optimizer_state(model, rule) if place.endswith(f"/{first}")
    }


def test_loading_copies():
    model = fresh_model(tiny_config(TIED))
    weights = copy.deepcopy(gather_weights(model))
    load_weights(model, weights)
    name = next(iter(weights))
    weights[name].fill_(7.0)
    assert not torch.equal(gather_weights(model)[name], weights[name])


def test_other_names_are_a_mistake_of_ours():
    with pytest.raises(AssertionError):
        load_weights(fresh_model(tiny_config(TIED)), {"nothing": torch.ones(1)})
