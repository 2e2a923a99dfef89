"""`dragoman prune`: remove tokens that some languages do not need from a saved model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import echo, print_json, print_next, report_errors
from dragoman.cli.options.arguments import BundlePath, Json, flag
from dragoman.cli.options.locate import locate_bundle
from dragoman.cli.options.outputs import Force, check_bundle_folder

__all__ = ["prune"]

Texts = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="FILE",
        help="Text of the languages, one sentence per line, may be .gz; - is stdin. May be repeated.",
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the new bundle.")]
Languages = Annotated[
    str | None,
    typer.Option(metavar="CODES", help="Of a model with several directions, keep those between these: en,de."),
]
Scripts = Annotated[
    bool, flag("--scripts", "Keep the tokens in the scripts of the languages, too; the default without text.")
]
MinCount = Annotated[int, typer.Option(metavar="INT", min=1, help="Least number of uses of a token that is kept.")]


def prune(
    bundle: BundlePath,
    *,
    output: Output,
    text: Texts = None,
    scripts: Scripts = False,
    languages: Languages = None,
    min_count: MinCount = 1,
    force: Force = False,
    json: Json = False,
) -> None:
    """Copy a bundle without the tokens that some languages or text do not need.

    Single characters, bytes and special tokens are always kept, so that any text can still be translated.
    """
    with report_errors("start it again"):
        check_bundle_folder(output, force=force)
        from dragoman.api.files.input_lines import stream_lines
        from dragoman.api.pruning.prune_bundle import prune_bundle
        from dragoman.bundle import Bundle

        found = prune_bundle(
            Bundle.open(locate_bundle(bundle)),
            (line for name in text or () for line in stream_lines(name)),
            output,
            languages=[code.strip() for code in languages.split(",") if code.strip()] if languages else (),
            min_count=min_count,
            keep_scripts=scripts or not text,
        )
    if json:
        facts = {"folder": str(found.bundle.folder), "lines": found.lines, "tokens": list(found.tokens)}
        print_json(facts | {"bytes": list(found.bytes), "parameters": found.bundle.parameter_count()})
        return
    echo(
        f"{found.tokens[1]:,} of {found.tokens[0]:,} tokens, {found.lines:,} lines of text, "
        f"{found.bytes[1] / 1e6:,.1f} of {found.bytes[0] / 1e6:,.1f} MB"
    )
    echo(f"bundle  {found.bundle.folder}")
    print_next(f"dragoman translate {shlex.quote(str(output))}")
