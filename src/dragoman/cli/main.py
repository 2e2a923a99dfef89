"""The `dragoman` command; each subcommand is imported only when it runs."""

from __future__ import annotations

import inspect
import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dragoman.cli.console import EXIT_CODES
from dragoman.version import __version__

__all__ = ["COMMANDS", "LazyGroup", "app", "load_command", "main"]

COMMANDS = {
    "config": "Show configurations, presets, the JSON Schema and the reference page.",
    "demo": "Train a small model of dates in about a minute and show its attention.",
    "new": "Write a commented dragoman.toml for a corpus, with a preset for its size.",
    "check": "Check corpora: errors by file and line, leakage, cleaning and training cost.",
    "prepare": "Clean, de-duplicate and split corpora, learn the tokenizer and write shards.",
    "train": "Train a model on prepared data and write a bundle.",
    "average": "Average the weights of a run's newest checkpoints into a bundle.",
    "translate": "Translate lines of text, or a document with its layout.",
    "score": "Print the log-probability of given translations.",
    "evaluate": "Score systems on a test set: BLEU, chrF++ and TER of sacreBLEU, with intervals.",
    "align": "Print word alignments of sentence pairs.",
    "compare": "Compare runs, bundles or files of translations in one HTML page.",
    "inspect": "Inspect a translation: attention, alternatives and their continuations.",
    "claims": "Test claims about translation models: list, run and report.",
    "export": "Export a bundle for CTranslate2 or ONNX Runtime.",
    "serve": "Serve models over HTTP: LibreTranslate and DeepL APIs, our own API, and a web page.",
    "model": "Summarize a model: modules, parameters, FLOPs and memory.",
    "doctor": "Report the machine, installed packages, and commands that install missing ones.",
}
"""Subcommands with the first line of their help; each is in the module of its name in `dragoman.cli.commands`."""


def load_command(name: str) -> Any:
    """Import a subcommand and return its Click command."""
    module = import_module(f"dragoman.cli.commands.{name}")
    if hasattr(module, "app"):
        return typer.main.get_command(module.app)
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    function = getattr(module, name)
    paragraphs = inspect.cleandoc(function.__doc__).split("\n\n")
    single.command(name, help="\n\n".join(" ".join(each.split()) for each in paragraphs))(function)
    return typer.main.get_command(single)


class LazyGroup(TyperGroup):
    """A group whose commands are stubs until one of them is used."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that is called."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = load_command(args[0])
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="dragoman",
    cls=LazyGroup,
    help="Train, inspect and serve neural translation models.",
    epilog="Exit codes: " + "; ".join(f"{code}, {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(lambda: None)


def _print_version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"dragoman {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit.", metavar=""
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; entry point of the console script."""
    try:
        app()
    except BrokenPipeError:  # the reader of stdout has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter flushes again at exit
        sys.exit(0)
