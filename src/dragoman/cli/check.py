"""``dragoman check``: what is wrong with the corpora, before anything is learnt from them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.config import Json, Overrides
from dragoman.cli.console import friendly, print_json
from dragoman.cli.prepare import DEFAULT_CONFIG, ConfigFile, OnBadLineOption, Processes, config_in, overrides_with

__all__ = ["check"]


def check(
    config: ConfigFile = DEFAULT_CONFIG,
    overrides: Overrides = None,
    processes: Processes = 2,
    on_bad_line: OnBadLineOption = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with charts and samples too.")] = None,
    measure: Annotated[
        bool, typer.Option(help="Run a few real updates to predict memory and time; needs torch.")
    ] = True,
    json: Json = False,
) -> None:
    """Look at the corpora: faults by file and line, leaks, what cleaning would drop, and what training would cost.

    What it cleans is kept: `dragoman prepare` goes on from there. Exit code 1 if something would stop it.
    """
    from dragoman.environment import require

    with friendly():
        from dragoman.config import load_config
        from dragoman.errors import ConfigError

        config = config_in(config)
        settings = load_config(config, overrides_with(overrides, on_bad_line))
        if html is not None and not html.parent.is_dir():
            raise ConfigError(f"--html must be a file in a folder that is there, got {html}; make {html.parent} first")
        require("polars", "train", "dragoman check")
        from dragoman.api import check_corpora
        from dragoman.cli.check_screen import print_report
        from dragoman.cli.progress import ScreenProgress
        from dragoman.data.check.page import render_page

        with ScreenProgress() as progress:
            report = check_corpora(settings, config.parent, processes=processes, progress=progress, measure=measure)
        if html is not None:
            html.write_text(render_page(report, title=f"{config.resolve().parent.name}: check"), encoding="utf-8")
    if json:
        print_json(report.to_json())
    else:
        typed = [] if config == DEFAULT_CONFIG else [str(config)]
        typed += [word for override in overrides or [] for word in ("--set", override)]
        typed += ["--on-bad-line", on_bad_line] if on_bad_line else []
        print_report(report, config=shlex.join(typed))
    if report.fatal:
        raise typer.Exit(1)
