"""Multi30k en→de, trained for real by `dragoman train`: one recurrent model and one Transformer.

`train` prepares the corpus and trains a model, or resumes its training; `report` translates the tests with a beam of 5
and writes the page: scores on raw text with sacreBLEU's signatures, curves, settings, cards. With `--seeds` `train`
trains a model with each of them, and `seeds` compares the two over seeds, on test_2016_flickr. `ablation` trains and
reports models with parts of the recipe changed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.quality.ablation import ROWS, ablation
from benchmarks.quality.data import BEAM, HERE, data_settings, read
from benchmarks.reporting import RESULTS, evaluated, heading, parser, table, write
from benchmarks.user_commands import log_entries
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.evaluation.markdown import evaluation_markdown
from dragoman.evaluation.metrics.corpus_scores import bleu, chrf
from dragoman.evaluation.results import Score

NAMES = ("rnn", "transformer")
GOALS = {"rnn": 35.0, "transformer": 38.0}
TESTS = ("val", "test_2016_flickr", "test_2017_flickr")


def folder_of(output: Path, name: str, seed: int) -> Path:
    """Where a model is trained; that of the first seed has no number."""
    return output / (name if seed == 1 else f"{name}-{seed}")


def train(name: str, seed: int, corpus: Path, output: Path) -> None:
    """The commands a user would type."""
    folder = folder_of(output, name, seed)
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "dragoman.toml"
    config.write_text((HERE / f"{name}.toml").read_text(encoding="utf-8") + data_settings(corpus), encoding="utf-8")
    for command in ("prepare", "train"):
        options = ["--resume", "--set", f"training.seed={seed}"] if command == "train" else []
        subprocess.run([sys.executable, "-m", "dragoman", command, str(config), *options], check=True)


def scores(bundle: Bundle, corpus: Path, threads: int) -> dict[str, tuple[Score, Score]]:
    translator = Translator.open(bundle, engine="torch", threads=threads, search=SearchSettings(beam=BEAM))
    found = {}
    for test in TESTS:
        references = read(corpus / f"{test}.de.gz")
        hypotheses = [each.text for each in translator.translate(read(corpus / f"{test}.en.gz"), split_sentences=False)]
        found[test] = (bleu(hypotheses, references), chrf(hypotheses, references))
    return found


def draw(runs: dict[str, Path]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    for (name, run), colour in zip(runs.items(), ("#c0392b", "#2c3e8f"), strict=False):
        updates, validations = list(log_entries(run, "update")), list(log_entries(run, "validation"))
        seen, tokens = [], 0
        for entry in updates:
            tokens += entry["tokens"]
            seen.append(tokens / 1e6)
        places = dict(zip((entry["update"] for entry in updates), seen, strict=True))
        at = [places[entry["update"]] for entry in validations]
        left.plot(seen, [entry["loss"] for entry in updates], color=colour, alpha=0.35, linewidth=1)
        left.plot(at, [entry["loss"] for entry in validations], color=colour, label=name)
        right.plot(at, [entry["scores"]["bleu"] for entry in validations], color=colour, label=name)
    left.set_ylabel("loss a target token (pale: training)")
    right.set_ylabel("BLEU of the validation set, greedy")
    for axis in (left, right):
        axis.set_xlabel("million target tokens")
        axis.grid(alpha=0.3)
        axis.legend()
    left.set_ylim(0.8, 6)
    figure.tight_layout()
    figure.savefig(RESULTS / "quality.png", dpi=110)


def report(options: argparse.Namespace) -> None:
    runs = {name: options.work / name / "run" for name in options.names}
    rows, figures, cards = [], {}, ""
    for name, run in runs.items():
        bundle = Bundle.open(run / "bundle", trusted=True)
        facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
        found = scores(bundle, options.corpus, options.threads)
        figures[name] = {
            test: {score.metric: {"value": score.value, "signature": score.signature} for score in pair}
            for test, pair in found.items()
        }
        figures[name]["run"] = {key: facts[key] for key in ("parameters", "update", "seconds", "best", "machine")}
        cells = [f"**{pair[0].value:.2f}** / {pair[1].value:.1f}" for pair in found.values()]
        minutes = facts["seconds"] / 60
        rows.append(
            [
                name,
                f"{facts['parameters'] / 1e6:.1f} M",
                f"{facts['update']:,}",
                f"{minutes:.0f}",
                *cells,
                f"{GOALS[name]:.0f}",
            ]
        )
        cards += (
            f"\n## {name}: settings and card\n\n```toml\n{(HERE / f'{name}.toml').read_text(encoding='utf-8')}```\n\n"
        )
        cards += bundle.card().replace("\n## ", "\n### ").replace("# A translator", "### A translator", 1)
    command = "python -m benchmarks.quality report"
    text = heading("Multi30k en→de, trained here", command, options.threads) + f"\n{__doc__ or ''}\n"
    text += (
        f"BLEU / chrF2 on raw text, beam {BEAM}, mean log-probability; one seed. Minutes are those of training by the "
    )
    text += f"clock. {options.note}\n\n"
    header = ["model", "parameters", "updates", "minutes", *TESTS, "goal (test_2016)"]
    text += table(header, rows) + "\n"
    first = next(iter(figures.values()))["test_2016_flickr"]
    text += "".join(f"- {score['signature']}\n" for score in first.values())
    text += f"\n![curves](quality.png)\n{cards}"
    draw(runs)
    write("quality", text, figures)


def seeds(options: argparse.Namespace) -> None:
    """Both models over their seeds, as evaluated by `dragoman evaluate`."""
    systems = [
        System(name, tuple(folder_of(options.work, name, seed) / "run" for seed in options.seeds))
        for name in options.names
    ]
    sources, references = (read(options.corpus / f"test_2016_flickr.{side}.gz") for side in ("en", "de"))
    found = evaluate_systems(
        systems,
        sources,
        references,
        search=SearchSettings(beam=BEAM),
        engine=EngineSettings(engine="torch", threads=options.threads),
        name="test_2016_flickr",
        command="python -m benchmarks.quality seeds --seeds " + " ".join(map(str, options.seeds)),
    )
    text = (
        heading("Multi30k en→de over seeds", found.command, options.threads) + f"\n{__doc__ or ''}\n{options.note}\n\n"
    )
    write("seeds", text + evaluation_markdown(found), evaluated(found, options.work))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", choices=["train", "report", "seeds", "ablation"])
    options.add_argument("--seeds", nargs="+", type=int, default=[1])
    options.add_argument("--names", nargs="+", choices=NAMES, default=list(NAMES))
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument(
        "--output", "--work", dest="work", type=Path, default=Path("quality-runs"), help="folder of runs"
    )
    options.add_argument("--note", default="", help="what else the page should say of how they were trained")
    options.add_argument("--rows", nargs="+", choices=tuple(ROWS), default=list(ROWS), help="ablation: these rows only")
    options.add_argument("--updates", type=int, help="ablation: updates of every training; those of the model's file")
    options.add_argument("--report-only", action="store_true", help="ablation: write the page, train nothing")
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    if chosen.what == "train":
        for seed in chosen.seeds:
            for name in chosen.names:
                train(name, seed, chosen.corpus, chosen.work)
    elif chosen.what == "ablation":
        ablation(chosen)
    elif chosen.what == "seeds":
        seeds(chosen)
    else:
        report(chosen)


if __name__ == "__main__":
    main()
