"""``dragoman export`` as a person types it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragoman.cli.main import app
from tests.unit.engines.tiny_transformers import tiny_transformer

pytest.importorskip("ctranslate2")


def run(*arguments: str):
    return CliRunner().invoke(app, ["export", *arguments])


def test_it_says_where_and_how_large(tmp_path: Path):
    bundle = str(tiny_transformer(tmp_path / "b").folder)
    shown = run(bundle, "--to", "ctranslate2")
    assert shown.exit_code == 0
    assert "model.bin" in shown.stdout
    assert f"export made in {tmp_path / 'b.exports' / 'ctranslate2-float32'} (there was none)" in shown.stdout
    again = json.loads(run(bundle, "--to", "ctranslate2", "--json").stdout)
    assert (again["kind"], again["precision"], again["is_new"]) == ("ctranslate2", "float32", False)
    assert again["bytes"] == sum(again["files"].values())
    other = json.loads(
        run(bundle, "--to", "ctranslate2", "--precision", "int8", "--output", str(tmp_path / "o"), "--json").stdout
    )
    assert other["folder"] == str(tmp_path / "o")


def test_a_mistake_is_one_line(tmp_path: Path):
    wrong = run(str(tmp_path), "--to", "tflite")
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)
    assert run(str(tmp_path), "--to", "ctranslate2").exit_code == 1
