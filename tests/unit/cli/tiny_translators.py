"""Tiny bundles that were never trained, made once a session, and commands typed about them."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner, Result

from dragoman.cli.main import app
from testkit.random_bundle import random_bundle

_FOLDER = tempfile.TemporaryDirectory(prefix="dragoman-bundles-")

QUICK = ("--engine", "torch", "--threads", "1", "--max-length", "6")
QUICK_TO_START = ("--threads", "1", "--max-length", "6")
"""For processes: where CTranslate2 is installed they need not wait for torch."""


@functools.cache
def tiny_bundle(preset: str = "vaswani2017-desk", seed: int = 1) -> Path:
    """A bundle; do not write into it."""
    return random_bundle(Path(_FOLDER.name) / f"{preset}-{seed}", preset, seed=seed).folder


@functools.cache
def english_german() -> Path:
    """A bundle that states its languages; do not write into it."""
    return random_bundle(Path(_FOLDER.name) / "en-de", languages=("en", "de")).folder


def typed(*arguments: str | Path, stdin: bytes | str = b"") -> Result:
    """The command, run in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def command(*arguments: str | Path) -> list[str]:
    """The command, for a process of its own."""
    return [sys.executable, "-m", "dragoman", *map(str, arguments)]


def ran(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The command, run in a process of its own."""
    return subprocess.run(command(*arguments), input=stdin, capture_output=True, check=False)
