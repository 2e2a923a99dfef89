"""``dragoman demo``: a translator of dates, from nothing, in about a minute."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.config import Json
from dragoman.cli.console import friendly, print_json
from dragoman.cli.train import EXIT_STOPPED

if TYPE_CHECKING:
    from rich.console import Console

    from dragoman.api.demo import Demo

__all__ = ["demo"]

_FOLDER = Path("dragoman-demo")
_WIDEST = 100

Folder = Annotated[Path, typer.Argument(metavar="[DIR]", help="A new folder, or that of an earlier demonstration.")]


def demo(folder: Folder = _FOLDER, json: Json = False) -> None:
    """Train a small translator of dates, and show what it looks at: no download, no settings, about a minute.

    It reads dates as people write them (the third of May, 1998) and writes them as 1998-05-03. In DIR it leaves the
    translator (bundle), a page to point at (alignment.html), and everything they were made from.
    """
    from dragoman.environment import require

    with friendly():
        require("torch", "train", "dragoman demo")
        from dragoman.cli.demo_screen import DemoScreen

        began, is_new = time.monotonic(), not (folder / "run").exists()
        with DemoScreen() as screen:
            screen.begin("waking up")  # importing torch takes some seconds
            from dragoman.api.dates import SPELLINGS
            from dragoman.api.demo import TRAINING_PAIRS, Stopped
            from dragoman.api.demo import demo as make

            if (folder / "bundle").exists():
                screen.say(f"\nThere is a translator in {folder} already; here is what it can do.\n")
            else:
                screen.say(f"\n{TRAINING_PAIRS:,} dates, spelt in {len(SPELLINGS)} ways, are in {folder}/corpus.")
            try:
                made = make(folder, progress=screen, observers=[screen])
            except Stopped as stopped:
                screen.say(f"go on with: dragoman demo {_quoted(folder)}")
                raise typer.Exit(EXIT_STOPPED[str(stopped)]) from None
    seconds = time.monotonic() - began if is_new else None
    if json:
        print_json(_figures(made, seconds))
    else:
        _print(made, seconds)


def _figures(made: Demo, seconds: float | None) -> dict[str, object]:
    return {
        "exact_match": made.exact.value,
        "right": made.right,
        "tested": made.tested,
        "bundle": str(made.bundle.folder),
        "page": str(made.page),
        "seconds": seconds,
    }


def _print(made: Demo, seconds: float | None) -> None:
    """What it can do, what it looks at, and what to type next."""
    from rich.console import Console

    console = Console(highlight=False, force_terminal=sys.stdout.isatty(), width=None if sys.stdout.isatty() else 80)
    is_rich = console.encoding.startswith("utf")
    _print_score(console, made, seconds)
    tick, cross = ("✓", "✗") if is_rich else ("", "wrong")
    widest = max(len(sample.source) for sample in made.samples)
    for sample in (*made.samples, *made.faults[:1]):
        mark = tick if sample.translation == sample.reference else cross
        colour = "green" if mark == tick else "red"
        console.print(f"  {sample.source:<{widest}}  {sample.translation}  [{colour}]{mark}[/]", soft_wrap=True)
    if is_rich:
        _print_map(console, made)
    _print_next(console, made)


def _print_score(console: Console, made: Demo, seconds: float | None) -> None:
    from dragoman.data.check.figures import duration, percent

    took = f", in {duration(seconds)}" if seconds is not None else ""
    console.print(
        f"[bold]{made.right:,} of {made.tested:,}[/] dates it had never seen are right: "
        f"[bold green]{percent(made.right, made.tested)} exact match[/]{took}.\n",
        soft_wrap=True,
    )


def _print_map(console: Console, made: Demo) -> None:
    from dragoman.inspection import terminal_map

    sample = made.samples[0]
    assert sample.weights is not None
    console.print(f"\nWhat it looks at while it writes [bold]{sample.translation}[/], a row for each character:\n")
    colour = console.is_terminal and not console.no_color and console.color_system is not None
    width = min(console.width, _WIDEST)
    console.print(
        terminal_map(sample.source_words, sample.target_words, sample.weights, width=width, colour=colour),
        soft_wrap=True,
    )


def _print_next(console: Console, made: Demo) -> None:
    folder = _quoted(made.folder)
    console.print(
        f"\nMore of these, to point at:  {made.page}\nThe translator:              {made.bundle.folder}\n\nNext:",
        soft_wrap=True,
        markup=False,
    )
    commands = {
        f'echo "the third of May, 1998" | dragoman translate {folder}/bundle': "translate dates of yours",
        f"dragoman check {folder}": "look at the corpus as Dragoman does",
        f"dragoman train {folder} --output {folder}/smaller --set model.decoder.hidden=32": "try another network",
        "dragoman new mine --source en --target de --corpus train.en train.de": "begin with files of yours",
    }
    for command, what in commands.items():
        console.print(f"  # {what}", style="dim", markup=False)
        console.print(f"  {command}", soft_wrap=True, markup=False)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
