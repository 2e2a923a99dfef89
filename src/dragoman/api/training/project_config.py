"""Load the configuration of a project, and return the folder to which its relative paths refer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.config import Config, load_config
from dragoman.errors import ConfigError

__all__ = ["open_project"]

_FILE = "dragoman.toml"


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
    return load_config(path, overrides), path.parent if folder is None else Path(folder)
