"""One model for several directions compared with one model for each, on Europarl (English, German, French).

All models have the size and schedule of `MODEL`. Models are trained with the commands of a user; a finished training in
the folder `--work` is not repeated, and an interrupted one is resumed.

`europarl`: one model of six directions, six models of one direction with a sixth of its updates each, and a model of
the four directions from and to English with four sixths of them, which translates German and French into each other
without having been trained to (zero-shot), and through English.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from benchmarks.quality.__main__ import read
from benchmarks.reporting import evaluated, heading, parser, table, write
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.api.translation.translator import Translator
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.config.search import SearchSettings
from dragoman.evaluation.results import Evaluation
from dragoman.evaluation.score_format import format_score

LANGUAGES = ("en", "de", "fr")
DIRECTIONS = tuple(permutations(LANGUAGES, 2))
METRICS = ("bleu", "chrf")
BEAM = 5
MODEL = """\
[tokenizer]
size = 8000
[model]
family = "transformer"
dim = 128
heads = 4
encoder_layers = 3
decoder_layers = 3
feedforward = 512
norm = "pre"
tie = "all"
dropout = 0.1
[training]
learning_rate = 4e-3
beta2 = 0.98
schedule = "cosine"
warmup_updates = 400
batch_tokens = 2048
label_smoothing = 0.1
ema_decay = 0.995
validate_every = 1500
checkpoint_every = 500
validation_sentences = 0
"""

Corpus = Mapping[str, Any]
"""Settings of `[[data.train]]`."""


def dragoman(*arguments: str | Path) -> None:
    """Run a command of a user."""
    subprocess.run([sys.executable, "-m", "dragoman", *map(str, arguments)], check=True)


def train(folder: Path, corpora: Sequence[Corpus], settings: Sequence[str], more: str = "") -> Path:
    """Train a model unless its training is finished, and return its run."""
    finished = folder / "finished"
    if finished.exists():
        return folder / "run"
    folder.mkdir(parents=True, exist_ok=True)
    text = MODEL + more
    for corpus in corpora:
        text += "\n[[data.train]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in corpus.items())
    config = folder / "dragoman.toml"
    config.write_text(text, encoding="utf-8")
    overrides = [word for setting in settings for word in ("--set", setting)]
    dragoman("prepare", config, *overrides)
    dragoman("train", config, "--resume", "--threads", "1", *overrides)
    finished.touch()
    return folder / "run"


def europarl_corpus(folder: Path, languages: Sequence[str], **more: Any) -> Corpus:
    """Return the training corpus and the validation set of some of the languages."""
    files, validation = (
        [str((folder / f"{split}.{code}.gz").resolve()) for code in languages] for split in ("train", "dev")
    )
    return {"languages": list(languages), "files": files, "validation": validation, **more}


def train_europarl(options: argparse.Namespace) -> dict[str, Path]:
    """Train all models, the single ones first; return runs by name."""
    runs = {}
    for source, target in DIRECTIONS:
        corpus = europarl_corpus(options.corpus, (source, target))
        settings = [f"training.max_updates={options.updates}"]
        runs[f"{source}-{target}"] = train(options.work / f"europarl-{source}-{target}", [corpus], settings)
    around = [europarl_corpus(options.corpus, ("en", code), both_directions=True) for code in ("de", "fr")]
    settings = [f"training.max_updates={4 * options.updates}", "data.language_tokens=both"]
    runs["around English"] = train(options.work / "europarl-around-english", around, settings)
    settings = [f"training.max_updates={6 * options.updates}", "data.language_tokens=both"]
    every = [europarl_corpus(options.corpus, LANGUAGES)]
    return runs | {"six directions": train(options.work / "europarl-six", every, settings)}


def pivoted(run: Path, sources: Sequence[str], direction: tuple[str, str], folder: Path) -> Path:
    """Translate through English with one model; return the file of translations."""
    path = folder / f"pivot-{'-'.join(direction)}.txt"
    translator = Translator.open(run, threads=1, search=SearchSettings(beam=BEAM))
    between = translator.translate(list(sources), source=direction[0], target="en", split_sentences=False)
    texts = [each.text for each in between]
    found = translator.translate(texts, source="en", target=direction[1], split_sentences=False)
    path.write_text("".join(f"{each.text}\n" for each in found), encoding="utf-8")
    return path


def europarl(options: argparse.Namespace) -> None:
    runs = train_europarl(options)
    lines = {code: read(options.corpus / f"test.{code}.gz")[: options.sentences] for code in LANGUAGES}
    command = f"python -m benchmarks.multilingual europarl --updates {options.updates} --sentences {options.sentences}"
    found: dict[tuple[str, str], Evaluation] = {}
    for source, target in DIRECTIONS:
        systems = {"one direction": runs[f"{source}-{target}"], "six directions": runs["six directions"]}
        systems["around English"] = runs["around English"]
        if "en" not in (source, target):
            systems["around English, through English"] = pivoted(
                runs["around English"], lines[source], (source, target), options.work
            )
        found[source, target] = evaluate_systems(
            [System(name, (path,)) for name, path in systems.items()],
            lines[source],
            lines[target],
            EvaluationSettings(metrics=METRICS, languages=(source, target)),
            search=SearchSettings(beam=BEAM),
            engine=EngineSettings(threads=1),
            name="Europarl, test",
            command=command,
        )
    text = heading("Many languages: Europarl", command, 1) + f"\n{__doc__ or ''}\n{europarl_table(found)}\n"
    text += (
        f"{options.sentences:,} sentences; beam {BEAM}; one seed. Intervals are over sentences. Single models: "
        f"{options.updates:,} updates each; around English: {4 * options.updates:,}; six directions: "
        f"{6 * options.updates:,}. De ↔ fr of the model around English is zero-shot."
    )
    text += f" {options.note}\n" if options.note else "\n"
    write(
        "multilingual-europarl",
        text,
        {"-".join(pair): evaluated(each, options.work) for pair, each in found.items()},
    )


def europarl_table(found: Mapping[tuple[str, str], Evaluation]) -> str:
    """Return the scores of every system in every direction."""
    names = list(dict.fromkeys(system.name for each in found.values() for system in each.systems))
    parts = []
    for metric in METRICS:
        rows = []
        for (source, target), evaluation in found.items():
            scored = {system.name: system for system in evaluation.systems}
            cells = []
            for name in names:
                score = scored[name].score("chrf++" if metric == "chrf" else metric) if name in scored else None
                cells.append("–" if score is None else format_score(score, scored[name].test(score.metric)))
            rows.append([f"{source} → {target}", *cells])
        parts.append(table([{"bleu": "BLEU", "chrf": "chrF++"}[metric], *names], rows))
    return "\n".join(parts)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", choices=["europarl"])
    options.add_argument("--updates", type=int, default=1500, help="of a model of one direction")
    options.add_argument("--sentences", type=int, default=1000, help="of the test set")
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/europarl"))
    options.add_argument("--work", type=Path, default=Path("multilingual-runs"), help="folder of the runs")
    options.add_argument("--note", default="", help="how the models were trained")
    europarl(options.parse_args())


if __name__ == "__main__":
    main()
