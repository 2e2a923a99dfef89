"""Virtual environments of a new user: base, serve and train."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
EXTRAS = {"base": "", "serve": "[serve]", "train": "[train]"}


@dataclass(frozen=True)
class Environment:
    """A Python with Dragoman; `seconds`, `packages` and `size` (bytes) are those of its installation, if it is new."""

    name: str
    python: str
    seconds: float | None = None
    packages: int | None = None
    size: int | None = None

    @property
    def command(self) -> list[str]:
        """The command ``dragoman`` of the environment."""
        script = Path(self.python).with_name("dragoman")
        return [str(script)] if self.seconds is not None else [self.python, "-m", "dragoman"]


def current() -> dict[str, Environment]:
    """This environment under all three names."""
    return {name: Environment(name, sys.executable) for name in EXTRAS}


def fresh(folder: Path) -> dict[str, Environment]:
    """Install all three; torch comes first, with the pinned version, so that no other build replaces it."""
    return {name: _install(name, folder / name) for name in EXTRAS}


def _install(name: str, folder: Path) -> Environment:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if name == "train":
        torch = next(line for line in CONSTRAINTS.read_text("utf-8").splitlines() if line.startswith("torch=="))
        subprocess.run([*pip, torch], check=True)
    subprocess.run([*pip, "--constraint", str(CONSTRAINTS), f"{ROOT}{EXTRAS[name]}"], check=True)
    seconds = time.perf_counter() - began
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    )
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return Environment(name, python, seconds, len(listed.stdout.splitlines()), size)
