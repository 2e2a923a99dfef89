"""Console output of commands: results on stdout, messages and one-line errors with a fix on stderr."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import typer

from dragoman.errors import ConfigError, DragomanError, MissingExtraError
from dragoman.reporting.safe_display_text import without_controls
from dragoman.stop_signal import Terminated

EXIT_CODES = {
    0: "success",
    1: "an error that the message explains",
    2: "a wrong option or setting",
    3: "a missing package; the message has the command that installs it",
    4: "the output is written, but texts were left untranslated or have a flag of --fail-on",
    75: "stopped before the end; the message has the way to continue",
    130: "interrupted",
}
EXIT_FLAGGED = 4
EXIT_STOPPED = {"terminated": 75, "interrupted": 130}


_EXTRAS = {"serve": "serve", "export": "export"}
"""The extra to install for a command if several have the missing package; train for the other commands."""
_MIN_WRAPPED = 20  # columns; narrower than this, a cell is not wrapped
_JSON_ERRORS = ContextVar("json_errors", default=False)
_COMMAND = ContextVar("command", default="")


def set_command(name: str, *, json_errors: bool) -> None:
    """Store the command that runs, and the form of its errors: one JSON object on one line, or plain text."""
    _COMMAND.set(name)
    _JSON_ERRORS.set(json_errors)


def see_help() -> str:
    """Return the command that prints the help of the running command."""
    return f"see dragoman {_COMMAND.get()} --help".replace("  ", " ")


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text. Control characters are escaped on stderr and on a terminal: they may come from a file or a model.

    Other results on stdout are unchanged, since programs read them.
    """
    is_shown = err or sys.stdout.isatty()
    typer.echo(without_controls(text) if is_shown else text, err=err, nl=nl)


def write_bytes(data: bytes) -> None:
    """Write UTF-8 text to stdout; on a terminal its control characters are escaped."""
    if sys.stdout.isatty():
        data = without_controls(data.decode("utf-8", "replace")).encode()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_error(message: str, code: int, kind: str) -> None:
    """Print an error on stderr, as text or as ``{"error": {"message": …, "kind": …, "exit_code": …}}``."""
    if _JSON_ERRORS.get():
        error = {"message": message, "kind": kind, "exit_code": code}
        echo(json.dumps({"error": error}, ensure_ascii=False), err=True)
        return
    for line in message.splitlines():
        echo(line if kind == "KeyboardInterrupt" else f"error: {line}", err=True)


def print_stop(error: BaseException | None, remedy: str = "") -> int:
    """Print that a stop signal ended the command, and return its exit code; SIGTERM is the usual end of a server."""
    is_terminated = isinstance(error, Terminated)
    if is_terminated and _COMMAND.get() == "serve":
        return 0
    reason = "terminated" if is_terminated else "interrupted"
    print_error(f"{reason}; {remedy}" if remedy else reason, EXIT_STOPPED[reason], "KeyboardInterrupt")
    return EXIT_STOPPED[reason]


def exit_code(error: DragomanError) -> int:
    """Return the documented exit code of an error."""
    if isinstance(error, MissingExtraError):
        return 3
    return 2 if isinstance(error, ConfigError) else 1


@contextmanager
def report_errors(interrupted: str = "run the same command to continue") -> Iterator[None]:
    """Print errors that a user can correct on stderr and exit with their code; other errors keep their traceback.

    Errors of the operating system, such as a full disk, are among them. `interrupted` is the fix after a stop signal.
    """
    try:
        yield
    except DragomanError as error:
        print_error(str(error), exit_code(error), type(error).__name__)
        raise typer.Exit(exit_code(error)) from None
    except ModuleNotFoundError as error:
        if not error.name or error.name.partition(".")[0] == "dragoman":
            raise
        from dragoman.environment import missing_package

        command = _COMMAND.get()
        missing = missing_package(error.name, f"dragoman {command}".rstrip(), _EXTRAS.get(command, "train"))
        print_error(str(missing), exit_code(missing), type(missing).__name__)
        raise typer.Exit(exit_code(missing)) from None
    except KeyboardInterrupt as error:
        raise typer.Exit(print_stop(error, interrupted)) from None
    except BrokenPipeError:  # the reader of stdout has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter flushes again at exit
        raise typer.Exit(0) from None
    except OSError as error:
        path = f"{error.filename}: " if error.filename else ""
        message = f"{path}{error.strerror or error}; check the disk, the folder and its permissions"
        print_error(message, 1, type(error).__name__)
        raise typer.Exit(1) from None


def print_next(command: str) -> None:
    """Print the command to continue with on stderr; nothing with ``--json``."""
    if not _JSON_ERRORS.get():
        echo(f"next    {command}", err=True)


def print_warning(text: str) -> None:
    """Print a warning on stderr; the command continues."""
    echo(f"warning: {text}", err=True)


def print_json(value: object) -> None:
    """Print a result as JSON."""
    echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> None:
    """Print columns padded to their widest cell, those in `right` right-aligned; a terminal wraps the last one."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    indent = sum(widths[:-1]) + 2 * (len(widths) - 1)
    room = (shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize) - indent
    for row in rows:
        *_, last = row
        first, *others = textwrap.wrap(last, room) if len(last) > room >= _MIN_WRAPPED else [last]
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip([*row[:-1], first], widths, strict=True))
        ]
        echo("  ".join(cells).rstrip())
        for line in others:
            echo(" " * indent + line)
