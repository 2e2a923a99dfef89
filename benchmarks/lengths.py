"""BLEU by source length: no attention, Luong's attention, and a Transformer, trained on the same text.

The models are those of `python -m benchmarks.alignment train`. They translate the test set of Europarl (de-en, lower
case, tokenized) greedily. They were trained on pairs of up to 25 words: longer sentences show how a model generalizes
beyond the training lengths.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.alignment.corpus import LONGEST
from benchmarks.alignment.training import bundle_of, corpus_of
from benchmarks.reporting import RESULTS, evaluated, heading, parser, table, write
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.evaluation.results import LengthBin, MemberResult

DIRECTION = "de-en"
NAMES = {"plain": "no attention", "luong": "Luong, global", "transformer": "Transformer"}


def place_of(words: int, bins: Sequence[LengthBin]) -> float:
    """Position of sentence lengths on an axis with one step per bin."""
    for place, each in enumerate(bins):
        if each.high is None or words <= each.high:
            size = 1 if each.high is None else each.high + 1 - each.low
            return place - 0.5 + min(max(0, words + 1 - each.low) / size, 1)
    return len(bins) - 0.5


def cell(bin_: LengthBin) -> str:
    bleu, *_ = bin_.scores
    return f"{bleu.value:.1f}" + ("" if bleu.interval is None else f" ± {bleu.interval.half_width:.1f}")


def draw(members: dict[str, MemberResult]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 3.8))
    for (name, member), colour in zip(members.items(), ("#7a7a7a", "#c0392b", "#2c3e8f"), strict=True):
        places = range(len(member.by_length))
        values = [each.scores[0].value for each in member.by_length]
        halves = [each.scores[0].interval.half_width if each.scores[0].interval else 0 for each in member.by_length]
        axis.errorbar(places, values, yerr=halves, color=colour, marker="o", capsize=3, label=NAMES[name])
    bins = next(iter(members.values())).by_length
    axis.set_xticks(range(len(bins)), [f"{each.label}\n({each.sentences})" for each in bins])
    axis.axvline(place_of(LONGEST, bins), color="black", linestyle=":", label=f"learnt from up to {LONGEST} words")
    axis.set_xlabel("words of the source (sentences)")
    axis.set_ylabel("BLEU, with 95 % intervals")
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)
    axis.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "lengths.png", dpi=110)


def report(options: argparse.Namespace) -> None:
    corpus = corpus_of(options.output, DIRECTION, options.data)
    source, target = ((corpus / f"test.{side}").read_text(encoding="utf-8").splitlines() for side in ("de", "en"))
    systems = [System(name, (bundle_of(options.output, DIRECTION, name),)) for name in NAMES]
    found = evaluate_systems(
        systems,
        source[: options.sentences],
        target[: options.sentences],
        search=SearchSettings(beam=1),
        engine=EngineSettings(engine="torch", threads=options.threads),
        flags=True,
        name=f"Europarl test, the first {options.sentences:,} pairs",
        command="python -m benchmarks.lengths",
    )
    members = {system.name: system.members[0] for system in found.systems}
    draw(members)
    text = heading("BLEU by length", found.command, options.threads) + f"\n{__doc__ or ''}\n"
    bins = next(iter(members.values())).by_length
    rows = [
        [each.label, f"{each.sentences:,}", *(cell(member.by_length[place]) for member in members.values())]
        for place, each in enumerate(bins)
    ]
    rows.append(
        ["all", f"{found.test_set.sentences:,}", *(f"{member.scores[0].value:.1f}" for member in members.values())]
    )
    text += table(["words of the source", "sentences", *NAMES.values()], rows)
    text += f"\n{members['plain'].scores[0].signature}. {options.note}\n\n![BLEU by length](lengths.png)\n"
    write("lengths", text, evaluated(found, options.output))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sentences", type=int, default=3000, help="of the test set")
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--output", type=Path, default=Path("alignment-runs"), help="that of benchmarks.alignment")
    options.add_argument("--note", default="", help="what else the page should say of how they were trained")
    report(options.parse_args())


if __name__ == "__main__":
    main()
