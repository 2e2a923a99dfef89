"""A key that may reload, made as an operator makes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.serving.process import ROOT

__all__ = ["admin"]


def admin(folder: Path) -> tuple[Path, dict[str, str]]:
    """A file of keys with one of an administrator, and the header that shows it."""
    path = folder / "keys.txt"
    command = [sys.executable, "-m", "dragoman", "serve", "--keys", str(path), "--new-key", "boss", "--rights", "admin"]
    secret = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    return path, {"Authorization": f"Bearer {secret}"}
