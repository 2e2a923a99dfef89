"""``dragoman score``: how likely a translator finds translations that are there."""

from __future__ import annotations

import json as json_
from typing import Annotated

import typer

from dragoman.cli import search_options as options
from dragoman.cli.console import friendly

__all__ = ["Source", "Target", "score"]

Source = Annotated[str, typer.Argument(metavar="SOURCE", help="Text, a sentence a line; .gz is unpacked. - is stdin.")]
Target = Annotated[
    str | None,
    typer.Argument(metavar="TARGET", help="Its translation; without, SOURCE holds both, with a tab between them."),
]
Json = Annotated[bool, typer.Option("--json", help="A JSON object a line.")]


def score(
    bundle: options.BundlePath,
    source: Source,
    target: Target = None,
    others: options.Others = None,
    json: Json = False,
    engine: options.Engine = None,
    precision: options.Precision = None,
    threads: options.Threads = None,
) -> None:
    """Print for each pair the natural log p of the translation, a tab, and the same divided by its length in pieces.

    The end of a sentence counts as a piece.
    """
    with friendly("there is nothing to go on from"):
        from dragoman.api.line_pairs import pairs_of

        pairs = pairs_of(source, target)
        translator = options.open_translator(
            [bundle, *(others or ())], engine=engine, precision=precision, threads=threads
        )
        for some in pairs:
            sources, targets = zip(*some, strict=True)
            for scored in translator.score(sources, targets):
                line = f"{scored.log_prob:.6f}\t{scored.score:.6f}"
                typer.echo(json_.dumps(scored.to_json(), ensure_ascii=False) if json else line)
