"""``dragoman align``: which word of a source the words of its translation come from."""

from __future__ import annotations

import json as json_

import typer

from dragoman.cli import search_options as options
from dragoman.cli.console import friendly
from dragoman.cli.score import Json, Source, Target, scored_pairs
from dragoman.errors import ConfigError

__all__ = ["align"]


def align(
    bundle: options.BundlePath,
    source: Source,
    target: Target = None,
    others: options.Others = None,
    json: Json = False,
    engine: options.Engine = None,
    precision: options.Precision = None,
    threads: options.Threads = None,
) -> None:
    """Print for each pair the links between its words, source-target, counted from 0: 0-0 1-2 2-1."""
    with friendly("there is nothing to go on from"):
        from dragoman.api.line_pairs import pairs_of
        from dragoman.api.translated_lines import pharaoh

        pairs = pairs_of(source, target)
        translator = options.open_translator(
            [bundle, *(others or ())], engine=engine, precision=precision, threads=threads
        )
        for scored in scored_pairs(translator, pairs, source, alignments=True):
            if scored.alignment is None:
                raise ConfigError("a model must have attention to align words, got one without; use one that has")
            typer.echo(json_.dumps(scored.to_json(), ensure_ascii=False) if json else pharaoh(scored.alignment))
