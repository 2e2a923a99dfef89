"""`dragoman demo`: train and show a small demonstration model."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.commands.prepare import prepare_first
from dragoman.cli.console import EXIT_STOPPED, echo, report_errors
from dragoman.cli.options.arguments import argument
from dragoman.run_files import BUNDLE, RUN

if TYPE_CHECKING:
    from dragoman.api.demo.date_demo import DemoResult
    from dragoman.training.callbacks.events import ValidationSample

_FOLDER = Path("dragoman-demo")
_WIDEST = 100

Folder = Annotated[Path, argument("DIR", "New folder, or the folder of an earlier demonstration.")]


def demo(folder: Folder = _FOLDER) -> None:
    """Train a small model of dates in about a minute and show its attention.

    It translates dates as people write them (the third of May, 1998) to 1998-05-03. DIR gets the model (bundle), an
    interactive page (alignment.html), the corpus and the configuration. Nothing is downloaded.
    """
    from dragoman.environment import require

    with report_errors():
        for module in ("torch", "polars", "sacrebleu"):
            require(module, "train", "dragoman demo")
        from dragoman.api.demo.demo_project import check_demo_folder

        check_demo_folder(folder)
        began, is_new = time.monotonic(), not (folder / RUN).exists()
        if (folder / BUNDLE).exists():
            echo(f"{folder} already has a trained model", err=True)
        from dragoman.api.demo.date_demo import DemoStopped, run_demo
        from dragoman.cli.screens.training import TrainingScreen

        with TrainingScreen() as screen:
            try:
                made = run_demo(folder, prepare=prepare_first, callbacks=[screen])
            except DemoStopped as stopped:
                echo(f"continue with: dragoman demo {shlex.quote(str(folder))}", err=True)
                raise typer.Exit(EXIT_STOPPED[str(stopped)]) from None
    _print(made, time.monotonic() - began if is_new else None)


def _print(made: DemoResult, seconds: float | None) -> None:
    """Print the score, translations, an attention map and next commands."""
    from dragoman.cli.screens.inspection import print_map, result_console
    from dragoman.reporting.number_format import format_duration, format_percent

    console = result_console()
    is_rich = console.encoding.startswith("utf")
    took = f", in {format_duration(seconds)}" if seconds is not None else ""
    echo(
        f"{made.right:,} of {made.tested:,} unseen dates are right: {format_percent(made.right, made.tested)} exact "
        f"match{took}.\n"
    )
    tick, cross = ("✓", "✗") if is_rich else ("", "wrong")
    shown = shown_samples((*made.samples, *made.faults[:1]))
    widest = max(len(sample.source) for sample in shown)
    for sample in shown:
        mark = tick if sample.translation == sample.reference else cross
        echo(f"  {sample.source:<{widest}}  {sample.translation}  {mark}")
    if is_rich:
        sample = made.samples[0]
        assert sample.weights is not None
        echo(f"\nAttention while writing {sample.translation}, one row per character:\n")
        print_map(console, sample.source_words, sample.target_words, sample.weights, min(console.width, _WIDEST))
    echo(f"\nInteractive page:  {made.page}\nModel:             {made.bundle.folder}\n\nNext:")
    folder = shlex.quote(str(made.folder))
    commands = {
        f'echo "the third of May, 1998" | dragoman translate {folder}/bundle': "translate your own dates",
        f"dragoman check {folder}": "check the corpus",
        f"dragoman train {folder} --output {folder}/smaller --set model.decoder.hidden=32": "train a smaller network",
        "dragoman new mine --source en --target de --corpus train.en train.de": "start with your own files",
    }
    for command, what in commands.items():
        echo(f"  # {what}\n  {command}")


def shown_samples(samples: Sequence[ValidationSample]) -> list[ValidationSample]:
    """Return the samples with letters: `dragoman translate`, which is named next, copies other text."""
    from dragoman.text.characters import has_letters

    return [sample for sample in samples if has_letters(sample.source)]
