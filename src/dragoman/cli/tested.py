"""What ``dragoman evaluate`` and ``dragoman compare`` share: systems that translate a test set and are scored on it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.search_options import named_as_typed
from dragoman.errors import ConfigError, DataError

if TYPE_CHECKING:
    from dragoman.api.systems import System
    from dragoman.evaluation.report import Evaluation

__all__ = ["Baseline", "Languages", "Systems", "scored", "tell", "typed_command"]

_SETTINGS = ("baseline", "engine", "metrics", "precision", "resamples", "threads")

Systems = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM…",
        help="[NAME=]PATH[,PATH…]: a run folder, a bundle, or a file of translations; several paths are one system "
        "trained with several seeds.",
    ),
]
Baseline = Annotated[
    str | None, typer.Option(metavar="NAME", help="What the others are held against.", show_default="the first")
]
Languages = Annotated[
    str | None, typer.Option(metavar="SRC-REF", help="Such as en-de.", show_default="what the bundles say")
]


def scored(
    systems: Sequence[System], test: tuple[Path, Path], given: dict[str, Any], *, languages: str | None
) -> tuple[Evaluation, list[str], list[str]]:
    """Translate the test set with every system and score; sources and references come too.

    `given` are options of `api.evaluating.evaluate`.
    """
    from dragoman.api.evaluating import evaluate
    from dragoman.api.systems import read_lines
    from dragoman.cli.progress import ScreenProgress

    pair = _pair(languages)
    sources, references = (read_lines(path) for path in test)
    _check_lines(test, len(sources), len(references))
    given = given | {"languages": pair, "name": _set_name(test[0]), "command": typed_command(), "tell": tell}
    given |= {name: given[name] or "auto" for name in ("engine", "precision")}
    with ScreenProgress(unit="sentence") as progress, named_as_typed(*_SETTINGS):
        return evaluate(systems, sources, references, progress=progress, **given), sources, references


def typed_command() -> str:
    """What was typed, to be typed again."""
    return shlex.join(["dragoman", *sys.argv[1:]])


def tell(line: str) -> None:
    """Say something besides the result."""
    typer.echo(line, err=True)


def _check_lines(test: tuple[Path, Path], sources: int, references: int) -> None:
    if sources != references:
        raise DataError(
            f"{test[0]} and {test[1]} must have the same number of lines, got {sources:,} and {references:,}; see "
            "which of them lacks some"
        )
    if not sources:
        raise DataError(f"{test[0]} and {test[1]} must hold at least one line, got none; name the test set")


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    source, _, target = text.partition("-")
    if not source or not target:
        raise ConfigError(f"--languages must be two languages, as en-de, got {text}; join them by -")
    return source, target


def _set_name(source: Path) -> str:
    """What the test set is called: its source without its endings."""
    return source.name.removesuffix(".gz").rsplit(".", 1)[0] or source.name
