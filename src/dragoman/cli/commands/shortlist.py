"""`dragoman shortlist`: add a lexical shortlist to a saved model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import echo, print_json, print_next, report_errors
from dragoman.cli.options.arguments import BundlePath, Json, SourceText, TargetText
from dragoman.cli.options.locate import locate_bundle
from dragoman.cli.options.outputs import Force, check_bundle_folder

__all__ = ["shortlist"]

Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the new bundle.")]
Frequent = Annotated[int, typer.Option(metavar="INT", min=0, help="Frequent target tokens in every shortlist.")]
PerToken = Annotated[int, typer.Option(metavar="INT", min=1, help="Target tokens per source token.")]
Threads = Annotated[int | None, typer.Option(metavar="INT", min=1, help="Number of threads. [default: all cores]")]


def shortlist(  # noqa: PLR0913 -- one parameter per option
    bundle: BundlePath,
    source: SourceText,
    target: TargetText = None,
    *,
    output: Output,
    frequent: Frequent = 100,
    per_token: PerToken = 50,
    threads: Threads = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Copy a bundle and add a lexical shortlist, for an SSRU decoder.

    The tokens that translate each source token are found by the attention of the model on sentence pairs.
    """
    with report_errors("start it again"):
        check_bundle_folder(output, force=force)
        from dragoman.api.alignment.shortlist_builder import add_shortlist, check_architecture
        from dragoman.api.files.parallel_lines import read_pairs
        from dragoman.bundle import Bundle

        opened = Bundle.open(locate_bundle(bundle))
        check_architecture(opened.config.model)
        found = add_shortlist(
            opened,
            read_pairs(source, target),
            output,
            frequent=frequent,
            per_token=per_token,
            threads=threads,
        )
    if json:
        facts = {"folder": str(found.bundle.folder), "pairs": found.pairs, "source_tokens": found.source_tokens}
        print_json(facts | {"mean_candidates": found.mean_candidates, "covered": found.covered})
        return
    echo(
        f"{found.pairs:,} pairs: {found.source_tokens:,} source tokens, {found.mean_candidates:,.0f} candidates per "
        f"sentence, {found.covered:.1%} of the target tokens covered"
    )
    echo(f"bundle  {found.bundle.folder}")
    print_next(f"dragoman translate {shlex.quote(str(output))}")
