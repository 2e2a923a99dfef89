"""``dragoman align``: which word of a source the words of its translation come from."""

from __future__ import annotations

import json as json_
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dragoman.cli import align_options as of
from dragoman.cli import search_options as options
from dragoman.cli.console import friendly
from dragoman.cli.score import Json, Source, Target, scored_pairs
from dragoman.errors import ConfigError, DataError

if TYPE_CHECKING:
    from dragoman.api.aligning import AlignSettings
    from dragoman.api.line_pairs import Pairs
    from dragoman.api.translator import Translator

__all__ = ["align"]


def align(  # noqa: PLR0913 -- an option each
    bundle: options.BundlePath,
    source: Source,
    target: Target = None,
    *,
    others: options.Others = None,
    json: Json = False,
    layer: of.Layer = None,
    head: of.Head = None,
    reading: of.Read = None,
    backward_layer: of.BackwardLayer = None,
    backward_head: of.BackwardHead = None,
    backward_reading: of.BackwardRead = None,
    extract: of.Extract = None,
    threshold: of.Threshold = None,
    ignore_end: of.IgnoreEnd = False,
    words: of.Words = None,
    backward: of.Backward = None,
    symmetrize: of.Symmetrize = None,
    format_: of.Format = None,
    gold: of.GoldFile = None,
    gold_format: of.GoldFormat = None,
    gold_from: of.GoldFrom = None,
    find_best: of.FindBest = False,
    engine: options.Engine = None,
    precision: options.Precision = None,
    threads: options.Threads = None,
) -> None:
    """Print for each pair the links between its words, source-target, counted from 0: 0-0 1-2 2-1.

    With --gold print their alignment error rate, precision, recall and F1 against links drawn by hand instead.
    """
    given: dict[str, Any] = {"layer": layer, "head": head, "reading": reading, "ignore_end": ignore_end, "words": words}
    given |= {"backward_layer": backward_layer, "backward_head": backward_head, "backward_reading": backward_reading}
    given |= {"backward": backward, "with": others or None, "engine": engine}
    given |= {"extract": extract, "threshold": threshold, "symmetrize": symmetrize, "format": format_}
    given |= {"gold": gold, "gold_format": gold_format, "gold_from": gold_from, "find_best": find_best}
    with friendly("there is nothing to go on from"):
        settings = of.align_settings(given) if of.is_any_given(given) else None
        if settings is not None and of.needs_torch(given, settings):
            engine = "torch"

        def opened(paths: Sequence[Path]) -> Translator:
            return options.open_translator(paths, engine=engine, precision=precision, threads=threads)

        from dragoman.api.line_pairs import pairs_of

        work = _Work(pairs_of(source, target), source, [bundle, *(others or ())], opened, json=json)
        if settings is None:
            work.print_usual()
        elif gold is None:
            work.print_links(backward, settings, naacl=format_ == "naacl")
        else:
            work.print_against(given, settings)


@dataclass(frozen=True)
class _Work:
    """Pairs, and who aligns them. Models are opened when all else that was typed is known to be right."""

    pairs: Iterator[Pairs]
    source: str
    bundles: Sequence[Path]
    opened: Callable[[Sequence[Path]], Translator]
    json: bool

    def print_usual(self) -> None:
        from dragoman.api.translated_lines import pharaoh

        for scored in scored_pairs(self.opened(self.bundles), self.pairs, self.source, alignments=True):
            if scored.alignment is None:
                raise ConfigError("a model must have attention to align words, got one without; use one that has")
            typer.echo(json_.dumps(scored.to_json(), ensure_ascii=False) if self.json else pharaoh(scored.alignment))

    def print_links(self, backward: Path | None, settings: AlignSettings, *, naacl: bool) -> None:
        from dragoman.api.aligning import maps_of_both
        from dragoman.evaluation.links import naacl_lines, pharaoh_line

        forward, back = self._both(backward)
        before = 0
        for some in self.pairs:
            sources, targets = [one for one, _ in some], [other for _, other in some]
            with self._named(before):
                maps = maps_of_both(forward, back, sources, targets, settings)
            for number, (ahead, behind) in enumerate(maps, before):
                links = ahead.links_with(behind, settings)
                if self.json:
                    words = {"source_words": ahead.source_words, "target_words": ahead.target_words}
                    typer.echo(json_.dumps(words | {"alignment": links}, ensure_ascii=False))
                    continue
                for line in naacl_lines(links, number) if naacl else [pharaoh_line(links)]:
                    typer.echo(line)
            before += len(some)

    def print_against(self, given: dict[str, Any], settings: AlignSettings) -> None:
        from dragoman.api.gold import read_gold
        from dragoman.cli.align_screen import Against, print_errors, print_ranking

        every = [pair for some in self.pairs for pair in some]
        sources, targets = [one for one, _ in every], [other for _, other in every]
        form, first = given["gold_format"], given["gold_from"]
        gold = read_gold(given["gold"], sources, targets, form=form, first=first, by_spaces=settings.by_spaces)
        against = Against(*self._both(given["backward"]), sources, targets, gold, settings)
        with self._named(0):
            if given["find_best"]:
                print_ranking(against, json=self.json)
            else:
                print_errors(against, every=given["symmetrize"] is None, json=self.json)

    def _both(self, backward: Path | None) -> tuple[Translator, Translator | None]:
        return self.opened(self.bundles), None if backward is None else self.opened([backward])

    @contextmanager
    def _named(self, before: int) -> Iterator[None]:
        """A pair that cannot be aligned is named by its line, and what was chosen wrongly as it was typed."""
        from dragoman.api.request import PairError

        try:
            with of.named_as_typed():
                yield
        except PairError as error:
            name = "standard input" if self.source == "-" else self.source
            raise DataError(f"{name}:{before + error.pair + 1}: {error.fault}") from None
