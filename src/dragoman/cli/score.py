"""``dragoman score``: how likely a translator finds translations that are there."""

from __future__ import annotations

import json as json_
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli import search_options as options
from dragoman.cli.console import friendly
from dragoman.errors import DataError

if TYPE_CHECKING:
    from dragoman.api.line_pairs import Pairs
    from dragoman.api.translation import Translation
    from dragoman.api.translator import Translator

__all__ = ["Json", "Source", "Target", "score", "scored_pairs"]

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
        for scored in scored_pairs(translator, pairs, source):
            line = f"{scored.log_prob:.6f}\t{scored.score:.6f}"
            typer.echo(json_.dumps(scored.to_json(), ensure_ascii=False) if json else line)


def scored_pairs(
    translator: Translator, pairs: Iterable[Pairs], source: str, *, alignments: bool = False
) -> Iterator[Translation]:
    """Every pair with its score; one that cannot be scored is named by its line."""
    from dragoman.api.request import PairError

    before = 0
    for some in pairs:
        sources, targets = zip(*some, strict=True)
        try:
            yield from translator.score(sources, targets, alignments=alignments)
        except PairError as error:
            name = "standard input" if source == "-" else source
            raise DataError(f"{name}:{before + error.pair + 1}: {error.fault}") from None
        before += len(some)
