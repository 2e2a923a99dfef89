"""`dragoman average`: average the weights of checkpoints."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import echo, print_next, report_errors
from dragoman.cli.options.locate import locate_run
from dragoman.cli.options.outputs import Force, check_bundle_folder

__all__ = ["average"]

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run, or of its project.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the new bundle.")]
Last = Annotated[int, typer.Option(metavar="INT", min=1, help="Number of checkpoints, the newest first.")]


def average(run: RunFolder, output: Output, last: Last = 3, force: Force = False) -> None:
    """Average the weights of a run's newest checkpoints into a bundle."""
    from dragoman.environment import require

    with report_errors():
        check_bundle_folder(output, force=force)
        require("torch", "train", "dragoman average")
        from dragoman.api.training.bundle_writer import average_checkpoints

        bundle = average_checkpoints(locate_run(run), output, last=last)
    echo(f"bundle  {bundle.folder}")
    print_next(f"dragoman evaluate {shlex.quote(str(run))} {shlex.quote(str(output))}")
