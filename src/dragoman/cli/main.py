"""The ``dragoman`` command."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from dragoman import __version__
from dragoman.cli import (
    align,
    average,
    check,
    compare,
    config,
    demo,
    doctor,
    evaluate,
    export,
    inspect,
    model,
    new,
    prepare,
    score,
    serve,
    train,
    translate,
)
from dragoman.cli.console import EXIT_CODES

__all__ = ["app", "main"]

app = typer.Typer(
    name="dragoman",
    help="Trains, explains and serves neural translators.",
    epilog="Exit codes: " + "; ".join(f"{code}, {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(config.app, name="config")
app.command()(demo.demo)
app.command()(new.new)
app.command()(check.check)
app.command()(prepare.prepare)
app.command()(train.train)
app.command()(average.average)
app.command()(translate.translate)
app.command()(score.score)
app.command()(evaluate.evaluate)
app.command()(align.align)
app.command()(compare.compare)
app.command()(inspect.inspect)
app.command()(export.export)
app.command()(serve.serve)
app.command()(model.model)
app.command()(doctor.doctor)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"dragoman {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter tries to flush once more
        sys.exit(0)
