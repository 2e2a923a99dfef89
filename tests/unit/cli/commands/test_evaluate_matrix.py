"""`dragoman evaluate` and other commands with a model of several directions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.cli.main import app
from dragoman.config import load_config
from testkit.three_languages import make_three_languages

SIX = {"en:de", "en:fr", "de:en", "de:fr", "fr:en", "fr:de"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and its test files."""
    config = make_three_languages(tmp_path_factory.mktemp("three"))
    train_model(check_training(load_config(config), config.parent, config.parent / "run"))
    return config.parent


def run(*arguments: str | Path, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def test_a_matrix_of_all_directions(project: Path, tmp_path: Path):
    out, _ = run("evaluate", project / "run", "--matrix", project / "test", "-o", tmp_path / "found.json")
    assert "from / to" in out
    found = json.loads((tmp_path / "found.json").read_text())
    assert {f"{each['source']}:{each['target']}" for each in found} == SIX
    assert all(each["trained"] for each in found)
    run("evaluate", project / "run", "--matrix", project / "test", "-o", tmp_path / "found.md")
    table = (tmp_path / "found.md").read_text()
    assert table.count("| en | de | fr |") == 3  # BLEU, chrF++, TER


def test_the_test_set_of_a_run_has_its_languages(project: Path):
    out, _ = run("evaluate", project / "run")
    assert "de → fr" in out


def test_a_direction_must_be_named(project: Path):
    test = ["--test", str(project / "test.en"), str(project / "test.de")]
    _, err = run("evaluate", project / "run", *test, code=2)
    assert "is no direction of" in err
    out, _ = run("evaluate", project / "run", *test, "--languages", "en-de")
    assert "en → de" in out
    _, err = run("translate", project / "run", project / "test.en", code=2)
    assert "must be one direction of the model" in err


def test_translate_and_align_in_a_direction(project: Path, tmp_path: Path):
    languages = ["--source-language", "fr", "--target-language", "de"]
    run("translate", project / "run", project / "test.fr", "-o", tmp_path / "out.de", *languages)
    assert len((tmp_path / "out.de").read_text().splitlines()) == 12
    out, _ = run("align", project / "run", project / "test.fr", project / "test.de", *languages)
    assert len(out.splitlines()) == 12


def test_what_a_matrix_needs(project: Path, tmp_path: Path):
    _, err = run("evaluate", project / "run", "--matrix", tmp_path / "none", code=1)
    assert "must be the beginning of the names of at least two files" in err
