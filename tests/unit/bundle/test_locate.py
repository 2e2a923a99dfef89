"""Find the bundle of a folder, or explain why there is none."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from dragoman.api.evaluation.system_arguments import bundle_of, parse_systems
from dragoman.bundle import Bundle, model_card
from dragoman.bundle.locate import find_bundle, find_run
from dragoman.config import load_config
from dragoman.errors import BundleError, DragomanError


def bundle(folder: Path, *, age: float = 0.0) -> Path:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}", encoding="utf-8")
    os.utime(folder / "manifest.json", (1e9 - age, 1e9 - age))
    return folder


def run(folder: Path, best: dict | None = None, *, trained: bool = True, age: float = 0.0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"best": best}), encoding="utf-8")
    if trained:
        bundle(folder / "bundle", age=age)
    return folder


def test_a_bundle_is_taken_as_it_is(tmp_path: Path):
    assert find_bundle(bundle(tmp_path / "b")).path == tmp_path / "b"
    assert find_bundle(tmp_path / "b").reason == ""


def test_a_run_and_a_project_have_their_bundle(tmp_path: Path):
    run(tmp_path / "project" / "run")
    (tmp_path / "project" / "dragoman.toml").write_text("", encoding="utf-8")
    expected = tmp_path / "project" / "run" / "bundle"
    for path in ("project/run", "project", "project/dragoman.toml"):
        found = find_bundle(tmp_path / path)
        assert found.path == expected
        assert found.reason


@pytest.mark.parametrize(
    ("metric", "values", "best"), [("loss", (2.5, 1.5, 2.0), "second"), ("bleu", (20.0, 21.0, 30.0), "third")]
)
def test_the_best_run_of_a_project_is_chosen_by_validation(tmp_path: Path, metric: str, values: tuple, best: str):
    for name, value in zip(("first", "second", "third"), values, strict=True):
        record = {"metric": metric, "loss": value, "scores": {"bleu": value}}
        run(tmp_path / "runs" / name, record)
    found = find_bundle(tmp_path)
    assert found.path == tmp_path / "runs" / best / "bundle"
    assert f"best of 3 in {tmp_path}: {metric} " in found.reason
    assert find_run(tmp_path) == tmp_path / "runs" / best


def test_runs_that_cannot_be_compared_are_chosen_by_age(tmp_path: Path):
    run(tmp_path / "old", {"metric": "bleu", "scores": {"bleu": 40.0}}, age=100)
    run(tmp_path / "new", {"metric": "loss", "loss": 1.0}, age=10)
    run(tmp_path / "none", None, age=50)
    found = find_bundle(tmp_path)
    assert found.path == tmp_path / "new" / "bundle"
    assert "newest of 3" in found.reason


def test_a_folder_of_several_projects_is_no_model(tmp_path: Path):
    """Their models may have other languages."""
    for name in ("first", "second"):
        run(tmp_path / name / "run", {"metric": "loss", "loss": 1.0})
        (tmp_path / name / "dragoman.toml").touch()
    message = r"has 2 models of several projects; name one: .*first/run, .*second/run$"
    with pytest.raises(BundleError, match=message):
        find_bundle(tmp_path)
    assert find_bundle(tmp_path / "first").path == tmp_path / "first" / "run" / "bundle"


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"best": 3}', '{"best": {"metric": "bleu", "scores": null}}'])
def test_a_damaged_record_is_no_obstacle(tmp_path: Path, damage: str):
    run(tmp_path / "only")
    (tmp_path / "only" / "run.json").write_text(damage, encoding="utf-8")
    run(tmp_path / "other", None, age=10)
    assert find_bundle(tmp_path).path == tmp_path / "only" / "bundle"


def test_what_is_missing_is_said_with_the_next_step(tmp_path: Path):
    (tmp_path / "other").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "dragoman.toml").write_text("", encoding="utf-8")
    run(tmp_path / "begun" / "run", trained=False)
    for name, expected in {
        "nowhere": "does not exist; check its spelling",
        "prject": f"does not exist; did you mean {re.escape(str(tmp_path / 'project'))}\\?",
        "ohter": f"does not exist; did you mean {re.escape(str(tmp_path / 'other'))}\\?",
        "other": "has no model: name a bundle, .*; dragoman train and dragoman import write a bundle$",
        "project": "is not trained yet; run dragoman train",
        "begun": "has no checkpoint yet; continue it with dragoman train .*--resume",
        "begun/run": "has no checkpoint yet; continue it with dragoman train .*--resume",
    }.items():
        with pytest.raises(BundleError, match=expected):
            find_bundle(tmp_path / name)
    with pytest.raises(BundleError, match=r"projct does not exist; did you mean .*project"):
        find_run(tmp_path / "projct")


def checkpoint(run: Path) -> Path:
    folder = bundle(run / "checkpoints" / "step_10")
    (folder / "state.json").write_text("{}", encoding="utf-8")
    return folder


def test_a_run_that_was_trained_further_gets_a_note(tmp_path: Path):
    """The bundle is written at the end of training, and stays while the run is extended."""
    project = tmp_path / "project"
    run(project / "run")
    (project / "dragoman.toml").touch()
    card = model_card(load_config("luong2015-desk"), {"updates": 1400})
    (project / "run" / "bundle" / "card.md").write_text(card, encoding="utf-8")
    told: list[str] = []
    for update, is_later in ((1400, False), (20, False), (1862, True)):
        folder = project / "run" / "checkpoints" / f"step_{update}"
        folder.mkdir(parents=True)
        (folder / "state.json").touch()
        for path in (project, project / "run"):
            note = find_bundle(path).note
            assert note == is_later * (
                "the bundle is of update 1,400, but the run was trained further, to update 1,862; its bundle is "
                "written at the end of training: wait for it, or continue it with "
                f"dragoman train {project} --resume"
            )
    parse_systems([str(project)], tell=told.append)
    assert any(line.startswith("note    the bundle is of update 1,400") for line in told)


@pytest.mark.parametrize(
    "card", [None, "", "| Updates | |\n", "| Updates | , |\n", f"| Updates | {'1' * 5000} |\n", "\ufffd"]
)
def test_a_card_without_the_number_of_updates_is_no_obstacle(tmp_path: Path, card: str | None):
    checkpoint(run(tmp_path / "run"))
    if card is not None:
        (tmp_path / "run" / "bundle" / "card.md").write_text(card, encoding="utf-8")
    assert find_bundle(tmp_path).note == ""


def test_a_checkpoint_is_no_model_and_its_run_is_named(tmp_path: Path):
    done, begun = run(tmp_path / "done"), run(tmp_path / "begun", trained=False)
    for path, expected in {
        checkpoint(done): rf"is a checkpoint; name its run: {done}$",
        done / "checkpoints": rf"is a folder of checkpoints; name its run: {done}$",
        checkpoint(begun): rf"is a checkpoint; name its run: {begun}$",
        checkpoint(tmp_path / "alone"): "is a checkpoint without its run; name the run",
    }.items():
        for open_ in (find_bundle, find_run, Bundle.open, bundle_of):
            if (open_, path.name) != (Bundle.open, "checkpoints"):
                with pytest.raises(DragomanError, match=expected):
                    Bundle.open(bundle_of(path) or path) if open_ is bundle_of else open_(path)
