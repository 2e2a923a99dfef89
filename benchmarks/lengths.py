"""BLEU by the length of the source: no attention, Luong's, and a Transformer, from the same text in the same updates.

`train` goes on from models of `python -m benchmarks.alignment train`, which know sentences of up to 25 words, with
sentences of up to 60 words; `report` translates the test set of Europarl (de-en, small letters, words and punctuation
apart) greedily and writes the page and the plot.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.alignment.training import HERE, bundle_of, corpus_of, data_section, run
from benchmarks.reporting import RESULTS, heading, parser, table, write
from dragoman.api.evaluating import evaluate
from dragoman.api.systems import System
from dragoman.evaluation.report import LengthScores, Member
from dragoman.inspection.plotting import import_matplotlib
from dragoman.search.settings import SearchSettings

DIRECTION = "de-en"
NAMES = {"plain": "no attention", "luong": "Luong, global", "transformer": "Transformer"}
LONGEST = 60
UPDATES = 500


def run_of(output: Path, name: str) -> Path:
    return output / "runs" / f"{DIRECTION}-{LONGEST}" / name / "run"


def train(name: str, output: Path, data: Path) -> None:
    corpus = corpus_of(output, DIRECTION, data)
    folder = run_of(output, name).parent
    folder.mkdir(parents=True, exist_ok=True)
    start = bundle_of(output, DIRECTION, name).resolve()
    text = (
        (HERE / f"{name}.toml").read_text(encoding="utf-8").replace("max_updates = 2_000", f"max_updates = {UPDATES}")
    )
    text = text.replace("warmup_updates = 200", "warmup_updates = 50")
    config = folder / "dragoman.toml"
    text += data_section(corpus, DIRECTION, LONGEST) + f'\n[start]\nbundle = "{start}"\n'
    config.write_text(text, encoding="utf-8")
    run(config)


def span(bin_: LengthScores) -> str:
    return f"{bin_.low}+" if bin_.high is None else f"{bin_.low}–{bin_.high}"


def cell(bin_: LengthScores) -> str:
    bleu, *_ = bin_.scores
    return f"{bleu.value:.1f}" + ("" if bleu.interval is None else f" ± {bleu.interval.half_width:.1f}")


def draw(members: dict[str, Member]) -> None:
    import_matplotlib().use("Agg")
    plots = import_matplotlib("matplotlib.pyplot")
    figure, axis = plots.subplots(figsize=(7, 3.8))
    for (name, member), colour in zip(members.items(), ("#7a7a7a", "#c0392b", "#2c3e8f"), strict=True):
        places = range(len(member.by_length))
        values = [each.scores[0].value for each in member.by_length]
        halves = [each.scores[0].interval.half_width if each.scores[0].interval else 0 for each in member.by_length]
        axis.errorbar(places, values, yerr=halves, color=colour, marker="o", capsize=3, label=NAMES[name])
    bins = next(iter(members.values())).by_length
    axis.set_xticks(range(len(bins)), [f"{span(each)}\n({each.sentences})" for each in bins])
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
    systems = [System(name, (run_of(options.output, name),)) for name in NAMES]
    found = evaluate(
        systems,
        source[: options.sentences],
        target[: options.sentences],
        settings=SearchSettings(beam=1),
        engine="torch",
        threads=options.threads,
        flags=True,
        name=f"Europarl test, the first {options.sentences:,} pairs",
        command="python -m benchmarks.lengths report",
    )
    members = {system.name: system.members[0] for system in found.systems}
    draw(members)
    text = heading("BLEU by length", found.command, options.threads) + f"\n{__doc__ or ''}\n"
    bins = next(iter(members.values())).by_length
    rows = [
        [span(each), f"{each.sentences:,}", *(cell(member.by_length[place]) for member in members.values())]
        for place, each in enumerate(bins)
    ]
    rows.append(["all", f"{found.sentences:,}", *(f"{member.scores[0].value:.1f}" for member in members.values())])
    text += table(["words of the source", "sentences", *NAMES.values()], rows)
    text += f"\n{members['plain'].scores[0].signature}. {options.note}\n\n![BLEU by length](lengths.png)\n"
    write("lengths", text, found.to_json())


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", choices=["train", "report"])
    options.add_argument("--names", nargs="+", choices=list(NAMES), default=list(NAMES))
    options.add_argument("--sentences", type=int, default=3000, help="of the test set")
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--output", type=Path, default=Path("alignment-runs"), help="where text and runs are kept")
    options.add_argument("--note", default="", help="what else the page should say of how they were trained")
    chosen = options.parse_args()
    if chosen.what == "report":
        report(chosen)
        return
    for name in chosen.names:
        train(name, chosen.output, chosen.data)


if __name__ == "__main__":
    main()
