"""`train_model` and `average_checkpoints`: from prepared data to a bundle, and what they refuse."""

import os
import time
from pathlib import Path

import pytest
import torch
from sacrebleu.tokenizers import tokenizer_ja_mecab

from dragoman.api.training.bundle_writer import average_checkpoints
from dragoman.api.training.checked_training import check_same_settings, check_training
from dragoman.api.training.preparation import prepare_corpora
from dragoman.api.training.training_run import train_model
from dragoman.bundle import Bundle
from dragoman.config import Config, load_config
from dragoman.data.preparation import prepared_data
from dragoman.data.saved_test_sets import load_test_sets
from dragoman.errors import BundleError, ConfigError, DataError
from dragoman.files import read_json
from dragoman.models.build import load_model
from dragoman.training.checkpoint import CheckpointStore
from dragoman.training.optimizer import mean_weights
from testkit.tiny_project import EventRecorder, tiny_project, tiny_training, train_tiny
from testkit.training_faults.project import make_project

QUICK = ("training.max_updates=4", "training.validate_every=2", "training.checkpoint_every=1", "training.keep_last=4")


def quick(*overrides: str) -> Config:
    return tiny_training("luong2015-desk", *QUICK, *overrides)


def make_newer(files: list[Path]) -> None:
    """Set the times of files a minute ahead: two files that are written one after the other may have the same time."""
    later = time.time() + 60
    for file in files:
        os.utime(file, (later, later))


def check_weights(bundle: Bundle, wanted: dict[str, torch.Tensor]) -> None:
    found = bundle.weights()
    assert found.keys() == wanted.keys()
    assert all(torch.equal(torch.from_numpy(found[name]), wanted[name]) for name in wanted)


def test_the_bundle_has_the_best_weights(tmp_path: Path):
    trained = train_tiny(quick(), tmp_path / "run")
    assert trained.bundle is not None
    assert trained.ended.best_update is not None
    assert trained.bundle.folder == tmp_path / "run" / "bundle"
    checkpoints = CheckpointStore(tmp_path / "run" / "checkpoints")
    check_weights(trained.bundle, checkpoints.open(trained.ended.best_update).weights())
    load_model(Bundle.open(trained.bundle.folder))
    assert read_json(tmp_path / "run" / "run.json")


def prepare_into(target: str, folder: Path) -> Config:
    """Return the configuration of a project with another target language."""
    config = load_config(make_project(folder).config, [*QUICK, f"data.target={target}", "data.cleaning.min_script=0"])
    prepare_corpora(config, folder)
    return config


def test_validation_and_final_scores_have_the_same_tokenizer_of_bleu(tmp_path: Path):
    seen = EventRecorder()
    trained = train_model(check_training(prepare_into("zh", tmp_path), tmp_path, tmp_path / "run"), callbacks=[seen])
    signatures = [each.scored.signatures["bleu"] for each in seen.validations]
    signatures += [score.signature for each in trained.scores for score in each.scores if score.metric == "bleu"]
    assert len(signatures) > 2
    assert all("|tok:zh|" in each for each in signatures)


def test_training_without_the_tokenizer_of_bleu_ends_with_a_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tokenizer_ja_mecab, "MeCab", None)
    config, seen = prepare_into("ja", tmp_path), EventRecorder()
    trained = train_model(check_training(config, tmp_path, tmp_path / "run"), callbacks=[seen])
    assert trained.bundle is not None
    assert {score.metric for each in trained.scores for score in each.scores} == {"chrf++"}
    assert seen.notes == ["scores without BLEU: its tokenizer for ja is not installed; pip install 'sacrebleu[ja]'"]
    with pytest.raises(ConfigError, match=r"stop_on must be loss or chrf .* ja, got bleu; .*'sacrebleu\[ja\]'"):
        train_model(
            check_training(
                config.model_copy(update={"training": config.training.model_copy(update={"stop_on": "bleu"})}),
                tmp_path,
                tmp_path / "other",
            )
        )


