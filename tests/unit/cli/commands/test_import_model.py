"""``dragoman import`` as a person types it: import, translate, and mistakes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragoman.cli.main import app
from testkit.random_models.random_marian import SHAPES, write_folder
from testkit.tiny_project import tiny_training, train_tiny


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


def test_a_bundle_needs_no_import(tmp_path: Path):
    folder = train_tiny(tiny_training("vaswani2017-desk", "training.max_updates=1"), tmp_path / "run").run
    for source, bundle in (
        (folder / "bundle", folder / "bundle"),
        (folder, folder),
    ):
        shown = run("import", source, "-o", tmp_path / "b")
        assert (shown.exit_code, shown.stderr.count("\n")) == (1, 1)
        assert (
            f"{bundle} is a model of Dragoman already, and need not be imported; use it: dragoman translate {source}\n"
            in shown.stderr
        )
    checkpoint = folder / "checkpoints" / "step_1"
    assert f"is a checkpoint; name its run: {folder}\n" in run("import", checkpoint, "-o", tmp_path / "b").stderr


def test_mistakes_are_one_line(folder: Path, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    nothing = run("import", tmp_path / "empty", "-o", tmp_path / "b")
    assert (nothing.exit_code, nothing.stderr.count("\n")) == (1, 1)
    assert "must hold a model of a known format" in nothing.stderr
    assert "got no files" in nothing.stderr
    assert len(nothing.stderr) - len(str(tmp_path)) < 200
    other = run("import", folder, "-o", tmp_path / "b", "--from", "fairseq")
    assert (other.exit_code, other.stderr.count("\n")) == (2, 1)
    legal = "hugging-face, m2m100, argos, ctranslate2, firefox, marian"
    assert f"--from must be one of {legal}, got 'fairseq'" in other.stderr
    wrong = run("import", folder, "-o", tmp_path / "b", "--source-language", "xx")
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)
    taken = run("import", folder, "-o", folder)
    assert (taken.exit_code, taken.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("Helsinki-NLP/opus-mt-en-de", "dragoman get en-de --kind opus-mt"),
        ("Helsinki-NLP/opus-mt-tc-big-en-pt", "dragoman get en-pt --kind Helsinki-NLP/opus-mt-tc-big-en-pt"),
        ("HPLT/translate-sq-en-v1.0-hplt", "dragoman get sq-en --kind HPLT/translate-sq-en-v1.0-hplt"),
        ("facebook/m2m100_418M", "dragoman get SOURCE-TARGET --kind facebook/m2m100_418M"),
        ("en-pt", "dragoman get en-pt"),
        ("zh_hant-en", "dragoman get zh-Hant-en"),
        ("zh-Hant-en", "dragoman get zh-Hant-en"),
    ],
)
@pytest.mark.parametrize("output", [(), ("-o", "b")])
def test_the_name_of_a_model_proposes_get(
    name: str, command: str, output: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    shown = run("import", name, *output)
    assert shown.exit_code == 1
    assert shown.stderr == f"error: {name} does not exist here; get it with: {command}\n"


def test_a_missing_folder_and_a_missing_output_are_one_line(folder: Path, tmp_path: Path):
    shown = run("import", tmp_path / "models" / "mine")
    assert shown.stderr == f"error: {tmp_path / 'models' / 'mine'} does not exist; name the folder of the model\n"
    shown = run("import", folder)
    assert (shown.exit_code, shown.stderr.count("\n")) == (2, 1)
    assert "--output is missing; name the folder of the new bundle: dragoman import " in shown.stderr
