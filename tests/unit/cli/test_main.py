"""The root command: lazy imports and help."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragoman.cli.main import COMMANDS, app, load_command

HEAVY = {"torch", "numpy", "sacrebleu", "fastapi", "polars", "ctranslate2", "onnxruntime", "sentencepiece", "uvicorn"}
MODULES = "import sys, {}; print(*{{name.partition('.')[0] for name in sys.modules}})"
RUN = """
import sys
from dragoman.cli.main import app
try:
    app([{}])
except SystemExit:
    pass
print(*{{name.partition('.')[0] for name in sys.modules}}, file=sys.stderr)
"""
END_IN_IMPORT = """
import signal
from dragoman.cli import main
main.load_command = lambda name: signal.raise_signal(signal.SIGTERM)
main.main()
"""


@pytest.mark.parametrize("arguments", ["'--help'", *(f"'{name}', '--help'" for name in COMMANDS)])
def test_help_imports_no_large_package(arguments: str):
    done = subprocess.run([sys.executable, "-c", RUN.format(arguments)], capture_output=True, text=True, check=True)
    assert "Usage" in done.stdout
    assert HEAVY.isdisjoint(done.stderr.split())


def test_settings_of_the_search_import_no_numpy():
    code = MODULES.format("dragoman.config.search")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (HEAVY | {"typer", "rich"}).isdisjoint(done.stdout.split())


def test_root_help_imports_no_command():
    done = subprocess.run(
        [sys.executable, "-c", RUN.format("'--help'").replace(".partition('.')[0]", "")],
        capture_output=True,
        text=True,
        check=True,
    )
    found = done.stderr.split()
    assert not [name for name in found if name.startswith("dragoman.cli.commands") or name == "importlib.metadata"]


@pytest.mark.parametrize(
    ("name", "code", "shown"),
    [("serve", 0, ""), ("prepare", 75, "terminated; run the same command to continue\n")],
)
def test_sigterm_during_the_import_of_a_command(name: str, code: int, shown: str):
    done = subprocess.run([sys.executable, "-c", END_IN_IMPORT, name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, shown)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_is_the_first_line_of_the_help(name: str):
    assert load_command(name).help.split("\n\n")[0] == COMMANDS[name]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_is_complete_at_80_columns(name: str):
    shown = CliRunner().invoke(app, [*([name] if name else []), "--help"], env={"COLUMNS": "80"}).stdout
    assert all(len(line) <= 80 for line in shown.splitlines())
    cut = [line for line in shown.splitlines() if line.startswith("│ --") and "…" in line.split("  ")[0]]
    assert cut == [], "names of options are not cut"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name: str):
    command = load_command(name)
    commands = getattr(command, "commands", {name: command}).values()
    assert all(option.help for each in commands for option in each.params if not getattr(option, "hidden", False))


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str):
    command = f"{sys.executable} -m dragoman config presets {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (">&-" in closed.replace("2>&-", "")) == (not done.stdout)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_of_stdout_is_one_line():
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "dragoman", "config", "presets"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: No space left on device; check the disk, the folder and its permissions"
    ]
