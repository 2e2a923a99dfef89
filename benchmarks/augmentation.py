"""A small Transformer trained on Multi30k en→de with and without `[data.augment]`, and how sturdy each is.

Both have the settings and the number of updates of `MODEL`, and are trained with the commands of a user; a finished
training in the folder `--work` is not repeated, and an interrupted one is resumed. An epoch with changed pairs has
more tokens, so the augmented model sees each pair less often. Scores are those of `dragoman evaluate --probes` on
test_2016_flickr.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from benchmarks.quality.data import data_settings, read
from benchmarks.reporting import evaluated, heading, parser, write
from benchmarks.user_commands import train_once
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.config.search import SearchSettings
from dragoman.evaluation.markdown import evaluation_markdown

TEST = "test_2016_flickr"
BEAM = 5
MODEL = """\
extends = "pairs-30k"
[model]
dim = 128
dropout = 0.2
feedforward = 512
[training]
learning_rate = 3e-3
schedule = "cosine"
warmup_updates = 300
batch_tokens = 2500
ema_decay = 0.998
validate_every = 500
checkpoint_every = 100
"""


def train(options: argparse.Namespace) -> dict[str, Path]:
    """Train the chosen models unless their trainings are finished; return runs by name."""
    config = MODEL + data_settings(options.corpus)
    settings = [f"training.max_updates={options.updates}", f"training.seed={options.seed}"]
    more = {"plain": "", "augmented": "[data.augment]\n"}
    return {name: train_once(options.work / name, config + more[name], settings) for name in options.names}


def report(options: argparse.Namespace, runs: Mapping[str, Path]) -> None:
    """Evaluate the models and write the page."""
    sources, references = (read(options.corpus / f"{TEST}.{side}.gz") for side in ("en", "de"))
    command = f"python -m benchmarks.augmentation --updates {options.updates} --seed {options.seed}"
    found = evaluate_systems(
        [System(name, (run,)) for name, run in runs.items()],
        sources,
        references,
        EvaluationSettings(metrics=("bleu", "chrf"), probes=True),
        search=SearchSettings(beam=BEAM),
        engine=EngineSettings(engine="torch", threads=options.threads),
        name=TEST,
        command=command,
    )
    text = heading("Sturdier with changed pairs", command, options.threads) + f"\n{__doc__ or ''}\n{options.note}\n\n"
    write("augmentation", text + evaluation_markdown(found), evaluated(found, options.work))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--names", nargs="+", choices=["plain", "augmented"], default=["plain", "augmented"])
    options.add_argument("--updates", type=int, default=3000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--work", type=Path, required=True, help="where trainings are kept")
    options.add_argument("--train-only", action="store_true", help="train the models of --names; write no page")
    options.add_argument("--note", default="", help="what else the page should say")
    chosen = options.parse_args()
    runs = train(chosen)
    if not chosen.train_only:
        report(chosen, runs)


if __name__ == "__main__":
    main()
