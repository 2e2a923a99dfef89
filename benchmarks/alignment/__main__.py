"""Word alignment by attention, beside a statistical aligner that learnt from the same text.

`train` trains a model in one direction, or goes on where it was stopped; `report` measures what is trained on the
hand-aligned sentences, and writes the page. The text is that of 160,000 pairs of Europarl and of the hand-aligned
sentences, in small letters, words and punctuation apart; models learn from pairs of up to 25 words, eflomal from all.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.alignment.corpus import PAIRS
from benchmarks.alignment.eflomal import eflomal_errors, eflomal_links, gold_of
from benchmarks.alignment.training import DIRECTIONS, NAMES, bundle_of, corpus_of, train
from benchmarks.reporting import heading, parser, table, write
from dragoman.api.aligning import AlignSettings, Symmetrization, WordMap, best_choice, maps_of_both
from dragoman.api.attention import AttentionChoice
from dragoman.api.translator import Translator
from dragoman.evaluation.alignment_error import AlignmentError, Gold, Links, alignment_error

GOALS = {"de-en": (0.30, 0.180), "en-fr": (0.15, 0.061)}
"""The least that one model should reach, and what eflomal reaches on text of much the same kind."""

_TOGETHER: tuple[Symmetrization, ...] = ("intersection", "union", "grow-diag", "grow-diag-final", "product")


Maps = list[tuple[WordMap, WordMap | None]]


class Sentences:
    """The hand-aligned sentences of a pair, in halves: maps and ways are chosen on one, and measured on the other."""

    def __init__(self, folder: Path, pair: str) -> None:
        sides = (
            (folder / pair / f"gold.{side}").read_text(encoding="utf-8").splitlines() for side in PAIRS[pair].sides
        )
        self.sources, self.targets = sides
        self.gold = gold_of(folder, pair)
        self.halves = (slice(0, None, 2), slice(1, None, 2))


def chosen_map(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], gold: Sequence[Gold]
) -> AttentionChoice:
    """The map with the least error on some sentences, the end of the source left aside."""
    settings = AlignSettings(by_spaces=True, ignore_end=True)
    return best_choice(translator, sources, targets, gold, settings)[0].choice


@dataclass(frozen=True)
class Half:
    """One half of the sentences: what was chosen on the other one, and the maps that this gives here.

    `way` is how two directions are put together, None where there is one.
    """

    here: slice
    choice: AttentionChoice
    way: Symmetrization | None
    maps: Maps


def chosen_on_halves(forward: Translator, backward: Translator | None, sentences: Sentences) -> Iterator[Half]:
    """For each half, all that is chosen on the other one: maps, and the way to put them together."""
    for here, other in (sentences.halves, sentences.halves[::-1]):
        sources, targets, gold = sentences.sources[other], sentences.targets[other], sentences.gold[other]
        choice = chosen_map(forward, sources, targets, gold)
        back = None
        if backward is not None:
            back = chosen_map(backward, targets, sources, [each.swapped() for each in gold])
        settings = AlignSettings(choice, back, by_spaces=True, ignore_end=True)
        way = None
        if backward is not None:
            way = best_way(maps_of_both(forward, backward, sources, targets, settings), gold)
        maps = maps_of_both(forward, backward, sentences.sources[here], sentences.targets[here], settings)
        yield Half(here, choice, way, maps)


def best_way(maps: Maps, gold: Sequence[Gold]) -> Symmetrization:
    """The way to put two directions together that has the least error on some sentences; the first of equals."""
    return min(_TOGETHER, key=lambda way: alignment_error(links_of(maps, way), gold).aer)


def links_of(maps: Maps, way: Symmetrization | None) -> list[Links]:
    """The links of two directions, or without a way those of the first alone."""
    settings = AlignSettings(by_spaces=True, ignore_end=True, symmetrization=way or "union")
    return [ahead.links_with(back if way else None, settings) for ahead, back in maps]


def measured(halves: Sequence[Half], ways: Sequence[Symmetrization | None], gold: Sequence[Gold]) -> AlignmentError:
    """The error over both halves, each with its own way."""
    found = [links for half, way in zip(halves, ways, strict=True) for links in links_of(half.maps, way)]
    return alignment_error(found, [each for half in halves for each in gold[half.here]])


def model_errors(forward: Translator, backward: Translator | None, sentences: Sentences) -> dict[str, Any]:
    """Errors of the usual map, of the map that is chosen, and of what both directions make."""
    usual = AlignSettings(by_spaces=True)
    plain = [
        ahead.links(usual) for ahead, _ in maps_of_both(forward, None, sentences.sources, sentences.targets, usual)
    ]
    found: dict[str, Any] = {"usual map": alignment_error(plain, sentences.gold).to_json()}
    halves = list(chosen_on_halves(forward, backward, sentences))
    found["choices"] = [_named(half.choice) + (f"; {half.way}" if half.way else "") for half in halves]
    found["chosen map"] = measured(halves, [None, None], sentences.gold).to_json()
    if backward is not None:
        found["chosen way"] = measured(halves, [half.way for half in halves], sentences.gold).to_json()
        found |= {way: measured(halves, [way, way], sentences.gold).to_json() for way in _TOGETHER}
    return found


def _named(choice: AttentionChoice) -> str:
    head = "mean of heads" if choice.head is None else f"head {choice.head}"
    return f"layer {choice.layer}, {head}, {choice.reading}"


def measure(pair: str, output: Path, data: Path, threads: int) -> dict[str, Any]:
    corpus_of(output, pair, data)
    sentences = Sentences(output / "corpus", pair)
    other = "-".join(reversed(pair.split("-")))
    figures: dict[str, Any] = {}
    for name in NAMES:
        bundles = [bundle_of(output, direction, name) for direction in (pair, other)]
        if name == "plain" or not bundles[0].is_dir():
            continue
        opened = [
            Translator.open(bundle, engine="torch", threads=threads) if bundle.is_dir() else None for bundle in bundles
        ]
        assert opened[0] is not None
        figures[name] = model_errors(opened[0], opened[1], sentences)
    found = eflomal_links(output / "corpus", pair, keep=output / "eflomal")
    figures["eflomal"] = {way: error.to_json() for way, error in eflomal_errors(found, sentences.gold).items()}
    return figures


def rows(figures: dict[str, Any]) -> Iterator[list[str]]:
    for name, ways in figures.items():
        for way, error in ways.items():
            if way != "choices":
                yield [
                    name,
                    way,
                    f"**{error['aer']:.3f}**",
                    *(f"{error[key]:.3f}" for key in ("precision", "recall", "f1")),
                    f"{error['found']:,}",
                ]


def headline(figures: dict[str, Any], pair: str) -> str:
    """What each model reaches where nothing was chosen on the sentences that it is measured on."""
    least, goal = GOALS[pair]
    reached = {
        name: ways.get("chosen way", ways["chosen map"])["aer"] for name, ways in figures.items() if name != "eflomal"
    }
    if not reached:
        return "No model is trained yet."
    models = ", ".join(f"{name} **{aer:.3f}**" for name, aer in reached.items())
    best = min(reached, key=lambda name: reached[name])
    picked = f" The best of these {len(reached)}, picked afterwards, is {best}." if len(reached) > 1 else ""
    return (
        f"AER with map and way both chosen on the other half: {models}; to be reached {least}, the goal {goal}.{picked}"
    )


def report(options: argparse.Namespace) -> None:
    """Measure every model that is trained, and write the page."""
    figures = {pair: measure(pair, options.output, options.data, options.threads) for pair in PAIRS}
    text = heading("Word alignment", "python -m benchmarks.alignment report", options.threads) + f"\n{__doc__ or ''}\n"
    text += (
        "AER is 0 at best and 1 at worst. *Usual map*: what `dragoman align` takes. *Chosen map*: the layer, head and "
        "reading that are best on one half of the sentences, measured on the other half, both halves in turn, and the "
        "end of the source left aside. *Chosen way*: it and that of a model of the other direction, put together in "
        "the way that is best on the half where the maps were chosen; the rows below it are the ways one by one, and "
        f"the least of them would be chosen on what it is measured on. {options.note}\n"
    )
    for pair, found in figures.items():
        header = ["aligner", "links", "AER", "precision", "recall", "F1", "links found"]
        text += f"\n## {pair}\n\n{table(header, list(rows(found)))}\n{headline(found, pair)}\n\n"
        for name, ways in found.items():
            if "choices" in ways:
                text += f"- {name}, chosen for each half: {' / '.join(ways['choices'])}\n"
    write("alignment", text, figures)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", choices=["train", "report"])
    options.add_argument("--names", nargs="+", choices=NAMES, default=list(NAMES))
    options.add_argument("--directions", nargs="+", choices=list(DIRECTIONS), default=list(DIRECTIONS))
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--output", type=Path, default=Path("alignment-runs"), help="where text and runs are kept")
    options.add_argument("--note", default="", help="what else the page should say of how they were trained")
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    if chosen.what == "report":
        report(chosen)
        return
    for direction in chosen.directions:
        for name in chosen.names:
            train(name, direction, chosen.output, chosen.data)


if __name__ == "__main__":
    main()
