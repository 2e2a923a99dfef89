"""Guided alignment: a Transformer with a head that learns word links, compared with the same Transformer without.

`train` trains both in one direction, or resumes them; `report` measures them on the hand-aligned sentences, together
with the statistical aligner that finds the links, and writes the page. The text is that of `benchmarks.alignment`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from benchmarks import markup
from benchmarks.alignment.__main__ import Sentences as GoldSentences
from benchmarks.alignment.training import DIRECTIONS, bundle_of, corpus_of, train
from benchmarks.reporting import RESULTS, heading, parser, table, write
from dragoman.api.translation.translator import Translator
from dragoman.api.translation.word_alignment import require_attention
from dragoman.config.alignment import AttentionChoice, AttentionReading
from dragoman.data.preparation.link_stage import StatisticalAligner
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.token_pairs import SIDES, Pairs, Sentences
from dragoman.evaluation.word_alignment import score_alignment
from dragoman.text import map_words

NAMES = ("unguided", "guided")
_READINGS: tuple[AttentionReading, ...] = get_args(AttentionReading)
_LEAST = (0.3, 0.4, 0.5)
_TAGGED = 250  # cases of hand-aligned sentences, as in benchmarks.markup


def aligner_errors(prepared: PreparedData, gold: GoldSentences, count: int) -> dict[str, Any]:
    """The errors of the statistical aligner after learning from a sample of the training pairs, and its CPU time."""
    tokenizers, shards = prepared.tokenizers(), prepared.shards()
    rows = np.unique(np.linspace(0, len(shards) - 1, min(count, len(shards))).astype(np.int64))
    began = time.process_time()
    aligner = StatisticalAligner(shards.gather(rows), (tokenizers["source"].size, tokenizers["target"].size))
    seconds = time.process_time() - began
    sides, words = [], []
    for side, texts in zip(SIDES, (gold.sources, gold.targets), strict=True):
        ids = [tokenizers[side].encode(text) for text in texts]
        sides.append(
            Sentences(np.array([token for each in ids for token in each]), np.array([len(each) for each in ids]))
        )
        words.append([map_words(tokenizers[side].tokens(text), by_spaces=True).word_of for text in texts])
    errors = {}
    for least in _LEAST:
        links = aligner.links(Pairs(*sides), least=least)
        found = [
            tuple(sorted({(one[a], other[b]) for a, b in zip(source.tolist(), target.tolist(), strict=True)}))
            for one, other, source, target in zip(*words, links.source.split(), links.target.split(), strict=True)
        ]
        errors[f"{least:g}"] = score_alignment(found, gold.gold).to_json()
    return {"pairs": len(rows), "cpu_seconds": seconds, "errors": errors}


def model_errors(bundle: Path, gold: GoldSentences, threads: int) -> dict[str, Any]:
    """The errors of every reading of the usual map, and of the head that can be guided."""
    translator = Translator.open(bundle, engine="torch", threads=threads)
    maps = translator.attention(gold.sources, gold.targets, likelihoods=True, lexical=True)
    layers = maps[0].layers
    choices = {f"usual map, {reading}": AttentionChoice(reading=reading) for reading in _READINGS}
    choices |= {f"layer {layers}, head 1, {reading}": AttentionChoice(layers, 1, reading) for reading in _READINGS}
    errors = {}
    for name, choice in choices.items():
        found = [require_attention(each.words(choice, by_spaces=True).links()) for each in maps]
        errors[name] = score_alignment(found, gold.gold).to_json()
    return errors


def measure(direction: str, options: argparse.Namespace) -> dict[str, Any]:
    """All figures of a direction."""
    corpus_of(options.output, direction, options.data)
    gold = GoldSentences(options.output / "corpus", DIRECTIONS[direction])
    links = options.data / "alignment-gold"
    prepared = PreparedData.open(options.output / "runs" / direction / "prepared")
    figures: dict[str, Any] = {
        "aligner": [aligner_errors(prepared, gold, count) for count in options.aligner_pairs],
        "tags": {"no model": markup.measure(direction, links, None, _TAGGED)},
    }
    for name in NAMES:
        bundle = bundle_of(options.output, direction, name)
        if bundle.is_dir():
            figures[name] = model_errors(bundle, gold, options.threads)
            translator = Translator.open(bundle, engine="torch", threads=options.threads)
            found = markup.measure(direction, links, translator, _TAGGED)
            figures["tags"][name] = {way: found[way] for way in markup.MODEL_WAYS}
    return figures


def error_rows(figures: dict[str, Any]) -> Iterator[list[str]]:
    for each in figures["aligner"]:
        for least, error in each["errors"].items():
            yield [
                f"aligner, {each['pairs']:,} pairs, {each['cpu_seconds']:.0f} CPU s",
                f"at least {least}",
                *_cells(error),
            ]
    for name in NAMES:
        for choice, error in figures.get(name, {}).items():
            yield [name, choice, *_cells(error)]


def _cells(error: dict[str, float]) -> list[str]:
    return [f"**{error['aer']:.3f}**", *(f"{error[key]:.3f}" for key in ("precision", "recall", "f1"))]


def tag_rows(figures: dict[str, Any]) -> Iterator[list[str]]:
    for name, ways in figures["tags"].items():
        for way, each in ways.items():
            shares = (f"{100 * each[key]:.1f} %" for key in ("precision", "recall", "on_words", "exact"))
            yield [name, way, str(each["tags"]), *shares]


def report(options: argparse.Namespace) -> None:
    """Measure what is trained, and write the page."""
    path = RESULTS / "guided-alignment.json"
    kept = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    kept |= {direction: measure(direction, options) for direction in options.directions}
    text = heading("Guided alignment", "python -m benchmarks.alignment.guided report", options.threads)
    text += f"\n{__doc__ or ''}\n{_EXPLANATION}\n{options.note}\n"
    for direction, figures in kept.items():
        text += f"\n## {direction}\n\n"
        text += table(["links of", "map, reading", "AER", "precision", "recall", "F1"], list(error_rows(figures)))
        header = ["links of", "method", "tags", "precision", "recall", "on their words", "exact"]
        text += "\n" + table(header, list(tag_rows(figures)))
    write("guided-alignment", text, kept)


_EXPLANATION = """AER is 0 at best and 1 at worst. *aligner*: links between tokens whose posterior probabilities of both
directions have at least this geometric mean, as links between words; it learned from a sample of the training pairs.
The models are read in one direction: each target word is linked to the source word with the most weight, or to none.
*usual map* with the reading `lexical` is what `dragoman align` takes. Nothing is chosen on these sentences except the
threshold of `dragoman prepare`, 0.4. *Tags* of the hand-aligned sentences, and their columns, are those of
[markup](markup.md)."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", choices=["train", "report"])
    options.add_argument("--names", nargs="+", choices=NAMES, default=list(NAMES))
    options.add_argument("--directions", nargs="+", choices=list(DIRECTIONS), default=["en-fr"])
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--output", type=Path, default=Path("alignment-runs"), help="where text and runs are kept")
    options.add_argument("--updates", type=int, help="of each training, if not those of its configuration")
    options.add_argument("--aligner-pairs", nargs="+", type=int, default=[15_000, 60_000])
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
