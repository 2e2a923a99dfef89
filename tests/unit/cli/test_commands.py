"""The commands as a person types them: what they print, where, and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragoman import __version__
from dragoman.cli.console import EXIT_CODES
from dragoman.cli.main import app
from dragoman.config import Config, load_config, preset_names
from dragoman.environment import install_command
from dragoman.errors import MissingExtraError


@pytest.fixture
def run():
    def type_in(*arguments: str):
        return CliRunner().invoke(app, arguments)

    return type_in


def test_the_version(run):
    assert run("--version").stdout == f"dragoman {__version__}\n"


def test_help_names_every_command(run):
    shown = run("--help").stdout
    assert all(command in shown for command in ("config", "train", "doctor"))


def test_show_prints_a_configuration_that_loads_again(run, tmp_path: Path):
    result = run("config", "show", "luong2015-desk", "--set", "model.dropout=0.4")
    path = tmp_path / "again.toml"
    path.write_text(result.stdout, encoding="utf-8")
    assert load_config(path) == load_config("luong2015-desk", ["model.dropout=0.4"])
    as_json = json.loads(run("config", "show", "luong2015-desk", "--json").stdout)
    assert Config.model_validate(as_json) == load_config("luong2015-desk")


def test_a_folder_stands_for_its_configuration(run, tmp_path: Path):
    command = ("config", "show")
    project = tmp_path / "fr-en"
    project.mkdir()
    (project / "dragoman.toml").write_text('extends = "luong2015-desk"\n', encoding="utf-8")
    expected = run(*command, str(project / "dragoman.toml"), "--json")
    assert expected.exit_code == 0
    assert run(*command, str(project), "--json").stdout == expected.stdout
    (project / "dragoman.toml").unlink()
    assert "dragoman.toml" in run(*command, str(project)).stderr


def test_the_schema_is_json(run):
    assert json.loads(run("config", "schema").stdout)["additionalProperties"] is False


def test_presets_are_listed_with_a_line_each(run):
    lines = run("config", "presets").stdout.splitlines()
    assert [line.split()[0] for line in lines] == preset_names()
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)
    assert list(json.loads(run("config", "presets", "--json").stdout)) == preset_names()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["luong2015-dsk"], "did you mean luong2015-desk?"),
        (["no-such-file.toml"], "there is no such file"),
        (["luong2015-desk", "--set", "model.encoder.cel=lstm"], "did you mean cell?"),
        (["luong2015-desk", "--set", "nonsense"], "section.setting=value"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_exit_code_2(run, arguments, says):
    result = run("config", "show", *arguments)
    assert result.exit_code == 2
    assert 2 in EXIT_CODES
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_several_mistakes_are_named_together(run):
    result = run("config", "show", "luong2015-desk", "--set", "model.dropout=2", "--set", "training.optimizer=adan")
    assert result.stderr.count("error: ") == 2
    assert "did you mean adam?" in result.stderr


def test_a_missing_package_is_said_with_its_mend(run, monkeypatch: pytest.MonkeyPatch):
    def nothing_there(module: str, extra: str, what: str) -> None:
        raise MissingExtraError(f"{what} needs the package {module}; {install_command(extra)}")

    monkeypatch.setattr("dragoman.environment.require", nothing_there)
    result = run("check", "pairs-30k")
    assert result.exit_code == 3
    assert install_command("train") in result.stderr


def test_the_doctor_says_what_is_there(run):
    shown = run("doctor").stdout
    assert "torch" in shown
    assert "base install: complete" in shown
    report = json.loads(run("doctor", "--json").stdout)
    assert report["dragoman"] == __version__
    assert {"base", "train"} <= set(report["packages"])


def test_the_doctor_says_how_to_mend_what_is_missing(run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.environment.package_version", lambda name: None if name == "matplotlib" else "9999")
    shown = run("doctor").stdout
    assert "train: missing or too old: matplotlib" in shown
    assert f"install: {install_command('train', upgrade=True)}" in shown
