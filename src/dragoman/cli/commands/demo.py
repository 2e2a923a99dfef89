"""`dragoman demo`: train and show a small demonstration model."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import EXIT_STOPPED, print_json, report_errors
from dragoman.cli.options.arguments import Json
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from dragoman.api.demo.date_demo import DemoResult
    from dragoman.training.callbacks.events import ValidationSample

__all__ = ["demo", "shown_samples"]

_FOLDER = Path("dragoman-demo")
_WIDEST = 100

Folder = Annotated[
    Path | None, typer.Argument(metavar="DIR", help="New folder, or the folder of an earlier demonstration.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help=f"The same as DIR. [default: {_FOLDER}]"),
]


def demo(directory: Folder = None, output: Output = None, json: Json = False) -> None:
    """Train a small model of dates in about a minute and show its attention.

    It translates dates as people write them (the third of May, 1998) to 1998-05-03. DIR gets the model (bundle), an
    interactive page (alignment.html), the corpus and the configuration. Nothing is downloaded.
    """
    from dragoman.environment import require

    with report_errors():
        if directory is not None and output is not None:
            raise ConfigError(f"the folder must be named once, got {directory} and --output {output}; leave out one")
        folder = directory or output or _FOLDER
        for module in ("torch", "polars", "sacrebleu"):
            require(module, "train", "dragoman demo")
        from dragoman.cli.screens.demo import DemoScreen

        began, is_new = time.monotonic(), not (folder / "run").exists()
        with DemoScreen() as screen:
            screen.begin("starting")  # importing torch takes some seconds
            from dragoman.api.demo.date_corpus import SPELLINGS
            from dragoman.api.demo.date_demo import TRAINING_PAIRS, DemoStopped
            from dragoman.api.demo.date_demo import run_demo as make
            from dragoman.api.demo.demo_project import check_demo_folder

            check_demo_folder(folder)
            if (folder / "bundle").exists():
                screen.say(f"\n{folder} already has a trained model.\n")
            else:
                screen.say(f"\n{TRAINING_PAIRS:,} dates in {len(SPELLINGS)} spellings are in {folder}/corpus.")
            try:
                made = make(folder, progress=screen, callbacks=[screen])
            except DemoStopped as stopped:
                screen.say(f"continue with: dragoman demo {_quoted(folder)}")
                raise typer.Exit(EXIT_STOPPED[str(stopped)]) from None
    seconds = time.monotonic() - began if is_new else None
    if json:
        print_json(_figures(made, seconds))
    else:
        _print(made, seconds)


def _figures(made: DemoResult, seconds: float | None) -> dict[str, object]:
    return {
        "exact_match": made.exact.value,
        "right": made.right,
        "tested": made.tested,
        "bundle": str(made.bundle.folder),
        "page": str(made.page),
        "seconds": seconds,
    }


def _print(made: DemoResult, seconds: float | None) -> None:
    """Print the score, translations, an attention map and next commands."""
    from rich.console import Console

    console = Console(highlight=False, force_terminal=sys.stdout.isatty(), width=None if sys.stdout.isatty() else 80)
    is_rich = console.encoding.startswith("utf")
    _print_score(console, made, seconds)
    tick, cross = ("✓", "✗") if is_rich else ("", "wrong")
    shown = shown_samples((*made.samples, *made.faults[:1]))
    widest = max(len(sample.source) for sample in shown)
    for sample in shown:
        mark = tick if sample.translation == sample.reference else cross
        colour = "green" if mark == tick else "red"
        console.print(f"  {sample.source:<{widest}}  {sample.translation}  [{colour}]{mark}[/]", soft_wrap=True)
    if is_rich:
        _print_map(console, made)
    _print_next(console, made)


def shown_samples(samples: Sequence[ValidationSample]) -> list[ValidationSample]:
    """Return the samples with letters: `dragoman translate`, which is named next, copies other text."""
    from dragoman.text.characters import has_letters

    return [sample for sample in samples if has_letters(sample.source)]


def _print_score(console: Console, made: DemoResult, seconds: float | None) -> None:
    from dragoman.reporting.number_format import format_duration, format_percent

    took = f", in {format_duration(seconds)}" if seconds is not None else ""
    console.print(
        f"[bold]{made.right:,} of {made.tested:,}[/] unseen dates are right: "
        f"[bold green]{format_percent(made.right, made.tested)} exact match[/]{took}.\n",
        soft_wrap=True,
    )


def _print_map(console: Console, made: DemoResult) -> None:
    from dragoman.inspection.terminal.heatmap import render_heatmap

    sample = made.samples[0]
    assert sample.weights is not None
    console.print(f"\nAttention while writing [bold]{sample.translation}[/], one row per character:\n")
    colour = console.is_terminal and not console.no_color and console.color_system is not None
    width = min(console.width, _WIDEST)
    console.print(
        render_heatmap(sample.source_words, sample.target_words, sample.weights, width=width, colour=colour),
        soft_wrap=True,
    )


def _print_next(console: Console, made: DemoResult) -> None:
    folder = _quoted(made.folder)
    console.print(
        f"\nInteractive page:  {made.page}\nModel:             {made.bundle.folder}\n\nNext:",
        soft_wrap=True,
        markup=False,
    )
    commands = {
        f'echo "the third of May, 1998" | dragoman translate {folder}/bundle': "translate your own dates",
        f"dragoman check {folder}": "check the corpus",
        f"dragoman train {folder} --output {folder}/smaller --set model.decoder.hidden=32": "train a smaller network",
        "dragoman new mine --source en --target de --corpus train.en train.de": "start with your own files",
    }
    for command, what in commands.items():
        console.print(f"  # {what}", style="dim", markup=False)
        console.print(f"  {command}", soft_wrap=True, markup=False)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
