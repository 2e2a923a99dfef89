"""`dragoman new`: write the configuration file of a new project."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import report_errors

__all__ = ["new"]


def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for dragoman.toml.")],
    source: Annotated[str, typer.Option(metavar="CODE", help="Source language code: en.")],
    target: Annotated[str, typer.Option(metavar="CODE", help="Target language code: de.")],
    corpus: Annotated[
        list[str],
        typer.Option(
            metavar="FILE [FILE]",
            help="Training files: source and target, or one file with both (TSV, TMX, JSONL, Parquet).",
        ),
    ],
    more: Annotated[list[str] | None, typer.Argument(metavar="", hidden=True)] = None,
    validation: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="File of the validation set. May be repeated.")
    ] = None,
    test: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="File of the test set. May be repeated.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Preset to extend; by default the one for the corpus size.")
    ] = None,
) -> None:
    """Write a commented dragoman.toml for a corpus, with a preset for its size."""
    from dragoman.environment import require

    with report_errors():
        require("polars", "train", "dragoman new")
        from dragoman.data.project_template import new_project

        project = new_project(
            folder,
            source=source,
            target=target,
            train=[*corpus, *(more or [])],
            validation=validation or (),
            test=test or (),
            preset=preset,
        )
    count = f"{project.pairs:,} pairs" if project.is_exact else f"more than {project.pairs:,} pairs"
    typer.echo(f"{project.config}: {count}, starting from the preset {project.preset}")
    typer.echo(f"next: cd {shlex.quote(str(folder))} && dragoman check")
