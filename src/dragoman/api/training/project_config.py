"""Load the configuration of a project, and return the folder to which its relative paths refer."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from dragoman.config import Config, load_config
from dragoman.errors import ConfigError

__all__ = ["check_project", "open_project"]

_FILE = "dragoman.toml"
_OUTPUTS = {"run.json": "a run", "manifest.json": "a bundle"}
_MAX_PARENTS = 4  # of a run, in which its project is looked for: project/runs/first/bundle


def open_project(
    config: Config | Path | str, folder: Path | str | None = None, overrides: Sequence[str] = ()
) -> tuple[Config, Path]:
    """Return a configuration, and the folder that its relative paths start from.

    `config` may be a file, or a folder that has a ``dragoman.toml``.
    """
    if isinstance(config, Config):
        if overrides:
            raise ConfigError("overrides must come with a file, got a loaded configuration; pass them to load_config")
        return config, Path(folder or ".")
    path = Path(config)
    path = path / _FILE if path.is_dir() else path
    check_project(path)
    return load_config(path, overrides), path.parent if folder is None else Path(folder)


def check_project(config: Path) -> None:
    """Reject the configuration in a run or a bundle: its paths and results belong to the folder of the project."""
    if config.name != _FILE or not (output := _output_kind(config.parent)):
        return
    above = config.absolute().parents[1 : 1 + _MAX_PARENTS]
    project = next((folder for folder in above if (folder / _FILE).is_file() and not _output_kind(folder)), None)
    fix = (
        f"its project is {shlex.quote(_short_path(project))}" if project else "name the project that it was trained in"
    )
    raise ConfigError(f"{config.parent} must be the folder of a project, got {output}; {fix}")


def _output_kind(folder: Path) -> str:
    return next((kind for name, kind in _OUTPUTS.items() if (folder / name).is_file()), "")


def _short_path(path: Path) -> str:
    """Return a path relative to the working directory, if it is in it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
