"""What each part of a training recipe gains on Multi30k en→de: parts taken out or added, over seeds, at equal updates.

The recipe is the configuration of the model (`rnn.toml`, `transformer.toml`) with R-Drop. Every other row changes one
part. Trainings run one after the other, the recipe first, with the commands of a user; a finished training in the
folder `--work` is not repeated, and an interrupted one is resumed. The row with the best mean BLEU of the validation
set is chosen; only that row and `plain` are translated for the test set: with beam search, with MBR decoding, and by an
ensemble of the seeds.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.quality.data import BEAM, HERE, data_settings, read
from benchmarks.reporting import evaluated, heading, table, write
from benchmarks.user_commands import progress_row, train_once
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.api.translation.translator import Translator
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.config.search import SearchSettings
from dragoman.evaluation.markdown import evaluation_markdown
from dragoman.evaluation.results import Evaluation

TEST = "test_2016_flickr"
GOALS = {"rnn": 39.5, "transformer": 41.0}
COMMON = ("training.max_epochs=0", "training.patience=0", "training.precision=fp32", "training.checkpoint_every=50")
R_DROP = "training.r_drop=5.0"
ROWS: Mapping[str, tuple[str, ...]] = {
    "recipe": (R_DROP,),
    "plain": (),  # the recipe without R-Drop: the models of the page quality.md
    "subword sampling": (R_DROP, "data.sampling.subword_temperature=5.0"),
    "no averaging": (R_DROP, "training.ema_decay=0.0"),
    "no label smoothing": (R_DROP, "training.label_smoothing=0.0"),
    "inverse square root": (R_DROP, "training.schedule=inverse-sqrt"),
    "dropout 0.2": (R_DROP, "model.dropout=0.2"),
}


def run_folder(work: Path, model: str, row: str, seed: int) -> Path:
    """Return the folder of a training."""
    return work / f"{model}-{row.replace(' ', '-')}-{seed}"


def train(options: argparse.Namespace, model: str, row: str, seed: int) -> None:
    """Train a model, or continue its training."""
    config = (HERE / f"{model}.toml").read_text(encoding="utf-8") + data_settings(options.corpus)
    settings = [*COMMON, *ROWS[row], f"training.seed={seed}"]
    if options.updates:
        settings.append(f"training.max_updates={options.updates}")
    train_once(run_folder(options.work, model, row, seed), config, settings)


def status_table(options: argparse.Namespace) -> str:
    """Return how far each training is, and its best validation score so far, of greedy translations."""
    rows = [
        [f"{model}, {row}", str(seed), *progress_row(run_folder(options.work, model, row, seed))]
        for model in options.names
        for row, seed in places(options)
    ]
    return table(["model", "seed", "updates", "minutes", "best validation"], rows)


def places(options: argparse.Namespace) -> list[tuple[str, int]]:
    """Return all rows of all seeds, in the order of their training."""
    return [(row, seed) for seed in options.seeds for row in options.rows]


def finished(options: argparse.Namespace, model: str) -> dict[str, tuple[Path, ...]]:
    """Return the runs of the rows with at least one finished training, by row."""
    runs = {
        row: tuple(
            folder / "run"
            for seed in options.seeds
            if ((folder := run_folder(options.work, model, row, seed)) / "finished").exists()
        )
        for row in options.rows
    }
    return {row: members for row, members in runs.items() if members}


def score(options: argparse.Namespace, systems: Mapping[str, Sequence[Path]], test: str, baseline: str) -> Evaluation:
    """Evaluate the members of systems, runs or files of translations, against a baseline."""
    sources, references = (read(options.corpus / f"{test}.{side}.gz") for side in ("en", "de"))
    return evaluate_systems(
        [System(name, tuple(members)) for name, members in systems.items()],
        sources,
        references,
        EvaluationSettings(metrics=("bleu", "chrf"), languages=("en", "de"), baseline=baseline),
        search=SearchSettings(beam=BEAM),
        engine=EngineSettings(engine="torch", threads=options.threads),
        name=test,
        command=options.command,
    )


def translated(options: argparse.Namespace, name: str, runs: Sequence[Path], search: SearchSettings) -> Path:
    """Translate the test set with one model or an ensemble, unless the file exists; return the file."""
    path = options.work / f"{name}.{TEST}.de"
    if not path.exists():
        translator = Translator.open(*runs, engine="torch", threads=options.threads, search=search)
        found = translator.translate(read(options.corpus / f"{TEST}.en.gz"), split_sentences=False)
        path.write_text("".join(f"{each.text}\n" for each in found), encoding="utf-8")
    return path


def report(options: argparse.Namespace) -> None:
    """Write the page: progress, validation scores of finished trainings, and test scores of the chosen row."""
    text = heading("Multi30k en→de: what each part gains", options.command, options.threads)
    text += f"\n{__doc__ or ''}\n{options.note}\n\n## How far each training is\n\n{status_table(options)}"
    figures: dict[str, Any] = {}
    for model in options.names:
        runs = finished(options, model)
        if not runs:
            text += (
                f"\n## {model}\n\nNo training of this model has finished, so nothing is chosen and nothing is scored.\n"
            )
            continue
        baseline = "plain" if "plain" in runs else next(iter(runs))
        validation = score(options, runs, "val", baseline)
        chosen = max(validation.systems, key=lambda system: mean(each.scores[0].value for each in system.members)).name
        systems: dict[str, Sequence[Path]] = {row: runs[row] for row in dict.fromkeys((baseline, chosen))}
        mbr = SearchSettings(search="mbr", seed=1)
        systems[f"{chosen}, MBR"] = [translated(options, f"{run.parent.name}-mbr", [run], mbr) for run in runs[chosen]]
        if len(runs[chosen]) > 1:
            name = f"{model}-{chosen.replace(' ', '-')}-ensemble-{len(runs[chosen])}"
            systems[f"{chosen}, ensemble"] = [translated(options, name, runs[chosen], SearchSettings(beam=BEAM))]
        test = score(options, systems, TEST, baseline)
        text += f"\n## {model}: validation set\n\n{evaluation_markdown(validation)}\nChosen: {chosen}.\n"
        text += f"\n## {model}: test set (goal {GOALS[model]})\n\n{evaluation_markdown(test)}"
        figures[model] = {each.name: evaluated(each, options.work) for each in (validation, test)}
    write("ablation", text, figures)


def ablation(options: argparse.Namespace) -> None:
    """Train what is not finished yet, unless only the page is wanted, and write the page."""
    words = [f"--names {' '.join(options.names)}", f"--seeds {' '.join(map(str, options.seeds))}"]
    words += [f"--rows {shlex.join(options.rows)}"] if list(options.rows) != list(ROWS) else []
    words += [f"--updates {options.updates}"] if options.updates else []
    options.command = " ".join(["python -m benchmarks.quality ablation", *words])
    if not options.report_only:
        for row, seed in places(options):
            for model in options.names:
                train(options, model, row, seed)
    report(options)
