"""Commands that take a model accept a bundle, a run or a project folder, and print which bundle they use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.unit.cli.tiny_translators import QUICK, tiny_bundle, typed


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two runs, the second of which is better."""
    folder = tmp_path_factory.mktemp("locate") / "project"
    for name, loss in (("first", 2.0), ("second", 1.0)):
        shutil.copytree(tiny_bundle(), folder / "runs" / name / "bundle")
        record = {"best": {"metric": "loss", "loss": loss}}
        (folder / "runs" / name / "run.json").write_text(json.dumps(record), encoding="utf-8")
    (folder / "dragoman.toml").write_text('extends = "vaswani2017-desk"', encoding="utf-8")
    (folder / "pairs.tsv").write_text("a b\tc d\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("inside", ["", "runs/second", "runs/second/bundle"])
def test_translate_accepts_a_project_a_run_and_a_bundle(project: Path, inside: str):
    result = typed("translate", project / inside, *QUICK, stdin=b"a b\n")
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == 1
    assert ("bundle  " in result.stderr) == (not inside.endswith("bundle"))
    assert str(project / "runs" / "second" / "bundle") in result.stderr or inside.endswith("bundle")


def test_a_run_that_was_trained_further_is_noted(project: Path, tmp_path: Path):
    shutil.copytree(project, tmp_path / "project")
    run = tmp_path / "project" / "runs" / "second"
    (run / "bundle" / "card.md").write_text("| Updates | 4 |\n", encoding="utf-8")
    (run / "checkpoints" / "step_9").mkdir(parents=True)
    (run / "checkpoints" / "step_9" / "state.json").touch()
    noted = typed("serve", tmp_path / "project", "--check").stderr.splitlines()[1]
    assert noted.startswith("note    the bundle is of update 4, but the run was trained further, to update 9; its")


def test_the_other_commands_accept_a_project(project: Path):
    pairs, quick = project / "pairs.tsv", ("--engine", "torch", "--threads", "1")
    for arguments in (
        ("score", project, pairs, *quick),
        ("align", project, pairs, *quick),
        ("inspect", project, "a", "b", "--max-length", "4", "--json"),
        ("compare", f"one={project}", f"two={project / 'runs' / 'first'}", "-o", project / "page.html"),
    ):
        result = typed(*arguments)
        assert result.exit_code == 0, (arguments, result.stderr, result.exception)


@pytest.mark.parametrize("name", ["", "mine="])
def test_evaluate_and_compare_print_the_bundle_of_a_project(project: Path, name: str):
    (project / "text").write_text("a b\n", encoding="utf-8")
    test, quick = ("--test", project / "text", project / "text"), ("--engine", "torch", "--threads", "1")
    evaluated = typed("evaluate", f"{name}{project}", *test, *quick, "--max-length", "4", "--json")
    compared = typed("compare", f"{name}{project}", project / "runs" / "first", "-o", project / f"{name}chosen.html")
    for result in (evaluated, compared):
        assert result.exit_code == 0, (result.stderr, result.exception)
        chosen = [line for line in result.stderr.splitlines() if line.startswith("bundle  ")]
        assert chosen == [
            f"bundle  {project / 'runs' / 'second' / 'bundle'}, best of 2 in {project}: loss 1 in validation"
        ]


@pytest.mark.parametrize("name", ["", "mine="])
def test_serve_accepts_a_project(project: Path, name: str):
    result = typed("serve", f"{name}{project}", "--check")
    assert f"bundle  {project / 'runs' / 'second' / 'bundle'}, best of 2" in result.stderr
    assert "second/bundle does not state its source and target language" in result.stderr  # as bundles of files have


def test_no_bundle_is_one_line_with_the_next_step(tmp_path: Path):
    (tmp_path / "dragoman.toml").write_text('extends = "vaswani2017-desk"', encoding="utf-8")
    for arguments in (("translate", tmp_path), ("serve", tmp_path), ("evaluate", tmp_path, "--test", "a", "b")):
        result = typed(*arguments)
        assert result.exit_code == 1
        assert f"run dragoman train {tmp_path}" in result.stderr or "a does not exist" in result.stderr
        assert len(result.stderr.splitlines()) == 1
