"""Console output of commands: results on stdout, messages and one-line errors with a fix on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from dragoman.errors import ConfigError, DragomanError, MissingExtraError

__all__ = ["EXIT_CODES", "EXIT_STOPPED", "exit_code", "print_json", "print_table", "report_errors"]

EXIT_CODES = {
    0: "success",
    1: "an error that the message explains",
    2: "a wrong option or setting",
    3: "a missing package; the message has the command that installs it",
    75: "stopped before the end; --resume continues",
    130: "interrupted",
}
EXIT_STOPPED = {"terminated": 75, "interrupted": 130}


def exit_code(error: DragomanError) -> int:
    """Return the documented exit code of an error."""
    if isinstance(error, MissingExtraError):
        return 3
    return 2 if isinstance(error, ConfigError) else 1


@contextmanager
def report_errors(interrupted: str = "run the same command to continue") -> Iterator[None]:
    """Print errors that a user can correct on stderr and exit with their code; other errors keep their traceback.

    Errors of the operating system, such as a full disk, are among them. `interrupted` is the fix after Ctrl-C.
    """
    try:
        yield
    except DragomanError as error:
        for line in str(error).splitlines():
            typer.echo(f"error: {line}", err=True)
        raise typer.Exit(exit_code(error)) from None
    except KeyboardInterrupt:
        typer.echo(f"interrupted; {interrupted}", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:  # the reader of stdout has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter flushes again at exit
        raise typer.Exit(0) from None
    except OSError as error:
        path = f"{error.filename}: " if error.filename else ""
        typer.echo(f"error: {path}{error.strerror or error}; check the disk, the folder and its permissions", err=True)
        raise typer.Exit(1) from None


def print_json(value: object) -> None:
    """Print a result as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> None:
    """Print columns padded to their widest cell, as plain text; columns in `right` are right-aligned."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        typer.echo("  ".join(cells).rstrip())
