"""What ``dragoman align --gold`` prints: errors of links, and which map of a model has the least."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import get_args

import typer

from dragoman.api.aligning import (
    AlignSettings,
    RankedChoice,
    Symmetrization,
    Tell,
    align,
    best_choice,
    maps_of_both,
)
from dragoman.api.attention import AttentionChoice
from dragoman.api.translator import Translator
from dragoman.cli.console import print_json, print_table
from dragoman.cli.progress import ScreenProgress
from dragoman.evaluation.alignment_error import AlignmentError, Gold, alignment_error
from dragoman.evaluation.symmetrization import swapped

__all__ = ["Against", "print_errors", "print_ranking"]

_FIGURES = ("AER", "precision", "recall", "F1")
_SHOWN = 20  # of a ranking


@dataclass(frozen=True)
class Against:
    """Pairs whose links are drawn by hand, and who shall find them."""

    forward: Translator
    backward: Translator | None
    sources: Sequence[str]
    targets: Sequence[str]
    gold: Sequence[Gold]
    settings: AlignSettings

    @contextmanager
    def progress(self, rounds: int) -> Iterator[Tell]:
        """Shows on stderr how far it is; every pair is aligned so many times."""
        total, done = rounds * max(1, len(self.sources)), 0
        with ScreenProgress(unit="pair") as screen:
            screen.begin("aligning", share=0.0, pairs=0)

            def tell(pairs: int) -> None:
                nonlocal done
                done += pairs
                screen.advance(done / total, done // rounds)

            yield tell


def print_errors(against: Against, *, every: bool, json: bool) -> None:
    """Print the errors of each direction, and of what both make: of `every` way to do it, or of one."""
    settings, gold = against.settings, against.gold
    with against.progress(1 if against.backward is None else 2) as tell:
        maps = maps_of_both(against.forward, against.backward, against.sources, against.targets, settings, tell=tell)
    errors = {"forward": alignment_error([ahead.links(settings) for ahead, _ in maps], gold)}
    if against.backward is not None:
        back = [swapped(other.links(settings)) for _, other in maps if other is not None]
        errors["backward"] = alignment_error(back, gold)
        for name in _ways(settings) if every else [settings.symmetrization]:
            way = replace(settings, symmetrization=name)
            errors[name] = alignment_error([ahead.links_with(other, way) for ahead, other in maps], gold)
    if json:
        print_json({name: error.to_json() for name, error in errors.items()})
    else:
        _print_figures(["links"], [([name], error) for name, error in errors.items()])


def print_ranking(against: Against, *, json: bool) -> None:
    """Print every map by its error; with two translators those of each, and what the best of both make together."""
    with against.progress(1 if against.backward is None else 4) as tell:
        ranks = {
            "forward": best_choice(
                against.forward, against.sources, against.targets, against.gold, against.settings, tell=tell
            )
        }
        together = None
        if against.backward is not None:
            turned = [each.swapped() for each in against.gold]
            ranks["backward"] = best_choice(
                against.backward, against.targets, against.sources, turned, against.settings, tell=tell
            )
            together = _together(against, ranks["forward"][0].choice, ranks["backward"][0].choice, tell)
    if json:
        value: dict[str, object] = {name: [each.to_json() for each in ranked] for name, ranked in ranks.items()}
        print_json(value if together is None else value | {"both": together.to_json()})
        return
    for name, ranked in ranks.items():
        _print_rank(ranked, name if len(ranks) > 1 else "")
    if together is not None:
        _print_figures(["best of both"], [([against.settings.symmetrization], together)])


def _ways(settings: AlignSettings) -> list[Symmetrization]:
    ways: tuple[Symmetrization, ...] = get_args(Symmetrization)
    return [way for way in ways if way != "product" or settings.extraction == "argmax"]


def _together(against: Against, forward: AttentionChoice, backward: AttentionChoice, tell: Tell) -> AlignmentError:
    settings = replace(against.settings, choice=forward, backward_choice=backward)
    links = align(against.forward, against.backward, against.sources, against.targets, settings, tell=tell)
    return alignment_error(links, against.gold)


def _print_rank(ranked: Sequence[RankedChoice], title: str) -> None:
    if title:
        typer.echo(title)
    rows = [([str(each.choice.layer), _head(each.choice), each.choice.reading], each.error) for each in ranked[:_SHOWN]]
    _print_figures(["layer", "head", "reading"], rows)
    if title:
        typer.echo()
    best = ranked[0].choice
    option = "--backward-" if title == "backward" else "--"
    chosen = {"layer": best.layer, "head": _head(best), "reading": best.reading}
    more = f"; {len(ranked) - _SHOWN} more maps with --json" if len(ranked) > _SHOWN else ""
    typer.echo("best  " + " ".join(f"{option}{name} {value}" for name, value in chosen.items()) + more, err=True)


def _head(choice: AttentionChoice) -> str:
    return "mean" if choice.head is None else str(choice.head)


def _print_figures(names: Sequence[str], rows: Sequence[tuple[Sequence[str], AlignmentError]]) -> None:
    lines = [[*names, *_FIGURES]]
    for cells, error in rows:
        lines.append([*cells, *(f"{value:.3f}" for value in (error.aer, error.precision, error.recall, error.f1))])
    print_table(lines, right=frozenset(range(len(names), len(names) + len(_FIGURES))))
