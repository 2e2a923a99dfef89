"""Word alignment by attention, compared with a statistical aligner trained on the same text.

`train` trains a model in one direction, or resumes its training; `report` evaluates the trained models on the
hand-aligned sentences and writes the page. The text is 160,000 pairs of Europarl and the hand-aligned sentences, in
lower case, tokenized into words and punctuation; models learn from pairs of up to 25 words, eflomal from all.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, get_args

import torch

from benchmarks.alignment.corpus import PAIRS
from benchmarks.alignment.eflomal import eflomal_errors, eflomal_links, gold_of
from benchmarks.alignment.training import DIRECTIONS, NAMES, bundle_of, corpus_of, train
from benchmarks.reporting import RESULTS, heading, parser, table, write
from dragoman.api.alignment.word_attention import WordAttention, from_alignment
from dragoman.api.translation.attention import AttentionMaps, posterior
from dragoman.api.translation.translator import Translator
from dragoman.api.translation.word_alignment import require_attention, word_alignment
from dragoman.config.alignment import USUAL_MAP, AttentionChoice, AttentionReading, Symmetrization
from dragoman.evaluation.word_alignment import GoldLinks, Links, argmax_links, score_alignment

GOALS = {"de-en": (0.30, 0.180), "en-fr": (0.15, 0.061)}
"""The least that one model should reach, and what eflomal reaches on text of much the same kind."""

_TOGETHER: tuple[Symmetrization, ...] = ("intersection", "union", "grow-diag", "grow-diag-final", "product")
_READINGS: tuple[AttentionReading, ...] = get_args(AttentionReading)
POWERS = (1.0, 0.5, 0.3, 0.0)

Maps = dict[AttentionChoice, list[WordAttention]]
"""Every map of a model: for each choice those of all sentences."""


class Sentences:
    """The hand-aligned sentences of a pair, in halves: maps and ways are chosen on one, and measured on the other."""

    def __init__(self, folder: Path, pair: str) -> None:
        sides = (
            (folder / pair / f"gold.{side}").read_text(encoding="utf-8").splitlines() for side in PAIRS[pair].sides
        )
        self.sources, self.targets = sides
        self.gold = gold_of(folder, pair)
        self.halves = (slice(0, None, 2), slice(1, None, 2))


def maps_of(attentions: Sequence[AttentionMaps]) -> Maps:
    found: Maps = {}
    for attention in attentions:
        heads = [None, *range(1, attention.heads + 1)] if attention.heads > 1 else [None]
        for layer, head, reading in product(range(1, attention.layers + 1), heads, _READINGS):
            choice = AttentionChoice(layer, head, reading)
            found.setdefault(choice, []).append(from_alignment(attention.words(choice, by_spaces=True)))
    return found


def links_of(
    ahead: Sequence[WordAttention], back: Sequence[WordAttention] | None, way: Symmetrization | None
) -> list[Links]:
    """The links of two directions, or without a way those of the first alone; the end of the source is left aside."""
    one, other = ([replace(each, links=argmax_links(each.weights)) for each in maps] for maps in (ahead, back or ()))
    if not other or way is None:
        return [each.links for each in one]
    return [each.links_with(turned, way) for each, turned in zip(one, other, strict=True)]


def select_map(
    maps: Maps, gold: Sequence[GoldLinks], rows: slice, readings: Sequence[AttentionReading]
) -> AttentionChoice:
    """The map with the least error on some sentences; the first of equals."""
    return min(
        (choice for choice in maps if choice.reading in readings),
        key=lambda choice: score_alignment(links_of(maps[choice][rows], None, None), gold[rows]).aer,
    )


def best_way(
    ahead: Sequence[WordAttention], back: Sequence[WordAttention], gold: Sequence[GoldLinks]
) -> Symmetrization:
    """The way to put two directions together that has the least error on some sentences; the first of equals."""
    return min(_TOGETHER, key=lambda way: score_alignment(links_of(ahead, back, way), gold).aer)


def by_halves(sentences: Sentences, links: Callable[[slice, slice], list[Links]]) -> dict[str, float | int]:
    """The error over both halves; `links` are those of a half, with what is chosen on the other one."""
    here, other = sentences.halves
    found = links(here, other) + links(other, here)
    return score_alignment(found, [*sentences.gold[here], *sentences.gold[other]]).to_json()


def model_errors(forward: Maps, backward: Maps | None, sentences: Sentences) -> dict[str, Any]:
    """Errors of the best map of each reading, of the best of all, and of what both directions make."""
    gold, turned = sentences.gold, [each.swapped() for each in sentences.gold]

    def of(readings: Sequence[AttentionReading]) -> Callable[[slice, slice], list[Links]]:
        return lambda here, other: links_of(forward[select_map(forward, gold, other, readings)][here], None, None)

    found: dict[str, Any] = {reading: by_halves(sentences, of([reading])) for reading in _READINGS}
    found["chosen map"] = by_halves(sentences, of(_READINGS))
    chosen = [select_map(forward, gold, half, _READINGS) for half in sentences.halves]
    found["choices"] = [_named(each) for each in chosen]
    if backward is None:
        return found

    def both(way: Symmetrization | None) -> Callable[[slice, slice], list[Links]]:
        def links(here: slice, other: slice) -> list[Links]:
            ahead = forward[select_map(forward, gold, other, _READINGS)]
            back = backward[select_map(backward, turned, other, _READINGS)]
            return links_of(ahead[here], back[here], way or best_way(ahead[other], back[other], gold[other]))

        return links

    found["chosen way"] = by_halves(sentences, both(None))
    return found | {way: by_halves(sentences, both(way)) for way in _TOGETHER}


def power_errors(attentions: Sequence[AttentionMaps], gold: Sequence[GoldLinks]) -> dict[str, float]:
    """Errors of the `posterior` reading with other exponents, on all sentences, of the default layer."""
    found = {}
    for power in POWERS:
        links = []
        for each in attentions:
            known = posterior(each.tokens(), each.likelihoods, power)
            words = word_alignment(each.source_tokens, each.target_tokens, known, by_spaces=True)
            links.append(argmax_links(require_attention(words.between_words())))
        found[f"{power:g}"] = score_alignment(links, gold).aer
    return found


def usual_error(attentions: Sequence[AttentionMaps], gold: Sequence[GoldLinks]) -> dict[str, float | int]:
    """The error of what `dragoman align` gives without options."""
    return score_alignment(
        [require_attention(each.words(USUAL_MAP, by_spaces=True).links()) for each in attentions], gold
    ).to_json()


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
        sides = ((sentences.sources, sentences.targets), (sentences.targets, sentences.sources))
        shown = [
            Translator.open(bundle, engine="torch", threads=threads).attention(*texts, likelihoods=True, lexical=True)
            for bundle, texts in zip(bundles, sides, strict=True)
            if bundle.is_dir()
        ]
        backward = maps_of(shown[1]) if len(shown) > 1 else None
        figures[name] = {
            "usual map": usual_error(shown[0], sentences.gold),
            **model_errors(maps_of(shown[0]), backward, sentences),
            "powers": power_errors(shown[0], sentences.gold),
        }
    found = eflomal_links(output / "corpus", pair, keep=output / "eflomal")
    figures["eflomal"] = {way: error.to_json() for way, error in eflomal_errors(found, sentences.gold).items()}
    return figures


def rows(figures: dict[str, Any]) -> Iterator[list[str]]:
    for name, ways in figures.items():
        for way, error in ways.items():
            if way not in ("choices", "powers"):
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
    kept = {} if set(options.pairs) == set(PAIRS) else json.loads((RESULTS / "alignment.json").read_text("utf-8"))
    figures = {
        pair: measure(pair, options.output, options.data, options.threads) if pair in options.pairs else kept[pair]
        for pair in PAIRS
    }
    text = heading("Word alignment", "python -m benchmarks.alignment report", options.threads) + f"\n{__doc__ or ''}\n"
    text += (
        "AER is 0 at best and 1 at worst. *Usual map*: what `dragoman align` takes. *predicted*, *input*, *posterior*: "
        "the layer and head that are best in this reading on one half of the sentences, measured on the other half, "
        "both halves in turn, and the end of the source left aside; *chosen map*: of all readings. *Chosen way*: it "
        "and that of a model of the other direction, put together in "
        "the way that is best on the half where the maps were chosen; the rows below it are the ways one by one, and "
        f"the least of them would be chosen on what it is measured on. {options.note}\n"
    )
    for pair, found in figures.items():
        header = ["aligner", "links", "AER", "precision", "recall", "F1", "links found"]
        text += f"\n## {pair}\n\n{table(header, list(rows(found)))}\n{headline(found, pair)}\n\n"
        for name, ways in found.items():
            if "choices" in ways:
                powers = ", ".join(f"{power} {aer:.3f}" for power, aer in ways["powers"].items())
                text += f"- {name}: chosen on each half {' / '.join(ways['choices'])}; AER of the reading posterior by "
                text += f"the power of the look (all sentences, usual layer): {powers}\n"
    write("alignment", text, figures)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", choices=["train", "report"])
    options.add_argument("--names", nargs="+", choices=NAMES, default=list(NAMES))
    options.add_argument("--directions", nargs="+", choices=list(DIRECTIONS), default=list(DIRECTIONS))
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--output", type=Path, default=Path("alignment-runs"), help="where text and runs are kept")
    options.add_argument("--pairs", nargs="+", choices=list(PAIRS), default=list(PAIRS), help="to measure anew")
    options.add_argument("--updates", type=int, help="of each training, if not those of its configuration")
    options.add_argument("--note", default="", help="what else the page should say of how they were trained")
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    if chosen.what == "report":
        report(chosen)
        return
    for direction in chosen.directions:
        for name in chosen.names:
            train(name, direction, chosen.output, chosen.data, chosen.updates)


if __name__ == "__main__":
    main()
