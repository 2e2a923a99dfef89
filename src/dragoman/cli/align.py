"""``dragoman align``: which word of a source the words of its translation come from."""

from __future__ import annotations

import typer

from dragoman.cli import search_options as options
from dragoman.cli.console import friendly
from dragoman.cli.score import Source, Target

__all__ = ["align"]


def align(
    bundle: options.BundlePath,
    source: Source,
    target: Target = None,
    engine: options.Engine = None,
    precision: options.Precision = None,
    threads: options.Threads = None,
) -> None:
    """Print for each pair the links between its words, source-target, counted from 0: 0-0 1-2 2-1."""
    with friendly("there is nothing to go on from"):
        from dragoman.api.line_pairs import pairs_of
        from dragoman.api.translated_lines import pharaoh

        pairs = pairs_of(source, target)
        translator = options.open_translator([bundle], engine=engine, precision=precision, threads=threads)
        for some in pairs:
            sources, targets = zip(*some, strict=True)
            for links in translator.align(sources, targets):
                typer.echo(pharaoh(links))
