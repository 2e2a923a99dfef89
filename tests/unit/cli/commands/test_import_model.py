"""``dragoman import`` as a person types it: import, translate, and mistakes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragoman.cli.main import app
from dragoman.engines.export_signing import KEY_FILE
from tests.unit.importing.random_marian import SHAPES, write_folder


@pytest.fixture(autouse=True)
def _key_of_the_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "state" / "export-key"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "opus-mt-en-pt", SHAPES["shared, swish"])


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_an_imported_model_translates(folder: Path, tmp_path: Path):
    shown = run("import", folder, "-o", tmp_path / "b")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.startswith(f"bundle  {tmp_path / 'b'}\n")
    assert "note: the files state no licence; --licence records it in the model card\n" in shown.stderr
    assert f"dragoman translate {tmp_path / 'b'}" in shown.stderr + shown.stdout
    (tmp_path / "in.txt").write_text("The cat sat on the mat.\nWhere is the old town?\n")
    translated = run("translate", tmp_path / "b", tmp_path / "in.txt", "--beam", "2")
    assert translated.exit_code == 0, translated.stderr
    assert len(translated.stdout.splitlines()) == 2
    scored = run("align", tmp_path / "b", tmp_path / "in.txt", tmp_path / "in.txt")
    assert scored.exit_code == 0, scored.stderr


def test_json(folder: Path, tmp_path: Path):
    shown = run("import", folder, "-o", tmp_path / "b", "--licence", "CC-BY 4.0", "--json")
    facts = json.loads(shown.stdout)
    assert facts["format"] == "hugging-face"
    assert facts["notes"] == []
    assert facts["folder"] == str(tmp_path / "b")


def test_mistakes_are_one_line(folder: Path, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    nothing = run("import", tmp_path / "empty", "-o", tmp_path / "b")
    assert (nothing.exit_code, nothing.stderr.count("\n")) == (1, 1)
    assert "must hold a model of a known format" in nothing.stderr
    assert "got no files" in nothing.stderr
    other = run("import", folder, "-o", tmp_path / "b", "--from", "fairseq")
    assert (other.exit_code, other.stderr.count("\n")) == (2, 1)
    assert "--from must be one of hugging-face, argos, ctranslate2, firefox, marian, got 'fairseq'" in other.stderr
    wrong = run("import", folder, "-o", tmp_path / "b", "--source-language", "xx")
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)
    taken = run("import", folder, "-o", folder)
    assert (taken.exit_code, taken.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "b").exists()
