"""Checkpoints of format version 1, written by Dragoman 0.1.0, are resumed with the same result."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.bundle.verified_folder import VERSION
from dragoman.training import checkpoint as module
from dragoman.training.checkpoint import CheckpointStore, migrate_state
from dragoman.training.train_state import TrainState

FIXTURES = Path(__file__).parents[2] / "fixtures" / "formats-0.1"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
NAMES = ("rnn", "transformer")


def described(tensor: torch.Tensor) -> str:
    array = np.ascontiguousarray(tensor.numpy())
    shape = ",".join(map(str, array.shape))
    return f"{array.dtype}[{shape}] {hashlib.sha256(array.tobytes()).hexdigest()}"


def sha256_of_sorted(tensors: dict[str, torch.Tensor]) -> str:
    return hashlib.sha256("\n".join(sorted(map(described, tensors.values()))).encode()).hexdigest()


def has_the_same_arithmetic() -> bool:
    written = EXPECTED["written_by"]
    return (torch.__version__, torch.backends.cpu.get_cpu_capability()) == (written["torch"], written["cpu_capability"])


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_of_version_1_is_read(name: str):
    expected = EXPECTED[name]["checkpoint"]
    checkpoint = CheckpointStore(FIXTURES / name / "run" / "checkpoints").open(expected["update"])
    assert checkpoint.version == 1
    assert {key: described(tensor) for key, tensor in checkpoint.weights().items()} == expected["tensors"]
    assert sha256_of_sorted(checkpoint.optimizer()) == expected["sha256_of_sorted_optimizer_tensors"]
    if average := checkpoint.average():
        assert sha256_of_sorted(average) == expected["sha256_of_sorted_average_tensors"]
    state = TrainState.from_json(checkpoint.state["train_state"])
    assert (state.update, state.last_validated, state.checkpoints, state.last_good) == (401, 401, (401,), 401)
    assert state.divergence.good_updates == 401
    assert checkpoint.config().training.max_updates == 401


@pytest.mark.parametrize("name", NAMES)
def test_a_resumed_run_of_version_1_gives_the_same_bits(name: str, tmp_path: Path):
    project = tmp_path / name
    shutil.copytree(FIXTURES / name, project)
    shutil.copytree(FIXTURES / "corpus", tmp_path / "corpus")
    expected = EXPECTED[name]["resumed"]
    config = CheckpointStore(project / "run" / "checkpoints").open(401).config()
    training = config.training.model_copy(update={"max_updates": expected["max_updates"]})
    train_model(check_training(config.model_copy(update={"training": training}), project, project / "run", resume=True))
    checkpoint = CheckpointStore(project / "run" / "checkpoints").open(expected["max_updates"])
    assert checkpoint.version == VERSION
    if not has_the_same_arithmetic():
        before = load_file(project / f"resumed-{expected['max_updates']}.safetensors")
        for key, tensor in checkpoint.weights().items():
            torch.testing.assert_close(tensor, before[key], rtol=1e-4, atol=1e-6)
        return
    for file, digest in expected["files"].items():
        assert hashlib.sha256((checkpoint.folder / file).read_bytes()).hexdigest() == digest, file
    assert checkpoint.state == migrate_state(expected["state"], 1) | {"threads": torch.get_num_threads()}


def test_without_the_migration_a_checkpoint_of_version_1_has_no_train_state(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "migrate_state", lambda state, version: state)
    checkpoint = CheckpointStore(FIXTURES / "rnn" / "run" / "checkpoints").open(401)
    with pytest.raises(KeyError, match="train_state"):
        TrainState.from_json(checkpoint.state["train_state"])


def test_a_state_of_the_current_version_is_unchanged():
    state = {"train_state": TrainState(update=3).to_json(), "loader": {}}
    assert migrate_state(state, VERSION) == state
    assert migrate_state({"value": 1}, 1) == {"value": 1}
