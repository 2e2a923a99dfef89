"""``dragoman new``: a folder with a commented configuration to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import friendly

__all__ = ["new"]


def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where dragoman.toml is written.")],
    source: Annotated[str, typer.Option(help="The language to translate from, as a code: en.")],
    target: Annotated[str, typer.Option(help="The language to translate into: de.")],
    corpus: Annotated[
        list[str],
        typer.Option(
            metavar="FILE [FILE]",
            help="The training files: one a side, source first; or one of both sides (TSV, TMX, JSONL, Parquet).",
        ),
    ],
    more: Annotated[list[str] | None, typer.Argument(metavar="", hidden=True)] = None,
    validation: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="The validation set: once for each of its files.")
    ] = None,
    test: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="The test set: once for each of its files.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="The preset to start from; else the one for this amount of data.")
    ] = None,
) -> None:
    """Write a commented dragoman.toml for your corpus, with a preset that fits its size."""
    from dragoman.environment import require

    with friendly():
        require("polars", "train", "dragoman new")
        from dragoman.data.project import new_project

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
