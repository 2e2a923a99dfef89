"""One model for many directions compared with one model for each, over seeds.

`multi30k`: English, German, French and Czech, 29,000 lines each. `europarl`: English, German and French. All models
have the size and schedule of `MODEL`. For each seed: single models of the directions of `--singles`, with `--updates`
updates each; one model of all directions, with as many updates per direction; and a model of the directions from and to
English, with as many updates per direction, which translates between the other languages without having been trained to
(zero-shot), and through English. Trainings run one after the other, with the commands of a user; a finished training in
the folder `--work` is not repeated, and an interrupted one is resumed. Systems without a finished training have no
scores.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Final

from benchmarks.quality.data import read
from benchmarks.reporting import evaluated, heading, parser, table, write
from benchmarks.user_commands import progress_row, train_once
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.api.translation.translator import Translator
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.config.search import SearchSettings
from dragoman.evaluation.results import Evaluation, format_score

METRICS: Final = ("bleu", "chrf")
BEAM = 5
MODEL = """\
[tokenizer]
size = 8000
[model]
family = "transformer"
dim = 256
heads = 4
encoder_layers = 3
decoder_layers = 3
feedforward = 1024
norm = "pre"
tie = "all"
dropout = 0.2
[training]
learning_rate = 2e-3
beta2 = 0.98
schedule = "cosine"
warmup_updates = 400
label_smoothing = 0.1
ema_decay = 0.998
validate_every = 500
checkpoint_every = 50
validation_sentences = 0
"""


@dataclass(frozen=True)
class Corpus:
    """A corpus of the same lines in several languages: its name, and the names of its validation and test files."""

    name: str
    languages: tuple[str, ...]
    validation: str
    test: str

    @property
    def directions(self) -> tuple[tuple[str, str], ...]:
        return tuple(permutations(self.languages, 2))


CORPORA = {
    "multi30k": Corpus("Multi30k", ("en", "de", "fr", "cs"), "val", "test_2016_flickr"),
    "europarl": Corpus("Europarl", ("en", "de", "fr"), "dev", "test"),
}


@dataclass(frozen=True)
class Training:
    """A model to train: its system, its directions, and its corpora as groups of languages."""

    system: str
    directions: int
    groups: tuple[tuple[str, ...], ...]
    folder: str
    direction: tuple[str, str] | None = None


def trainings(options: argparse.Namespace) -> Iterator[tuple[int, Training]]:
    """Yield the models of every seed, in the order of their training."""
    corpus = CORPORA[options.what]
    around = tuple(("en", code) for code in corpus.languages if code != "en")
    for seed in options.seeds:
        count = len(corpus.directions)
        yield seed, Training("all directions", count, (corpus.languages,), "all")
        yield seed, Training("around English", 2 * len(around), around, "around-english")
        for single in options.singles:
            pair = tuple(single.split("-"))
            yield seed, Training("one direction", 1, (pair,), single, (pair[0], pair[1]))


def folder_of(options: argparse.Namespace, training: Training, seed: int) -> Path:
    """Return the folder of a training."""
    return Path(options.work / f"{options.what}-{training.folder}-{seed}")


def train(options: argparse.Namespace, training: Training, seed: int) -> None:
    """Train a model, or continue its training."""
    corpus, text = CORPORA[options.what], MODEL
    for languages in training.groups:
        files, validation = (
            [str((options.corpus / f"{split}.{code}.gz").resolve()) for code in languages]
            for split in ("train", corpus.validation)
        )
        is_both = training.directions > 1 and len(languages) == 2
        values = {"languages": list(languages), "files": files, "validation": validation}
        values |= {"both_directions": True} if is_both else {}
        text += "\n[[data.train]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
    settings = [f"training.max_updates={training.directions * options.updates}", f"training.seed={seed}"]
    settings += [f"training.batch_tokens={options.batch_tokens}"]
    settings += ["data.language_tokens=both"] if training.directions > 1 else []
    train_once(folder_of(options, training, seed), text, settings)


def pivoted(run: Path, sources: Sequence[str], direction: tuple[str, str]) -> Path:
    """Translate through English with one model, unless the file of translations exists; return the file."""
    path = run.parent / f"pivot-{'-'.join(direction)}.txt"
    if not path.exists():
        translator = Translator.open(run, threads=1, search=SearchSettings(beam=BEAM))
        between = translator.translate(list(sources), source=direction[0], target="en", split_sentences=False)
        texts = [each.text for each in between]
        found = translator.translate(texts, source="en", target=direction[1], split_sentences=False)
        path.write_text("".join(f"{each.text}\n" for each in found), encoding="utf-8")
    return path


def score_systems(
    systems: Mapping[str, Sequence[Path]],
    test: tuple[Sequence[str], Sequence[str]],
    languages: tuple[str, str],
    *,
    name: str,
    command: str,
) -> Evaluation:
    """Evaluate systems, given as their runs or translations by name, on the sources and references of a test set."""
    return evaluate_systems(
        [System(system, tuple(paths)) for system, paths in systems.items()],
        *test,
        EvaluationSettings(metrics=METRICS, languages=languages),
        search=SearchSettings(beam=BEAM),
        engine=EngineSettings(threads=1),
        name=name,
        command=command,
    )


def finished(options: argparse.Namespace, direction: tuple[str, str]) -> dict[str, list[Path]]:
    """Return the finished runs of every system that translates a direction, one per seed."""
    found: dict[str, list[Path]] = {}
    for seed, training in trainings(options):
        folder = folder_of(options, training, seed)
        if training.direction in (None, direction) and (folder / "finished").exists():
            found.setdefault(training.system, []).append(folder / "run")
    order = ("one direction", "all directions", "around English")
    return {name: found[name] for name in order if name in found}


def report(options: argparse.Namespace) -> None:
    """Write the page: how far every training is, and the scores of finished ones."""
    corpus = CORPORA[options.what]
    lines = {code: read(options.corpus / f"{corpus.test}.{code}.gz")[: options.sentences] for code in corpus.languages}
    command = f"python -m benchmarks.multilingual {options.what} --updates {options.updates}"
    command += f" --batch-tokens {options.batch_tokens} --sentences {options.sentences}"
    command += f" --seeds {' '.join(map(str, options.seeds))} --singles {' '.join(options.singles)}"
    found: dict[tuple[str, str], Evaluation] = {}
    for source, target in corpus.directions:
        systems = finished(options, (source, target))
        if "en" not in (source, target) and "around English" in systems:
            runs = systems["around English"]
            systems["through English"] = [pivoted(run, lines[source], (source, target)) for run in runs]
        if systems:
            name, test = f"{corpus.name}, {corpus.test}", (lines[source], lines[target])
            found[source, target] = score_systems(systems, test, (source, target), name=name, command=command)
    rows = [
        [training.folder, str(seed), *progress_row(folder_of(options, training, seed))]
        for seed, training in trainings(options)
    ]
    text = heading(f"Many languages: {corpus.name}", command, 1) + f"\n{__doc__ or ''}\n"
    text += f"{options.note}\n\n## How far each training is\n\n"
    text += table(["model", "seed", "updates", "minutes", "best validation"], rows)
    if found:
        text += (
            f"\n## Scores\n\n{score_table(found)}\n{options.sentences:,} sentences; beam {BEAM}. Intervals are over "
        )
        text += "seeds, or over sentences for one seed; an asterisk: differs from the first column with a score, p < "
        text += "0.05. Of around English, directions without English are zero-shot.\n"
    else:
        text += "\nNo training has finished, so nothing is scored.\n"
    data = {"-".join(pair): evaluated(each, options.work) for pair, each in found.items()}
    write(f"multilingual-{options.what}", text, data)


def score_table(found: Mapping[tuple[str, str], Evaluation]) -> str:
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
    options.add_argument("what", choices=[*CORPORA])
    options.add_argument("--updates", type=int, default=1500, help="per direction of a model")
    options.add_argument("--batch-tokens", type=int, default=2500)
    options.add_argument("--singles", nargs="+", default=["en-de", "de-en", "cs-de", "de-cs"], help="single models")
    options.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    options.add_argument("--sentences", type=int, default=1000, help="of the test set")
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"), help="folder of the corpus")
    options.add_argument("--work", type=Path, default=Path("multilingual-runs"), help="folder of the runs")
    options.add_argument("--report-only", action="store_true", help="write the page, train nothing")
    options.add_argument("--note", default="", help="what else the page should say")
    chosen = options.parse_args()
    if not chosen.report_only:
        for seed, training in trainings(chosen):
            train(chosen, training, seed)
    report(chosen)


if __name__ == "__main__":
    main()
