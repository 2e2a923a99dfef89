"""The repository as data: its files, its Python sources and their syntax trees."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

NEVER_LOOKED_INTO = {".git", ".venv", "node_modules", "dist", "build", "__pycache__"}


def _listed_by_git(root: Path) -> list[Path] | None:
    """Every file that is tracked, or new and not ignored; None outside a git clone."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [root / name for name in listing.decode().split("\0") if name]


def _walked(root: Path) -> Iterator[Path]:
    for path in root.rglob("*"):
        if not NEVER_LOOKED_INTO.intersection(path.relative_to(root).parts):
            yield path


@dataclass(frozen=True)
class Repository:
    root: Path
    files: tuple[Path, ...]

    def python(self, *folders: str) -> list[Path]:
        """Python files below these folders of the repository."""
        inside = [self.root / folder for folder in folders]
        return [f for f in self.files if f.suffix == ".py" and any(f.is_relative_to(folder) for folder in inside)]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Name and text of every file that is text."""
        for path in self.files:
            try:
                yield str(path.relative_to(self.root)), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue

    def name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


@pytest.fixture(scope="session")
def repository(root: Path) -> Repository:
    listed = _listed_by_git(root)
    found = _walked(root) if listed is None else listed
    return Repository(root, tuple(sorted(path for path in found if path.is_file())))