def test_the_moving_average_is_what_is_given_away(tmp_path: Path):
    trained = train_tiny(quick("training.ema_decay=0.9"), tmp_path / "run")
    assert trained.bundle is not None
    assert trained.ended.best_update is not None
    best = CheckpointStore(tmp_path / "run" / "checkpoints").open(trained.ended.best_update)
    mean = best.average()
    assert mean is not None
    check_weights(trained.bundle, mean)


def test_the_mean_of_the_newest(tmp_path: Path):
    trained = train_tiny(quick("training.average_last=3"), tmp_path / "run")
    assert trained.bundle is not None
    checkpoints = CheckpointStore(tmp_path / "run" / "checkpoints")
    wanted = mean_weights(checkpoints.open(step).weights() for step in (2, 3, 4))
    check_weights(trained.bundle, wanted)
    averaged = average_checkpoints(tmp_path / "run", tmp_path / "mean", last=3)
    check_weights(averaged, wanted)
    assert "the mean of those after 2, 3, 4 updates" in averaged.card()
    with pytest.raises(BundleError, match="has 4 checkpoints to average, not 9"):
        average_checkpoints(tmp_path / "run", tmp_path / "other", last=9)


@pytest.mark.parametrize("which", ["train-00000.arrow", "validation-00000.arrow"])
def test_a_shard_that_was_changed_is_named_before_training(which: str, tmp_path: Path):
    project = make_project(tmp_path / "project")
    (path,) = project.folder.glob(f"prepared/*/{which}")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    config = load_config(project.config, list(QUICK)).model_copy(update={"model": quick().model})
    with pytest.raises(DataError, match=rf"{which} was changed after it was prepared"):
        train_model(check_training(config, project.folder, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_there_is_not_overwritten(tmp_path: Path):
    config, folder = quick(), tiny_project().folder
    train_model(check_training(config, folder, tmp_path))
    with pytest.raises(ConfigError, match=r"has a finished run already.*--resume"):
        train_model(check_training(config, folder, tmp_path))


@pytest.mark.parametrize("setting", ["training.learning_rate=0.5", "training.seed=9", "training.ema_decay=0.5"])
def test_other_settings_do_not_go_on(setting: str, tmp_path: Path):
    train_tiny(quick(), tmp_path)
    with pytest.raises(ConfigError, match=rf"it started with, got {setting.partition('=')[0]} = .* instead of"):
        train_tiny(quick(setting), tmp_path)


def test_a_list_of_tables_that_differs_is_not_offered_as_an_option():
    with pytest.raises(ConfigError, match=r"got data\.train = .*; restore them, or start a new run"):
        check_same_settings(quick(), quick('data.train=[{files=["other.en", "other.de"]}]'))


def test_other_changes_of_pairs_are_another_run():
    message = r"got data\.augment\.typos = 0\.2 instead of 0\.05; add --set data\.augment\.typos=0\.05, or start"
    with pytest.raises(ConfigError, match=message):
        check_same_settings(quick("data.augment={}"), quick("data.augment={typos=0.2}"))
    with pytest.raises(ConfigError, match=r"got .*data\.augment\.upper = 0\.07 instead of"):
        check_same_settings(quick(), quick("data.augment={}"))


def test_how_long_and_what_is_kept_may_change(tmp_path: Path):
    train_tiny(quick(), tmp_path)
    changed = ("training.max_updates=6", "training.validate_every=3", "training.patience=7", "training.keep_last=2")
    assert train_tiny(quick(*changed), tmp_path).ended.update == 6


def test_a_cosine_must_end_where_it_was_to_end(tmp_path: Path):
    train_tiny(quick("training.schedule=cosine"), tmp_path)
    with pytest.raises(ConfigError, match=r"got training\.max_updates = .* instead of"):
        train_tiny(quick("training.schedule=cosine", "training.max_updates=6"), tmp_path)


def test_without_data_it_says_what_to_do(tmp_path: Path):
    config = quick()
    with pytest.raises(ConfigError, match=r"has no \[data\] section"):
        train_model(check_training(config.model_copy(update={"data": None}), tmp_path, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_run_keeps_the_test_set_that_was_held_out(tmp_path: Path):
    project = make_project(tmp_path)
    config = load_config(
        project.config, ["data.test_pairs=12", "training.max_updates=2", "training.validation_sentences=2"]
    )
    prepared = prepare_corpora(config, tmp_path)
    train_model(check_training(config, tmp_path, tmp_path / "run"))
    (saved,) = load_test_sets(tmp_path / "run")
    assert saved.sentences == 12
    assert saved.source.read_bytes() == (prepared.folder / "test.en").read_bytes()
    assert saved.reference.read_bytes() == (prepared.folder / "test.de").read_bytes()
    assert not {*saved.source.read_text().split("\n")} & {
        *(prepared.folder / "validation.en").read_text().split("\n")
    } - {""}


def test_a_longer_run_tells_what_changed(tmp_path: Path):
    events = EventRecorder()
    train_tiny(quick(), tmp_path)
    train_tiny(quick("training.max_updates=6"), tmp_path, callbacks=[events])
    assert "training.max_updates was 4, is now 6" in events.notes


def test_another_language_than_that_of_the_prepared_data_is_named(tmp_path: Path):
    project = make_project(tmp_path)
    overrides = ["data.test_pairs=12", "training.max_updates=2", "training.validation_sentences=2"]
    prepare_corpora(load_config(project.config, overrides), tmp_path)
    other = load_config(project.config, [*overrides, "data.target=fr"])  # test.de, which is prepared, would be test.fr
    with pytest.raises(DataError, match=r"other settings than .*: data\.target; run dragoman prepare with"):
        train_model(check_training(other, tmp_path, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_large_files_that_are_newer_than_the_prepared_data_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Files are hashed up to a limit for all of them; the others are not called changed."""
    project = make_project(tmp_path)
    prepared = prepare_corpora(load_config(project.config), tmp_path)
    files = [tmp_path / "train.en", tmp_path / "train.de"]
    make_newer(files)
    assert prepared.input_changes(tmp_path) == []
    ending = (
        "newer than the prepared data; if {} text changed, run dragoman prepare and train a new run to use the new text"
    )
    monkeypatch.setattr(prepared_data, "_MOST_HASHED", max(file.stat().st_size for file in files))
    (note,) = prepared.input_changes(tmp_path)
    assert note in {f"{file.name} is {ending.format('its')}" for file in files}
    monkeypatch.setattr(prepared_data, "_MOST_HASHED", 0)
    (note,) = prepared.input_changes(tmp_path)
    assert note.endswith(f" are {ending.format('their')}")


def test_files_that_changed_after_preparation_are_a_note(tmp_path: Path):
    project = make_project(tmp_path)
    config = load_config(project.config, ["training.max_updates=2", "training.validation_sentences=2"])
    events = EventRecorder()
    make_newer([tmp_path / "train.en", tmp_path / "train.de"])  # with the same text
    first = train_model(check_training(config, tmp_path, tmp_path / "first"), callbacks=[events])
    assert not [note for note in events.notes if "prepare" in note]
    with (tmp_path / "train.en").open("a", encoding="utf-8") as appended:
        appended.write("ba ce di\n")
    make_newer([tmp_path / "train.en"])
    (tmp_path / "train.de").unlink()
    second = train_model(check_training(config, tmp_path, tmp_path / "second"), callbacks=[events])
    changed, missing = [note for note in events.notes if "prepare" in note]
    assert changed == (
        "train.en changed after dragoman prepare: training uses the text that was prepared; to use the new text, run "
        "dragoman prepare and train a new run"
    )
    assert missing == "train.de cannot be read any more: training uses the text that was prepared"
    assert first.bundle is not None
    assert second.bundle is not None
    check_weights(first.bundle, {name: torch.from_numpy(each) for name, each in second.bundle.weights().items()})


@pytest.mark.parametrize("early", ["max_epochs", "patience"])
def test_displays_are_told_that_training_may_end_early(early: str, tmp_path: Path):
    for value in (0, 1):
        seen = EventRecorder()
        train_tiny(
            quick(f"training.{early}={value}", "training.max_updates=1"), tmp_path / str(value), callbacks=[seen]
        )
        assert [each.stops_early for each in seen.starts] == [bool(value)]
