"""Outputs of commands: ``--output FILE``, whose ending selects the format, and ``--force``, which replaces it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

from dragoman.cli.console import echo
from dragoman.cli.options.arguments import flag, listed, option
from dragoman.errors import ConfigError


def force_option(panel: str | None = None) -> Any:
    """Return the option ``--force``, which has one meaning in all commands."""
    return flag("--force", "Replace an existing output, with all changes that were made in it.", panel)


Force = Annotated[bool, force_option()]


def output_option(endings: Sequence[str], *, panel: str | None = None, repeated: bool = False) -> Any:
    """Return the option ``--output FILE``."""
    more = " May be repeated." if repeated else ""
    help_ = f"Write the result to this file: {listed(endings)}.{more}"
    return option("FILE", help_, "--output", "-o", panel=panel)


def check_output(path: Path, endings: Sequence[str], *, force: bool) -> None:
    """Reject an output file that cannot be written, or that exists without `force`; its folder is created."""
    if path.is_dir():
        raise ConfigError(f"--output {path} is a folder; name a file in it")
    if path.suffix.lower() not in endings:
        raise ConfigError(f"--output must end in {listed(endings)}, got {path}; the ending selects the format")
    check_new(path, force=force)
    _make_folder(path)


def check_new(path: Path, *, force: bool) -> None:
    """Reject a file that exists, unless `force` is given."""
    if path.exists() and not force:
        raise ConfigError(f"{path} already exists; name another file, or replace it with --force")


def check_folder(path: Path, *, force: bool, replaces: str = "") -> None:
    """Reject an output folder that cannot be written, or has files; with `force` only those without `replaces`."""
    if path.exists() and not path.is_dir():
        raise ConfigError(f"--output {path} is a file; name a folder")
    if path.is_dir() and any(path.iterdir()):
        if replaces and not (path / replaces).is_file():
            raise ConfigError(f"{path} has other files in it; name a new or empty folder")
        if not force:
            raise ConfigError(f"{path} has files in it; name another folder, or add --force")
    _make_folder(path)


def check_bundle_folder(path: Path, *, force: bool) -> None:
    """Reject an output folder of a bundle that has files of something else, or an earlier bundle without `force`."""
    from dragoman.bundle.verified_folder import MANIFEST

    check_folder(path, force=force, replaces=MANIFEST)


@contextmanager
def stdout_to(path: Path | None) -> Iterator[None]:
    """Write what is printed on stdout to a file, atomically; None leaves stdout unchanged."""
    if path is None:
        yield
        return
    from dragoman.files import atomic_write

    with atomic_write(path) as draft, draft.open("w", encoding="utf-8", newline="\n") as file, redirect_stdout(file):
        yield
    echo(f"wrote   {path}", err=True)


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"--output {path} cannot be written: {error.strerror} ({error.filename}); name another"
        ) from None
    if not os.access(path.parent, os.W_OK):
        raise ConfigError(f"--output {path} is in a folder that is not writable; name another")
