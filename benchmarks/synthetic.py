"""Synthetic corpora on Multi30k en→de: back-translation of held-out text, and distillation.

All models have the size and schedule of the Transformer in `claims/bases/transformer.toml`, except students. Models are
trained with the commands of a user; a finished training in the folder `--work` is not repeated.

`backtranslation`: every second pair is kept, and of the others only the German side. One model de→en, trained on the
kept pairs, translates that text; per seed, a model en→de is trained on the kept pairs, on these and the synthetic ones,
and on all pairs: the intervals do not contain what another model de→en would change. `distillation`: the models of all
pairs, as an ensemble, translate the English side of all pairs; students are trained on the real and on the distilled
pairs.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.quality.data import read
from benchmarks.reporting import evaluated, heading, parser, table, write
from benchmarks.ssru import BASE, ROUNDS, decoding_speed
from benchmarks.user_commands import dragoman, train_once
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.api.translation.translator import Translator
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.evaluation.markdown import evaluation_markdown
from dragoman.evaluation.metrics.corpus_scores import bleu, chrf
from dragoman.files import read_json

TEST = "test_2016_flickr"
BEAM = 5
TAG = "<BT>"
METHODS = {
    "tagged": ["--beam", str(BEAM), "--tag", TAG],
    "beam": ["--beam", str(BEAM)],
    "sampled": ["--sample"],
    "noised": ["--beam", str(BEAM), "--noise"],
}
"""Options of `dragoman backtranslate` by name."""
STUDENTS = {
    "two layers": ["model.encoder_layers=2", "model.decoder_layers=2"],
    "SSRU": ["model.decoder=ssru", "model.encoder_layers=3", "model.decoder_layers=2"],
}
STUDENT_UPDATES = 5400  # about the CPU time of one teacher
AVERAGED = 3  # newest checkpoints of a student
FASTEST = {"two layers": "ctranslate2", "SSRU": "onnx"}
CORPORA = ("real", "distilled")


def train(
    folder: Path,
    corpora: Iterable[Sequence[Path]],
    validation: Sequence[Path],
    languages: tuple[str, str],
    settings: Sequence[str],
) -> Path:
    """Train a model unless its training is finished, and return its run."""
    text = BASE.read_text(encoding="utf-8") + f'\n[data]\nsource = "{languages[0]}"\ntarget = "{languages[1]}"\n'
    for files in corpora:
        text += f"\n[[data.train]]\nfiles = {json.dumps([str(path.resolve()) for path in files])}\n"
    text += f"\n[data.validation]\nfiles = {json.dumps([str(path.resolve()) for path in validation])}\n"
    return train_once(folder, text, settings)


def make_corpus(
    command: str, model: Path, text: Path, output: Path, options: Sequence[str | Path]
) -> tuple[Path, Path]:
    """Run `dragoman backtranslate` or `dragoman distill` unless it is finished; return the files, English first."""
    if not (output / "record.json").exists():
        dragoman(command, model, text, "-o", output, "--threads", "1", "--resume", *options)
    return output / "synthetic.en", output / "synthetic.de"


def halves(corpus: Path, work: Path) -> tuple[tuple[Path, Path], Path]:
    """Write every second pair, and the German side of the others."""
    work.mkdir(parents=True, exist_ok=True)
    kept = (work / "half.en", work / "half.de")
    for side, path in zip(("en", "de"), kept, strict=True):
        lines = read(corpus / f"train.{side}.gz")
        path.write_text("".join(f"{line}\n" for line in lines[::2]), encoding="utf-8")
    monolingual = work / "monolingual.de"
    monolingual.write_text("".join(f"{line}\n" for line in read(corpus / "train.de.gz")[1::2]), encoding="utf-8")
    return kept, monolingual


def pair(corpus: Path, split: str) -> tuple[Path, Path]:
    return corpus / f"{split}.en.gz", corpus / f"{split}.de.gz"


def train_all(seed: int, corpus: Path, work: Path) -> Path:
    """Train a model with all pairs; both benchmarks use it."""
    settings = [f"training.seed={seed}"]
    return train(work / f"all-{seed}", [pair(corpus, "train")], pair(corpus, "val"), ("en", "de"), settings)


def train_backtranslation(seed: int, methods: Sequence[str], corpus: Path, work: Path) -> dict[str, Path]:
    """Train all models of a seed; return the runs en→de by name."""
    kept, monolingual = halves(corpus, work)
    validation, settings = pair(corpus, "val"), [f"training.seed={seed}"]
    reverse = train(work / "reverse", [kept[::-1]], validation[::-1], ("de", "en"), ["training.seed=1"])
    runs = {"half of the pairs": train(work / f"half-{seed}", [kept], validation, ("en", "de"), settings)}
    for method in methods:
        options = METHODS[method]
        made = make_corpus("backtranslate", reverse, monolingual, work / f"corpus-{method}", options)
        symbols = [f'tokenizer.symbols=["{TAG}"]'] if TAG in options else []
        symbols += ['tokenizer.symbols=["<BLANK>"]'] if "--noise" in options else []
        folder = work / f"{method}-{seed}"
        runs[f"half and back-translations, {method}"] = train(
            folder, [kept, made], validation, ("en", "de"), [*settings, *symbols]
        )
    return runs | {"all pairs": train_all(seed, corpus, work)}


def backtranslation(options: argparse.Namespace) -> None:
    systems: dict[str, list[Path]] = {}
    for seed in options.seeds:
        for name, run in train_backtranslation(seed, options.methods, options.corpus, options.work).items():
            systems.setdefault(name, []).append(run)
    sources, references = (read(path) for path in pair(options.corpus, TEST))
    command = f"python -m benchmarks.synthetic backtranslation --seeds {' '.join(map(str, options.seeds))}"
    command += f" --methods {' '.join(options.methods)}"
    found = evaluate_systems(
        [System(name, tuple(runs)) for name, runs in systems.items()],
        sources,
        references,
        search=SearchSettings(beam=BEAM),
        engine=EngineSettings(engine="torch", threads=options.threads),
        name=TEST,
        command=command,
    )
    kept = {
        method: read_json(options.work / f"corpus-{method}" / "record.json")["pairs"]  # type: ignore[index]
        for method in options.methods
    }
    listed = "".join(f"- {name}: {pairs['kept']:,} of {pairs['read']:,} lines\n" for name, pairs in kept.items())
    methods = "".join(f"- {name}: `dragoman backtranslate {' '.join(METHODS[name])}`\n" for name in options.methods)
    text = heading("Back-translation", command, options.threads) + f"\n{__doc__ or ''}\n{evaluation_markdown(found)}\n"
    text += f"Options:\n\n{methods}\nSynthetic pairs:\n\n{listed}" + (f"\n{options.note}\n" if options.note else "")
    write("backtranslation", text, {"evaluation": evaluated(found, options.work), "pairs": kept})


def averaged(run: Path) -> Path:
    """Average the newest checkpoints; return the bundle."""
    bundle = run.parent / "average"
    if not bundle.exists():
        dragoman("average", run, "-o", bundle, "--last", str(AVERAGED))
    return bundle


def train_students(
    teachers: Sequence[Path], names: Sequence[str], corpus: Path, work: Path
) -> dict[str, dict[str, Path]]:
    """Train each student on both corpora; return bundles by student and corpus.

    The validation loss, on real translations, does not choose the best model of distilled text.
    """
    source, target = pair(corpus, "train")
    ensemble = [word for run in teachers[1:] for word in ("--ensemble", run)]
    made = make_corpus("distill", teachers[0], source, work / "corpus-distilled", ["--beam", str(BEAM), *ensemble])
    files = {"real": (source, target), "distilled": made}
    return {
        name: {
            kind: averaged(
                train(
                    work / f"student-{name.replace(' ', '-').lower()}-{kind}",
                    [files[kind]],
                    pair(corpus, "val"),
                    ("en", "de"),
                    [*STUDENTS[name], f"training.max_updates={STUDENT_UPDATES}", "training.seed=1"],
                )
            )
            for kind in CORPORA
        }
        for name in names
    }


def distillation(options: argparse.Namespace) -> None:
    teachers = [train_all(seed, options.corpus, options.work) for seed in options.seeds]
    students = train_students(teachers, options.students, options.corpus, options.work)
    sources, references = (read(path) for path in pair(options.corpus, TEST))
    systems: dict[str, tuple[list[Path], str, int]] = {
        f"ensemble of {len(teachers)}": (teachers, "auto", BEAM),
        "teacher": (teachers[:1], "ctranslate2", BEAM),
        "teacher, greedy": (teachers[:1], "ctranslate2", 1),
    }
    for name, by_corpus in students.items():
        for kind, run in by_corpus.items():
            systems[f"{name}, {kind}"] = ([run], FASTEST[name], BEAM)
            systems[f"{name}, {kind}, greedy"] = ([run], FASTEST[name], 1)
    translators = {
        name: Translator.open(*runs, engine=engine, threads=options.threads, search=SearchSettings(beam=beam))  # type: ignore[arg-type]
        for name, (runs, engine, beam) in systems.items()
    }
    figures: dict[str, Any] = {"speed": decoding_speed(translators, sources)}
    for name, translator in translators.items():
        texts = [each.text for each in translator.translate(sources, split_sentences=False)]
        scores = {score.metric: score.value for score in (bleu(texts, references), chrf(texts, references))}
        parameters = sum(bundle.parameter_count() for bundle in translator.bundles)
        figures[name] = {"engine": translator.engine.name, "parameters": parameters, **scores}
    command = f"python -m benchmarks.synthetic distillation --seeds {' '.join(map(str, options.seeds))}"
    command += " --students " + " ".join(map(repr, options.students))
    text = heading("Distillation", command, options.threads) + student_page(figures, list(systems))
    write("distillation", text + (f"\n{options.note}\n" if options.note else ""), figures)


def student_page(figures: dict[str, Any], names: Sequence[str]) -> str:
    """Return the table: quality and speed of each system, and both as shares of the teacher's."""
    rows = []
    for name in names:
        found, speed = figures[name], figures["speed"][name]
        cells = [found["engine"], f"{found['parameters'] / 1e6:.2f} M", f"{found['bleu']:.1f}", f"{found['chrf']:.1f}"]
        cells += [f"{found['chrf'] / figures[teacher]['chrf']:.1%}" for teacher in (names[0], "teacher")]
        for size, rounds in speed.items():
            cells.append(f"{statistics.median(rounds):.1f}")
            for teacher in (names[0], "teacher"):
                slow = figures["speed"][teacher][size]
                cells.append(f"{statistics.median(a / b for a, b in zip(rounds, slow, strict=True)):.2f}")
        rows.append([name, *cells])
    header = ["model", "engine", "parameters", "BLEU", "chrF2", "of the ensemble's", "of the teacher's"]
    for size in next(iter(figures["speed"].values())):
        header += [f"{size} per call", "× ensemble", "× teacher"]
    return (
        f"\n{__doc__ or ''}\n{TEST}, beam {BEAM} or greedy search, one thread. *Teacher* is the first model of the "
        "ensemble. Speed: sentences per CPU second on the fastest engine of each model, the median of "
        f"{ROUNDS} interleaved rounds; × is the median ratio of the rounds. Students were trained with one seed for "
        f"{STUDENT_UPDATES:,} updates.\n\n{table(header, rows)}"
    )


def main() -> None:
    options = parser(__doc__)
    options.set_defaults(threads=1)
    options.add_argument("what", choices=["backtranslation", "distillation"])
    options.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    options.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=["tagged"])
    options.add_argument("--students", nargs="+", choices=tuple(STUDENTS), default=list(STUDENTS))
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--work", type=Path, default=Path("synthetic-runs"), help="folder of the runs")
    options.add_argument("--note", default="", help="how the models were trained")
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    {"backtranslation": backtranslation, "distillation": distillation}[given.what](given)


if __name__ == "__main__":
    main()
