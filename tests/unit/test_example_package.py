"""The example package of testkit, installed by pip: its score, its document format and its loggers of experiments."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dragoman import Translator
from dragoman.bundle import Bundle
from dragoman.documents.formats import read_document
from dragoman.engines.export_cache import export_bundle
from dragoman.errors import BundleError, CombinationError
from dragoman.markup.tagged_text import TaggedText
from dragoman.plugins import installed_plugins
from testkit.installed_package import on_path
from testkit.tiny_project import EventRecorder, tiny_training, train_tiny

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parents[2] / "testkit" / "example_package"
SCORE = "luong2015-desk + model.attention.score=cosine"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, as pip installs it; the environment of the tests is not changed."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(PACKAGE)],
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture
def installed(site: Path):
    with on_path(site, "dragoman_example"):
        yield site


@pytest.fixture(scope="module")
def trained(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with the score of the package, after three updates."""
    with on_path(site, "dragoman_example"):
        config = tiny_training(SCORE, "training.max_updates=3", "training.validation_sentences=0")
        result = train_tiny(config, tmp_path_factory.mktemp("run") / "run")
    assert result.bundle is not None
    return result.bundle.folder


def test_its_parts_are_found(installed: Path):
    assert {str(each) for each in installed_plugins()} >= {
        "cosine (scores) of dragoman-example 1.0",
        "lyrics (document_formats) of dragoman-example 1.0",
        "mlflow (callbacks) of dragoman-example 1.0",
        "wandb (callbacks) of dragoman-example 1.0",
    }


def test_the_score_is_trained_saved_loaded_and_translates(installed: Path, trained: Path):
    bundle = Bundle.open(trained)
    assert bundle.config.model.family == "rnn"
    assert bundle.config.model.attention.score == "cosine"
    assert np.abs(bundle.weights()["decoder.attention.score.b"]) > 0
    with Translator.open(trained) as translator:
        texts = [str(each) for each in translator.translate(["a b", "c"])]
        assert "torch float32" in repr(translator)
    command = "import sys; from dragoman.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "translate", str(trained)],
        input="a b\nc\n",
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path[1:], str(installed)])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == texts


def test_other_engines_refuse_the_score_in_one_line(installed: Path, trained: Path, tmp_path: Path):
    with pytest.raises(CombinationError) as caught:
        export_bundle(trained, "onnx", output=tmp_path / "onnx")
    assert str(caught.value) == (
        "model.attention.score must be one of dot, scaled-dot, general, concat, location for a recurrent model on ONNX "
        "Runtime, got cosine; use the engine torch"
    )


def test_the_bundle_names_the_package_where_it_is_missing(trained: Path):
    with pytest.raises(BundleError) as caught:
        Bundle.open(trained)
    assert str(caught.value) == (
        f"{trained / 'dragoman.toml'}: this model needs the attention score cosine of the package dragoman-example "
        "1.0, which is not installed; pip install dragoman-example, if you trust its author"
    )


def test_the_document_format_is_read_and_written(installed: Path):
    song = b"[ti:Dogs]\n[00:01.00]Two dogs play\n"
    document = read_document("a.lyrics", song)
    assert [segment.text for segment in document.segments] == ["Two dogs play"]
    assert document.write([TaggedText("Zwei Hunde")], language="de") == b"[ti:Dogs]\n[00:01.00]Zwei Hunde\n"


def settings(*names: str) -> list[str]:
    listed = ", ".join(f'"{name}"' for name in names)
    return [f"training.callbacks=[{listed}]", "training.max_updates=4", "training.log_every=2"]


def test_mlflow_has_the_losses_of_a_training_that_was_resumed(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # the store that needs no database
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    run = tmp_path / "run"
    train_tiny(tiny_training(SCORE, *settings("mlflow"), "training.max_updates=3"), run)
    train_tiny(tiny_training(SCORE, *settings("mlflow")), run)
    client = mlflow.MlflowClient()
    (logged,) = client.search_runs(["0"])
    losses = {each.step: each.value for each in client.get_metric_history(logged.info.run_id, "loss")}
    assert set(losses) == {2, 4}
    assert all(np.isfinite(loss) for loss in losses.values())
    assert {each.step for each in client.get_metric_history(logged.info.run_id, "validation_loss")} >= {4}
    assert logged.info.status == "FINISHED"
    assert logged.data.tags["ended"] == "finished"
    assert {each.path for each in client.list_artifacts(logged.info.run_id)} == {"settings.json"}


def test_wandb_has_the_losses_offline(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wandb = pytest.importorskip("wandb")
    for name, value in {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_CONSOLE": "off"}.items():
        monkeypatch.setenv(name, value)
    events = EventRecorder()
    try:
        train_tiny(tiny_training(SCORE, *settings("wandb")), tmp_path / "run", callbacks=[events])
    finally:
        wandb.teardown()
    assert not [note for note in events.notes if "wandb" in note]  # no failure was reported
    (file,) = (tmp_path / "run" / "wandb").glob("offline-run-*/run-*.wandb")
    content = file.read_bytes()
    assert b"validation/loss" in content
    assert b"learning_rate" in content
