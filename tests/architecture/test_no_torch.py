"""Help texts and configuration errors do not import torch."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import dragoman

SOURCE = Path(dragoman.__file__).parents[1]
REPORT = "import sys; print('torch' in sys.modules)"

LIGHT = [
    "dragoman",
    "dragoman.errors",
    "dragoman.config",
    "dragoman.text",
    "dragoman.bundle",
    "dragoman.cli.main",
    "dragoman.server.run",
]
CONFIG_ERROR = """
from dragoman.config import load_config
from dragoman.errors import ConfigError
try:
    load_config("luong2051")
except ConfigError as error:
    print(error)
"""
COMMAND_LINE = """
import sys
sys.argv = ["dragoman", *{arguments!r}]
from dragoman.cli.main import main
try:
    code = main()
except SystemExit as stop:
    code = stop.code
print("exit", code or 0, file=sys.stderr)
"""


def is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the code in a fresh interpreter; the last line of its stdout tells whether torch was loaded."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{code}\n{REPORT}"],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def loaded_torch(done: subprocess.CompletedProcess[str]) -> bool:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1] == "True"


@pytest.mark.parametrize("module", LIGHT)
def test_importing_it_does_not_load_torch(module: str, tmp_path: Path):
    if not is_there(module):
        pytest.skip(f"{module} is not written yet")
    assert not loaded_torch(run(f"import {module}", tmp_path))


def test_help_does_not_load_torch(tmp_path: Path):
    if not is_there("dragoman.cli.main"):
        pytest.skip("dragoman.cli.main is not written yet")
    done = run(COMMAND_LINE.format(arguments=["--help"]), tmp_path)
    assert not loaded_torch(done)
    assert "exit 0" in done.stderr
    assert "Usage" in done.stdout


def test_a_wrong_option_does_not_load_torch(tmp_path: Path):
    if not is_there("dragoman.cli.main"):
        pytest.skip("dragoman.cli.main is not written yet")
    done = run(COMMAND_LINE.format(arguments=["--no-such-option"]), tmp_path)
    assert not loaded_torch(done)
    assert "exit 2" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_config_error_does_not_load_torch(tmp_path: Path):
    if not is_there("dragoman.config.config_file"):
        pytest.skip("dragoman.config.config_file is not written yet")
    done = run(CONFIG_ERROR, tmp_path)
    assert not loaded_torch(done)
    assert "luong2051" in done.stdout


def test_the_probe_sees_torch_when_it_is_loaded(tmp_path: Path):
    pytest.importorskip("torch")
    assert loaded_torch(run("import torch", tmp_path))
