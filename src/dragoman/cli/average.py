"""``dragoman average``: the mean of several checkpoints as one bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import friendly

__all__ = ["average"]

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where the bundle is written.")]
Last = Annotated[int, typer.Option(min=1, help="How many of its newest checkpoints.")]


def average(run: RunFolder, output: Output, last: Last = 3) -> None:
    """Average the weights of a run's newest checkpoints; often a little better than any one of them."""
    from dragoman.environment import require

    with friendly():
        require("torch", "train", "dragoman average")
        from dragoman.api.bundling import average as average_

        bundle = average_(run, output, last=last)
    typer.echo(f"bundle    {bundle.folder}")
