"""Find and load the configuration of a project, with the folder that its relative paths start from."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from dragoman.bundle.verified_folder import MANIFEST
from dragoman.config import Config, load_config
from dragoman.errors import ConfigError
from dragoman.files import as_path
from dragoman.run_files import PROJECT, RECORD

_OUTPUTS = {RECORD: "a run", MANIFEST: "a bundle"}
_MAX_PARENTS = 4  # of a run, in which its project is looked for: project/runs/first/bundle


def open_project(
    config: Config | Path | str, folder: Path | str | None = None, overrides: Sequence[str] = ()
) -> tuple[Config, Path]:
    """Return the configuration of a file, or of a folder of a project, and the folder of its relative paths."""
    if isinstance(config, Config):
        if overrides:
            raise ConfigError("overrides apply to a file, not to a loaded configuration; pass them to load_config")
        return config, Path() if folder is None else as_path(folder)
    path = project_file(config)
    return load_config(path, overrides), path.parent if folder is None else as_path(folder)


def project_file(config: Path | str) -> Path:
    """Return the configuration file of a project: the file itself, or that in a folder."""
    path = as_path(config)
    path = path / PROJECT if path.is_dir() else path
    check_project(path)
    return path


def check_project(config: Path) -> None:
    """Reject the configuration in a run or a bundle: its paths and results belong to the folder of the project."""
    if config.name != PROJECT or not (output := _output_kind(config.parent)):
        return
    above = config.absolute().parents[1 : 1 + _MAX_PARENTS]
    project = next((folder for folder in above if (folder / PROJECT).is_file() and not _output_kind(folder)), None)
    fix = (
        f"its project is {shlex.quote(_short_path(project))}" if project else "name the project that it was trained in"
    )
    raise ConfigError(f"{config.parent} is {output}, not the folder of a project; {fix}")


def _output_kind(folder: Path) -> str:
    return next((kind for name, kind in _OUTPUTS.items() if (folder / name).is_file()), "")


def _short_path(path: Path) -> str:
    """Return a path relative to the working directory, if it is in it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
