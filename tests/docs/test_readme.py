"""Every command, program and configuration in the README runs as it stands, in both languages."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.config import load_config

READMES = ["README.md", "README.zh.md"]


def blocks(root: Path, page: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", (root / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


def without_comments(block: str) -> list[str]:
    """The lines of a block without what follows a #, which may be in another language."""
    return [line.split("#", 1)[0].rstrip() for line in block.splitlines()]


def commands(root: Path) -> list[str]:
    found = [line for block in blocks(root, "README.md", "") for line in without_comments(block)]
    return [line for line in found if line.startswith("dragoman ")]


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("command", commands(ROOT))
def test_a_command_runs(command: str, tmp_path: Path):
    typed, _, into = command.partition(">")
    arguments = shlex.split(typed)[1:]
    run = subprocess.run([sys.executable, "-m", "dragoman", *arguments], cwd=tmp_path, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    assert run.stdout.strip()
    assert not into or into.strip().endswith(".json")


@pytest.mark.parametrize("page", READMES)
def test_a_program_runs(root: Path, page: str, tmp_path: Path):
    programs = blocks(root, page, "python")
    assert programs
    for program in programs:
        run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert re.fullmatch(r"loss \d+\.\d\d a piece\n", run.stdout)


@pytest.mark.parametrize("page", READMES)
def test_a_configuration_loads(root: Path, page: str, tmp_path: Path):
    for number, block in enumerate(blocks(root, page, "toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        assert load_config(path).model.family == "rnn"


def test_both_languages_show_the_same(root: Path):
    """Code and commands are the same to the letter, comments apart; so are the number of sections and of links."""
    shown = []
    for page in READMES:
        text = (root / page).read_text(encoding="utf-8")
        code = [
            without_comments(block) for language in ("", "toml", "python") for block in blocks(root, page, language)
        ]
        links = sorted(set(re.findall(r"\]\(([^)]+)\)", text)) - {"README.md", "README.zh.md"})
        shown.append((code, text.count("\n## "), links))
    assert shown[0] == shown[1]
