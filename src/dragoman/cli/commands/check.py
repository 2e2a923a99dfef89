"""`dragoman check`: check corpora before training for bad lines, leaks, cleaning and cost."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import echo, print_json, report_errors
from dragoman.cli.options.arguments import (
    DEFAULT_CONFIG,
    AllowNetwork,
    ConfigFile,
    Json,
    OnBadLine,
    Overrides,
    Processes,
    config_file,
    next_command,
    option,
    overrides_with,
)
from dragoman.cli.options.outputs import Force, check_output, output_option
from dragoman.network_access import network_access

_ENDINGS = (".html", ".json")

Output = Annotated[Path | None, output_option(_ENDINGS)]
Measure = Annotated[bool, option("", "Run a few updates to estimate memory and time; needs torch.")]


def check(  # noqa: PLR0913, PLR0917 -- one parameter per option
    config: ConfigFile = DEFAULT_CONFIG,
    overrides: Overrides = None,
    processes: Processes = 2,
    on_bad_line: OnBadLine = None,
    allow_network: AllowNetwork = False,
    output: Output = None,
    force: Force = False,
    measure: Measure = True,
    json: Json = False,
) -> None:
    """Check corpora: errors by file and line, leakage, cleaning and training cost.

    Cleaned text is stored, and `dragoman prepare` continues with it. The exit code is 1 if preparation would fail,
    or if text is not in the declared language.
    """
    from dragoman.environment import require

    with report_errors(), network_access(allow_network):
        require("polars", "train", "dragoman check")
        from dragoman.config import load_config

        config = config_file(config)
        settings = load_config(config, overrides_with(overrides, on_bad_line))
        if output is not None:
            check_output(output, _ENDINGS, force=force)
        from dragoman.api.training.preparation import check_corpora
        from dragoman.cli.screens.check import print_report
        from dragoman.cli.screens.progress import ProgressDisplay
        from dragoman.data.check.page import render_check_page
        from dragoman.data.check.report_types import verdict
        from dragoman.files import write_json

        with ProgressDisplay() as progress:
            report = check_corpora(settings, config.parent, processes=processes, progress=progress, measure=measure)
        if output is not None and output.suffix.lower() == ".json":
            write_json(output, report.to_json())
        elif output is not None:
            output.write_text(
                render_check_page(report, title=f"{config.resolve().parent.name}: check"), encoding="utf-8"
            )
        if output is not None:
            echo(f"wrote   {output}", err=True)
    if json:
        print_json(report.to_json())
    else:
        more = ["--on-bad-line", on_bad_line] if on_bad_line else []
        more += ["--allow-network"] if allow_network else []
        name = "check" if verdict(report).level == "error" else "prepare"
        print_report(report, next_command(name, config, overrides, *more))
    if report.fatal:
        raise typer.Exit(1)
