"""Runs with LoRA: the bundle is the base with the adapter merged into it, and a resumed run ends the same."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.api.training.bundle_writer import average_checkpoints
from dragoman.api.training.checked_training import check_training
from dragoman.api.training.preparation import prepare_corpora
from dragoman.api.training.training_run import TrainResult, train_model
from dragoman.bundle import Bundle, write_bundle
from dragoman.bundle.adapter import Adapter, merge_adapter
from dragoman.bundle.locate import find_bundle
from dragoman.config import Config, LoraConfig, StartConfig, load_config
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.files import read_json
from dragoman.models.build import build_model, load_model
from dragoman.training.checkpoint import CheckpointStore
from testkit.presets import tiny_config
from testkit.tiny_project import Killed, Stop, Stopper
from testkit.training_faults.project import make_project
from testkit.training_faults.run_differences import differences

QUICK = (
    *("training.max_updates=12", "training.checkpoint_every=3", "training.validate_every=5"),
    *("training.validation_sentences=2", "training.learning_rate=0.05", "training.threads=1"),
)


@dataclass(frozen=True)
class Adapting:
    """A project that fine-tunes a random base with LoRA."""

    folder: Path
    base: Bundle
    config: Config

    def train(self, run: str, stops: Sequence[Stop] = ()) -> TrainResult:
        for stop in stops:
            with suppress(Killed):
                train_model(
                    check_training(self.config, self.folder, self.folder / run, resume=True), callbacks=[Stopper(stop)]
                )
        return train_model(check_training(self.config, self.folder, self.folder / run, resume=True))


def adapting(folder: Path, name: str, *overrides: str) -> Adapting:
    project = make_project(folder)
    plain = load_config(project.config, [*QUICK, *overrides]).model_copy(update={"model": tiny_config(name)})
    assert plain.data is not None
    tokenizers = PreparedData.open(folder / plain.data.folder).tokenizers()
    model = build_model(plain.model, tokenizers["source"].size, tokenizers["target"].size, seed=9)
    weights = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
    base = write_bundle(folder / "base", plain, weights, tokenizers, "# A base\n\n## Licence\n\nMPL-2.0\n")
    training = plain.training.model_copy(update={"lora": LoraConfig(rank=2, alpha=4.0)})
    config = plain.model_copy(update={"training": training, "start": StartConfig(bundle="base")})
    prepare_corpora(config, folder)
    return Adapting(folder, base, config)


@pytest.mark.parametrize(
    ("name", "average"), [("luong2015-desk", []), ("vaswani2017-desk", ["training.ema_decay=0.9"])]
)
def test_the_bundle_is_the_base_with_the_adapter(name: str, average: list[str], tmp_path: Path):
    project = adapting(tmp_path, name, *average)
    trained = project.train("run")
    assert trained.bundle is not None
    assert (tmp_path / "run" / "adapter.safetensors").stat().st_size < 0.7 * (
        project.base.folder / "weights.safetensors"
    ).stat().st_size
    adapter = Adapter.open(tmp_path / "run" / "adapter.safetensors")
    merged = merge_adapter(project.base, adapter, tmp_path / "merged")
    assert (merged.folder / "weights.safetensors").read_bytes() == (
        trained.bundle.folder / "weights.safetensors"
    ).read_bytes(), "merging gives the weights of the run, bit for bit"
    load_model(Bundle.open(trained.bundle.folder))
    before, after = project.base.weights(), trained.bundle.weights()
    assert {key for key in after if not np.array_equal(after[key], before[key])} == set(adapter.factors)
    assert {(each.name, each.model) for each in trained.scores} == {("validation", "base"), ("validation", "trained")}
    (new,) = (each for each in trained.scores if each.model == "trained")
    assert [score.metric for score in new.scores] == [test.metric for test in new.tests] == ["bleu", "chrf++"]
    assert all(score.interval is not None for score in new.scores)
    card = trained.bundle.card()
    assert f"digest {project.base.digest}" in card
    assert "LoRA, rank 2, alpha 4" in card
    assert card.endswith("The card of the base states:\n\nMPL-2.0\n")
    assert " ± " in card
    record = read_json(tmp_path / "run" / "run.json")
    assert record is not None
    assert record["trainable_parameters"] == sum(a.size + b.size for a, b in adapter.factors.values())
    assert record["trainable_parameters"] < record["parameters"]


def test_a_resumed_run_is_the_same_as_an_uninterrupted_one(tmp_path: Path):
    project = adapting(tmp_path, "vaswani2017-desk", "training.ema_decay=0.9")
    project.train("whole")
    project.train("parts", [Stop(4, "killed"), Stop(7)])
    assert differences(tmp_path / "parts", tmp_path / "whole") == []
    one, other = ((tmp_path / run / "adapter.safetensors").read_bytes() for run in ("whole", "parts"))
    assert one == other


def test_averages_are_of_merged_weights(tmp_path: Path):
    project = adapting(tmp_path, "luong2015-desk", "training.checkpoint_every=1", "training.keep_last=3")
    trained = project.train("run")
    assert trained.bundle is not None
    averaged = average_checkpoints(tmp_path / "run", tmp_path / "mean", last=2).weights()
    assert averaged.keys() == project.base.weights().keys()
    store = CheckpointStore(tmp_path / "run" / "checkpoints")
    both = []
    for step in (11, 12):
        found = {key: tensor.double() for key, tensor in store.open(step).weights().items()}
        at = "encoder.layers.0.left.parametrizations.W"
        both.append(found[f"{at}.original"] + 2.0 * found[f"{at}.0.lora_B"] @ found[f"{at}.0.lora_A"])
    torch.testing.assert_close(
        torch.from_numpy(averaged["encoder.layers.0.left.W"]), ((both[0] + both[1]) / 2).float(), rtol=1e-6, atol=1e-6
    )


def test_the_bundle_of_a_stopped_run_has_merged_weights(tmp_path: Path):
    project = adapting(tmp_path, "luong2015-desk", "training.validate_every=12", "training.checkpoint_every=1")
    run = tmp_path / "run"
    train_model(check_training(project.config, tmp_path, run), callbacks=[Stopper(Stop(3))])
    found = find_bundle(run)
    assert "latest checkpoint, update 3" in found.note
    stopped = Bundle.open(found.path)
    assert stopped.weights().keys() == project.base.weights().keys()
    config = project.config.model_copy(
        update={"training": project.config.training.model_copy(update={"max_updates": 3})}
    )
    whole = train_model(check_training(config, tmp_path, tmp_path / "short")).bundle
    assert whole is not None
    for name, array in whole.weights().items():
        assert np.array_equal(array, stopped.weights()[name]), name
