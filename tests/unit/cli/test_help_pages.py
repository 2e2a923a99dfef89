"""Help pages and the errors of the parser, as a user sees them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragoman.cli.main import COMMANDS, app, load_command
from tests.unit.cli.tiny_translators import typed

GROUPS = ("config", "models")
SUBCOMMANDS = [[group, name] for group in GROUPS for name in load_command(group).commands]
PAGES = [[], *([name] for name in COMMANDS), *SUBCOMMANDS]
IMPORTED = """
import sys, io, contextlib
from dragoman.cli.main import app
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    app({arguments!r})
print(*sys.modules)
"""
SETTINGS = {
    "align",
    "backtranslate",
    "calibrate",
    "compare",
    "distill",
    "evaluate",
    "inspect",
    "score",
    "serve",
    "translate",
}
"""Commands with options derived from pydantic settings."""


def page(*arguments: str, width: int = 80) -> str:
    return CliRunner().invoke(app, [*arguments, "-h"], env={"COLUMNS": str(width)}).stdout


@pytest.mark.parametrize("arguments", PAGES, ids=" ".join)
@pytest.mark.parametrize("width", [80, 60])
def test_pages_are_wrapped_to_the_terminal(arguments: list[str], width: int):
    shown = page(*arguments, width=width)
    assert all(len(line) <= width for line in shown.splitlines())
    assert all(line == line.rstrip() for line in shown.splitlines())
    for clutter in ("<bool>", "{", "[dim]", "╭", "│", "\\["):
        assert clutter not in shown


@pytest.mark.parametrize("arguments", PAGES, ids=" ".join)
def test_h_is_help(arguments: list[str]):
    assert page(*arguments) == CliRunner().invoke(app, [*arguments, "--help"], env={"COLUMNS": "80"}).stdout
    assert "-h, --help" in page(*arguments)


def test_a_page_has_usage_arguments_options_and_panels():
    shown = page("translate")
    assert shown.startswith("Usage: ")
    order = ["translate [OPTIONS] [MODEL] [INPUT]", "Arguments:", "Options:", "-o, --output FILE", "Lines:", "Search:"]
    places = [shown.index(part) for part in order]
    assert places == sorted(places)
    assert "Beam size; 1 is greedy search. [default: 5]" in " ".join(shown.split())


def test_without_arguments_a_group_prints_its_page():
    for group in ([], ["config"]):
        result = CliRunner().invoke(app, group, env={"COLUMNS": "80"})
        assert (result.exit_code, result.stdout) == (0, page(*group))


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)], ids=" ".join)
def test_help_imports_no_rich_and_pydantic_only_for_settings(arguments: list[str]):
    code = IMPORTED.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded.isdisjoint({"rich", "markdown_it", "torch", "numpy", "fastapi", "polars"})
    assert arguments[0] in SETTINGS or "pydantic" not in loaded


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "translate m --bem 3",
            "--bem is no option of dragoman translate; did you mean --beam?",
        ),
        ("trian", "trian is no command of dragoman; did you mean train?"),
        ("config shw", "shw is no command of dragoman config; did you mean show?"),
        ("translate m --beam x", "--beam must be a whole number, got 'x'; see dragoman translate --help"),
        ("average r --last=0", "--last must be a whole number of at least 1, got 0; see dragoman average --help"),
        ("translate m --beam", "Option '--beam' requires an argument; see dragoman translate --help"),
        ("translate m --json=1", "Option '--json' does not take a value; see dragoman translate --help"),
        ("evaluate m --test a", "Option '--test' requires 2 arguments; see dragoman evaluate --help"),
        ("average run", "Missing option '--output' / '-o'; see dragoman average --help"),
        ("score", "Missing argument 'MODEL'; see dragoman score --help"),
        ("score a b c d", "Got unexpected extra argument(s) (d); see dragoman score --help"),
        ("translate m --tm x.tmx", "--tm is no option of dragoman translate; see dragoman translate --help"),
        ("--verison", "--verison is no option of dragoman; did you mean --version?"),
    ],
)
def test_a_wrong_command_line_is_one_line_with_a_fix(arguments: str, message: str):
    result = typed(*arguments.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {message}")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (["translate", "nowhere", "--json"], "BundleError", 1),
        (["config", "show", "luong2051", "--json"], "ConfigError", 2),
        (["doctor", "--json", "--no-such"], "UsageError", 2),
        (["train", "nowhere.toml", "--json"], "ConfigError", 2),
    ],
)
def test_with_json_an_error_is_one_json_object(arguments: list[str], kind: str, code: int):
    result = typed(*arguments)
    error = json.loads(result.stderr)["error"]
    assert (error["kind"], error["exit_code"], result.exit_code) == (kind, code, code)
    assert re.search(" must be | is no | does not exist", error["message"])
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [("dragoman tran", "translate"), ("dragoman translate --eng", "--engine"), ("dragoman config sh", "show")],
)
def test_the_shell_completes_commands_and_options(line: str, expected: str):
    variables = {"_DRAGOMAN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    code = "from dragoman.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | variables, capture_output=True, text=True, check=True
    )
    assert expected in done.stdout.split()


def test_completion_can_be_installed():
    assert "--install-completion" in page()


def test_the_doctor_lists_no_development_packages():
    shown = typed("doctor").stdout
    assert "pytest" not in shown
    assert "dev" not in json.loads(typed("doctor", "--json").stdout)["packages"]


def test_every_command_has_one_way_to_ask_for_help():
    for name in COMMANDS:
        command = load_command(name)
        for each in getattr(command, "commands", {name: command}).values():
            assert set(each.context_settings["help_option_names"]) == {"-h", "--help"}


def test_a_relative_path_is_shown_as_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert "error: no/such does not exist" in typed("translate", "no/such").stderr
