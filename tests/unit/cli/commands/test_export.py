"""``dragoman export`` as a person types it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragoman.cli.main import app
from tests.unit.engines.tiny_transformers import tiny_transformer

pytest.importorskip("ctranslate2")


pytestmark = pytest.mark.usefixtures("own_cache")


def run(*arguments: str):
    return CliRunner().invoke(app, ["export", *arguments])


def test_it_says_where_and_how_large(tmp_path: Path):
    bundle = str(tiny_transformer(tmp_path / "b").folder)
    shown = run(bundle, "--to", "ctranslate2")
    assert shown.exit_code == 0
    assert "model.bin" in shown.stdout
    again = json.loads(run(bundle, "--to", "ctranslate2", "--json").stdout)
    assert f"export created in {again['folder']}" in shown.stdout
    assert (again["kind"], again["precision"], again["is_new"]) == ("ctranslate2", "float32", False)
    assert again["bytes"] == sum(again["files"].values())
    other = json.loads(
        run(bundle, "--to", "ctranslate2", "--precision", "int8", "--output", str(tmp_path / "o"), "--json").stdout
    )
    assert other["folder"] == str(tmp_path / "o")


def test_a_mistake_is_one_line(tmp_path: Path):
    wrong = run(str(tiny_transformer(tmp_path / "b").folder), "--to", "tflite")
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)
    assert run(str(tmp_path / "none"), "--to", "ctranslate2").exit_code == 1


def test_files_that_are_no_export_are_kept(tmp_path: Path):
    bundle = str(tiny_transformer(tmp_path / "b").folder)
    for folder in ("empty", "mine"):
        (tmp_path / folder).mkdir()
    (tmp_path / "mine" / "export.json").write_text("{}")
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    assert run(bundle, "--to", "ctranslate2", "--output", str(tmp_path / "empty")).exit_code == 0
    for force, code in ((), 2), (("--force",), 1):
        refused = run(bundle, "--to", "ctranslate2", "--output", str(tmp_path / "mine"), *force)
        assert (refused.exit_code, refused.stderr.count("\n")) == (code, 1)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_translating_says_what_it_exported_once(tmp_path: Path):
    bundle = tiny_transformer(tmp_path / "b").folder
    text = tmp_path / "text"
    text.write_text("s1 s2\n")
    arguments = ["translate", str(bundle), str(text), "--threads", "1"]
    first, second = (CliRunner().invoke(app, arguments) for _ in range(2))
    assert (first.exit_code, second.exit_code) == (0, 0)
    folder = json.loads(run(str(bundle), "--to", "ctranslate2", "--json").stdout)["folder"]
    said = f"export  ctranslate2 float32 export created in {folder}"
    assert said in first.stderr.splitlines()
    assert "export" not in second.stderr
    assert first.stdout == second.stdout
