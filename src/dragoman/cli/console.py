"""How commands speak: results on stdout, everything else on stderr, errors in one line with their mend."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from dragoman.errors import ConfigError, DragomanError, MissingExtraError

__all__ = ["EXIT_CODES", "exit_code", "friendly", "print_json", "print_table"]

EXIT_CODES = {
    0: "done",
    1: "something can be mended: the message says what",
    2: "the command was typed wrongly, or a setting is wrong",
    3: "a package is missing: the message says how to install it",
    75: "stopped before the end: type the same with --resume to go on",
    130: "interrupted",
}


def exit_code(error: DragomanError) -> int:
    """The documented exit code of an error."""
    if isinstance(error, MissingExtraError):
        return 3
    return 2 if isinstance(error, ConfigError) else 1


@contextmanager
def friendly(again: str = "type the same again to go on from here") -> Iterator[None]:
    """Errors a user can mend become a line on stderr and an exit code; any other is ours and keeps its traceback.

    What the system refuses (a full disk, a folder that may not be written to) is for the user to mend too.
    """
    try:
        yield
    except DragomanError as error:
        for line in str(error).splitlines():
            typer.echo(f"error: {line}", err=True)
        raise typer.Exit(exit_code(error)) from None
    except KeyboardInterrupt:
        typer.echo(f"interrupted; {again}", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter tries to flush once more
        raise typer.Exit(0) from None
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        typer.echo(f"error: {what}{error.strerror or error}; see to the disk, the folder or its permissions", err=True)
        raise typer.Exit(1) from None


def print_json(value: object) -> None:
    """A result for scripts."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> None:
    """Columns padded to their widest cell; those in `right` are flush right. Plain text: it pipes well."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        typer.echo("  ".join(cells).rstrip())
