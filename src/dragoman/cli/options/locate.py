"""Find bundles and runs in the folders that users name, and print which were chosen."""

from __future__ import annotations

from pathlib import Path

from dragoman.cli.console import echo

__all__ = ["locate_bundle", "locate_run"]


def locate_bundle(path: Path) -> Path:
    """Return the bundle of a run or a project folder; the choice is printed on stderr."""
    from dragoman.bundle.locate import find_bundle

    found = find_bundle(path)
    if found.reason:
        echo(f"bundle  {found.path}, {found.reason}", err=True)
    if found.note:
        echo(f"note    {found.note}", err=True)
    return found.path


def locate_run(path: Path) -> Path:
    """Return the run of a project folder; the choice is printed on stderr."""
    from dragoman.bundle.locate import find_run

    run = find_run(path)
    if run != path:
        echo(f"run     {run}, of {path}", err=True)
    return run
