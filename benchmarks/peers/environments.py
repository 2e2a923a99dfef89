"""One virtual environment a toolkit, made once and kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Environment:
    """Packages to install with pip: torch first, so that all have the same version; `alone` without dependencies."""

    name: str
    package: str
    """The distribution whose version stands for the toolkit's."""
    alone: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    torch: bool = True


ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment("huggingface", "transformers", packages=("transformers>=5",)),
        # It requires torch < 2.3, but runs with later versions.
        Environment(
            "opennmt",
            "OpenNMT-py",
            alone=("OpenNMT-py==3.5.1",),
            packages=(
                "configargparse",
                "ctranslate2",
                "fasttext-wheel",
                "flask",
                "pyahocorasick",
                "pyonmttok",
                "pyyaml",
                "rapidfuzz",
                "sacrebleu",
                "six",
                "spacy",
                "tensorboard",
                "waitress",
            ),
        ),
        # A later sentencepiece needs a later protobuf than its other packages bear; importlib_metadata it forgot.
        Environment("joey", "joeynmt", packages=("joeynmt==2.3.0", "sentencepiece==0.2.0", "importlib_metadata")),
        Environment("marian", "pymarian", packages=("pymarian==1.12.42",), torch=False),
    )
}


class InstallError(Exception):
    """An environment could not be created; the message is the last line of pip."""


def default_folder() -> Path:
    """Where environments are kept: in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dragoman-peers"


def last_line(text: str) -> str:
    """The last line with something on it."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no message")


def install(environment: Environment, folder: Path) -> Path:
    """Make the environment where it is not there yet; return its Python."""
    home = folder / environment.name
    python, mark = home / "bin" / "python", home / "installed.json"
    wanted = json.dumps(asdict(environment))
    if mark.is_file() and mark.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {environment.name} …", flush=True)
    _run([sys.executable, "-m", "venv", str(home)])
    constraint = home / "constraints.txt"
    constraint.write_text(f"{TORCH}\n", encoding="utf-8")
    if environment.torch:
        _run([str(python), "-m", "pip", "install", "--quiet", TORCH])
    if environment.alone:
        _run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", *environment.alone])
    _run([str(python), "-m", "pip", "install", "--quiet", "--constraint", str(constraint), *environment.packages])
    mark.write_text(wanted, encoding="utf-8")
    return python


def version(environment: Environment, folder: Path) -> str:
    """The version of its toolkit, and of torch where it has it."""
    names = [environment.package, *(["torch"] if environment.torch else [])]
    code = "import sys; from importlib.metadata import version; print(*(version(n) for n in sys.argv[1:]))"
    python = folder / environment.name / "bin" / "python"
    found = subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=True).stdout.split()
    return ", ".join(f"{name} {number}" for name, number in zip(names, found, strict=True))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InstallError(last_line(done.stderr))
