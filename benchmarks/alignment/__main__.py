"""Word alignment by attention, beside a statistical aligner that learnt from the same text.

`train` trains a model in one direction, or goes on where it was stopped; `report` measures what is trained on the
hand-aligned sentences, and writes the page. The text is that of 160,000 pairs of Europarl and of the hand-aligned
sentences, in small letters, words and punctuation apart; models learn from pairs of up to 25 words, eflomal from all.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.alignment.corpus import PAIRS
from benchmarks.alignment.eflomal import eflomal_errors, eflomal_links, gold_of
from benchmarks.alignment.training import DIRECTIONS, NAMES, bundle_of, corpus_of, train
from benchmarks.reporting import heading, parser, table, write
from dragoman.api.aligning import AlignSettings, WordMap, best_choice, maps_of_both
from dragoman.api.attention import AttentionChoice
from dragoman.api.translator import Translator
from dragoman.evaluation.alignment_error import AlignmentError, Gold, alignment_error
from dragoman.evaluation.links import Links

GOALS = {"de-en": (0.30, 0.180), "en-fr": (0.15, 0.061)}
"""The least that one model should reach, and what eflomal reaches on text of much the same kind."""

_TOGETHER = ("intersection", "union", "grow-diag", "grow-diag-final", "product")


class Sentences:
    """The hand-aligned sentences of a pair, in halves: maps are chosen on one, and measured on the other."""

    def __init__(self, folder: Path, pair: str) -> None:
        sides = (
            (folder / pair / f"gold.{side}").read_text(encoding="utf-8").splitlines() for side in PAIRS[pair].sides
        )
        self.sources, self.targets = sides
        self.gold = gold_of(folder, pair)
        self.halves = (slice(0, None, 2), slice(1, None, 2))


def chosen_map(translator: Translator, sources: Sequence[str], targets: Sequence[str], gold: list[Gold]) -> Any:
    """The map with the least error on some sentences, the end of the source left aside."""
    settings = AlignSettings(by_spaces=True, ignore_end=True)
    return best_choice(translator, sources, targets, gold, settings)[0].choice


def links_by_halves(forward: Translator, backward: Translator | None, sentences: Sentences) -> Iterator[dict[str, Any]]:
    """For each half: the maps that were chosen on the other one, and what they give here."""
    for here, other in (sentences.halves, sentences.halves[::-1]):
        known = sentences.sources[other], sentences.targets[other], sentences.gold[other]
        choice = chosen_map(forward, *known)
        back = None
        if backward is not None:
            back = chosen_map(backward, known[1], known[0], [gold.swapped() for gold in known[2]])
        settings = AlignSettings(choice, back, by_spaces=True, ignore_end=True)
        maps = maps_of_both(forward, backward, sentences.sources[here], sentences.targets[here], settings)
        yield {"here": here, "choice": choice, "backward": back, "maps": maps}


def measured(links: list[tuple[slice, list[Links]]], sentences: Sentences) -> AlignmentError:
    found = [each for _, some in links for each in some]
    return alignment_error(found, [gold for here, _ in links for gold in sentences.gold[here]])


def model_errors(forward: Translator, backward: Translator | None, sentences: Sentences) -> dict[str, Any]:
    """Errors of the usual map, of the map that is chosen, and of what both directions make."""
    usual = AlignSettings(by_spaces=True)
    plain = [
        ahead.links(usual) for ahead, _ in maps_of_both(forward, None, sentences.sources, sentences.targets, usual)
    ]
    found: dict[str, Any] = {"usual map": alignment_error(plain, sentences.gold).to_json()}
    halves = list(links_by_halves(forward, backward, sentences))
    found["choices"] = [_named(half["choice"]) for half in halves]

    def together(way: str | None) -> dict[str, float | int]:
        settings = AlignSettings(by_spaces=True, ignore_end=True, symmetrization=way or "product")  # type: ignore[arg-type]

        def links(ahead: WordMap, back: WordMap | None) -> Links:
            return ahead.links_with(back if way else None, settings)

        return measured(
            [(half["here"], [links(*each) for each in half["maps"]]) for half in halves], sentences
        ).to_json()

    found["chosen map"] = together(None)
    if backward is not None:
        found |= {way: together(way) for way in _TOGETHER}
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


def report(options: argparse.Namespace) -> None:
    figures = {pair: measure(pair, options.output, options.data, options.threads) for pair in PAIRS}
    text = heading("Word alignment", "python -m benchmarks.alignment report", options.threads) + f"\n{__doc__ or ''}\n"
    text += (
        "AER is 0 at best and 1 at worst. *Usual map*: what `dragoman align` takes. *Chosen map*: the layer, head and "
        "reading that are best on one half of the sentences, measured on the other half, both halves in turn, and the "
        "end of the source left aside; the rows below it put it together with a model of the other direction. "
        f"{options.note}\n"
    )
    for pair, found in figures.items():
        floor, goal = GOALS[pair]
        best = min(
            (error["aer"], f"{name}, {way}")
            for name, ways in found.items()
            if name != "eflomal"
            for way, error in ways.items()
            if way != "choices"
        )
        text += f"\n## {pair}\n\n" + table(
            ["aligner", "links", "AER", "precision", "recall", "F1", "links found"], list(rows(found))
        )
        text += (
            f"\nThe least error of a model: **{best[0]:.3f}** ({best[1]}); to be reached {floor}, the goal {goal}.\n"
        )
        for name, ways in found.items():
            if "choices" in ways:
                text += f"- {name}: {'; '.join(ways['choices'])}\n"
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
