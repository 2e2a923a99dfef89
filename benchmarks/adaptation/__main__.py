"""Adapt Firefox's en→pt student to messages of a compiler: all weights or LoRA, with and without rehearsal.

MODEL is the folder of the student, as Firefox downloads it. MESSAGES is a TSV file of messages in English and
Portuguese, gzip. Messages that resemble each other are in one set: training, validation or test. MONOLINGUAL are
English files for rehearsal: there are no general pairs, so the student itself translates them. TESTS is the folder of
the general test set: `flores-test.en.gz`, `flores-test.pt.gz`.

Every training has one thread. Translations are greedy, in float32, with the whole vocabulary, on ONNX Runtime. What is
finished is kept in WORK: an interrupted command continues. Updates, dropout, rates and share were set by judgement
after three shorter trials, one of them scored; they were not searched.
"""

from __future__ import annotations

import gzip
import json
import re
import resource
import subprocess
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.adaptation.split import SIMILARITY, split
from benchmarks.reporting import heading, parser, table, write
from dragoman import Bundle, Translator
from dragoman.api.translation.markup import translate_markup
from dragoman.config import Config, LoraConfig, StartConfig, TrainingConfig, parse_config, to_toml
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.evaluation.significance import paired_tests
from dragoman.importing.import_model import import_model
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tagged_text import TaggedText

METRICS = ("bleu", "chrf")
BASE = "the student"
SHARE = 0.3
LORA = LoraConfig(rank=16, alpha=32.0)
RATES = {"full": 2e-4, "lora": 1e-3}
VALIDATIONS = 3
RUNS = {
    "full": "all weights",
    "full-rehearsal": "all weights, rehearsal",
    "lora": "LoRA",
    "lora-rehearsal": "LoRA, rehearsal",
    "full-rehearsal-extend": "all weights, rehearsal, new characters",
}
_PLACEHOLDER = re.compile(r"\{\d+\}")


def read(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def once(path: Path, make: Callable[[], list[str]]) -> list[str]:
    """The lines of a file, which is written if it does not exist."""
    if not path.exists():
        write_lines(path, make())
    return path.read_text("utf-8").splitlines()


def translate(bundle: Path, lines: Sequence[str], precision: Any = "float32") -> list[str]:
    """Greedy translations with the whole vocabulary."""
    translator = Translator.open(bundle, engine="onnx", precision=precision, threads=1, shortlist=False)
    return [found.text for found in translator.translate(list(lines), beam=1)]


def with_protection(bundle: Path, lines: Sequence[str]) -> list[str]:
    """Translations of the server and of documents: placeholders that a model changes are put back."""
    translator = Translator.open(bundle, engine="onnx", precision="float32", threads=1, shortlist=False)
    marked = [TaggedText(line, (), find_placeholders(line)) for line in lines]
    return [found.text for found in translate_markup(translator, marked).texts]


def prepare_files(given: Namespace) -> dict[str, int]:
    """Import the student, write the sets, and translate the monolingual text; what exists is kept."""
    work = given.work
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "base").exists():
        import_model(given.model, work / "base", languages=("en", "pt"))
    pairs = [(source, target) for source, target in (line.split("\t") for line in read(given.messages))]
    sets = split(pairs, test=given.test_lines, validation=given.validation_lines)
    for name, rows in sets.items():
        for side, language in enumerate(("en", "pt")):
            write_lines(work / f"{name}.{language}", [pairs[row][side] for row in rows])
    if not (work / "rehearsal.pt").exists():
        lines = [line for path in given.monolingual for line in read(path) if 3 <= len(line.split()) <= 40]
        step = max(1, len(lines) // given.rehearsal_lines)
        chosen = lines[::step][: given.rehearsal_lines]
        write_lines(work / "rehearsal.en", chosen)
        write_lines(work / "rehearsal.pt", translate(work / "base", chosen, "int8"))
    return {name: len(rows) for name, rows in sets.items()} | {
        "rehearsal": len((work / "rehearsal.en").read_text("utf-8").splitlines())
    }


def configuration(name: str, work: Path, updates: int) -> Config:
    """The configuration of a run."""
    method, *options = name.split("-")
    train: list[dict[str, Any]] = [{"files": ["train.en", "train.pt"]}]
    if "rehearsal" in options:
        train.append({"files": ["rehearsal.en", "rehearsal.pt"], "share": SHARE})
    cleaning = {"identical": False, "max_similarity": 1.0, "max_repeats": 0, "duplicates": [], "leakage": "keep"}
    data = {
        "source": "en",
        "target": "pt",
        "folder": "-".join(["prepared", *options]),
        "train": train,
        "validation": {"files": ["validation.en", "validation.pt"]},
        "cleaning": cleaning | {"min_letters": 0.0, "min_script": 0.0, "max_ratio": 10.0},
    }
    base = Bundle.open(work / "base")
    training = TrainingConfig(
        learning_rate=RATES[method],
        warmup_updates=10,
        schedule="cosine",
        max_updates=updates,
        batch_tokens=1024,
        label_smoothing=0.1,
        validate_every=max(1, updates // VALIDATIONS),
        checkpoint_every=updates,
        validation_sentences=0,
        threads=1,
        lora=LORA if method == "lora" else None,
    )
    table_of = {
        "model": base.config.model.model_dump(),
        "tokenizer": base.config.tokenizer.model_dump(),
    }
    table_of |= {
        "data": data,
        "start": StartConfig(bundle="base", vocabulary="extend" if "extend" in options else "same").model_dump(),
        "training": training.model_dump(exclude_none=True),
    }
    return parse_config(table_of)


def train(name: str, work: Path, updates: int) -> None:
    """Prepare and train in processes of their own, and store minutes and the number of trained parameters."""
    if (work / f"{name}.json").exists():
        return
    path = work / f"{name}.toml"
    path.write_text(to_toml(configuration(name, work, updates)), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "dragoman", "prepare", str(path)], check=True, stdout=sys.stderr)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = ["train", str(path), "--output", str(work / name), "--resume"]
    subprocess.run([sys.executable, "-m", "dragoman", *command], check=True, stdout=sys.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    record = json.loads((work / name / "run.json").read_text("utf-8"))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    facts = {
        "cpu": cpu,
        "seconds": time.monotonic() - start,
        "updates": record["update"],
        "best": record["best"]["update"],
    }
    facts |= {"parameters": record["parameters"], "trainable": record["trainable_parameters"]}
    (work / f"{name}.json").write_text(json.dumps(facts), encoding="utf-8")


def kept_placeholders(sources: Sequence[str], hypotheses: Sequence[str]) -> tuple[int, int]:
    """Placeholders of the sources that occur in the translations as often, and all of them."""
    kept = total = 0
    for source, hypothesis in zip(sources, hypotheses, strict=True):
        wanted, found = (Counter(_PLACEHOLDER.findall(text)) for text in (source, hypothesis))
        kept += (wanted & found).total()
        total += wanted.total()
    return kept, total


def evaluate(given: Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Scores of the student and of every run on both test sets."""
    work = given.work
    tests = {
        "messages": [(work / f"test.{side}").read_text("utf-8").splitlines() for side in ("en", "pt")],
        "FLORES devtest": [read(given.tests / f"flores-test.{side}.gz") for side in ("en", "pt")],
    }
    figures: dict[str, Any] = {}
    outputs: dict[tuple[str, str], list[str]] = {}
    for name in ("base", *names):
        bundle = work / "base" if name == "base" else work / name / "bundle"
        figures[name] = {} if name == "base" else json.loads((work / f"{name}.json").read_text("utf-8"))
        for test, (sources, references) in tests.items():
            saved = work / f"output-{name}-{test.partition(' ')[0]}.pt"
            found = outputs[name, test] = once(saved, partial(translate, bundle, sources))
            scores = corpus_scores(found, references, metrics=METRICS, language="pt", resamples=1000)
            (tested,) = paired_tests(outputs["base", test], [found], references, metrics=METRICS, language="pt")
            figures[name][test] = {
                score.metric: {
                    "value": score.value,
                    "interval": score.interval.half_width if score.interval else None,
                    "difference": change.difference,
                    "p": change.p_value,
                }
                for score, change in zip(scores, tested, strict=True)
            }
        kept, total = kept_placeholders(tests["messages"][0], outputs[name, "messages"])
        lines = once(work / f"output-{name}-protected.pt", partial(with_protection, bundle, tests["messages"][0]))
        protected, _ = kept_placeholders(tests["messages"][0], lines)
        figures[name]["placeholders"] = {"kept": kept, "protected": protected, "all": total}
    return figures


def cell(score: dict[str, Any], *, is_base: bool) -> str:
    mark = " *" if not is_base and score["p"] < 0.05 else ""
    return f"{score['value']:.1f} ± {score['interval']:.1f}{mark}"


def report(figures: dict[str, Any], sizes: dict[str, int]) -> None:
    header = ["", "messages: BLEU", "chrF++", "placeholders kept", "with protection", "FLORES devtest: BLEU", "chrF++"]
    header += ["trained parameters", "updates (best)", "CPU minutes"]
    rows = []
    for name, found in figures.items():
        is_base = name == "base"
        scores = {
            test: [cell(score, is_base=is_base) for score in found[test].values()]
            for test in ("messages", "FLORES devtest")
        }
        kept = found["placeholders"]
        cost = ["–", "–", "–"]
        if not is_base:
            cost = [
                f"{found['trainable'] / 1e6:.2f} M",
                f"{found['updates']} ({found['best']})",
                f"{found['cpu'] / 60:.1f}",
            ]
        shares = [f"{kept[way] / kept['all']:.1%}" for way in ("kept", "protected")]
        rows.append([BASE if is_base else RUNS[name], *scores["messages"], *shares, *scores["FLORES devtest"], *cost])
    kept = figures["base"]["placeholders"]["all"]
    text = heading("A student adapted to compiler messages", "python -m benchmarks.adaptation", 1)
    text += f"\n{(__doc__ or '').strip()}\n\n{table(header, rows)}"
    text += (
        f"\n± is half of a 95 % interval (bootstrap, 1,000 resamples); * differs from the student (paired bootstrap, "
        f"p < 0.05). Messages: {sizes['train']:,} for training, {sizes['validation']:,} for validation, "
        f"{sizes['test']:,} for the test, with {kept:,} placeholders such as {{0}}. The student has no tokens for "
        "braces; *with protection* is what the server and documents write: they put lost placeholders back. Two "
        "messages are in one set if, "
        f"without quoted code, they share {SIMILARITY:.0%} of their words in either language, directly or through "
        f"others. Rehearsal: {SHARE:.0%} of the pairs are drawn from {sizes['rehearsal']:,} English lines and the "
        f"student's own translations. LoRA: rank {LORA.rank}, alpha {LORA.alpha:g}, all matrices except embeddings and "
        f"output. Learning rates {RATES['full']:g} and {RATES['lora']:g} (LoRA), cosine. The weights are those of the "
        f"best of {VALIDATIONS} validations, by loss. CPU minutes are of training and validation. One run each: "
        "differences between the trained systems within their intervals may be chance.\n"
    )
    write("adaptation", text, {"sets": sizes, "systems": figures, "similarity": SIMILARITY, "share": SHARE})


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--model", type=Path, required=True)
    options.add_argument("--messages", type=Path, required=True)
    options.add_argument("--monolingual", type=Path, nargs="+", required=True)
    options.add_argument("--tests", type=Path, required=True)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--updates", type=int, default=48)
    options.add_argument("--test-lines", type=int, default=300)
    options.add_argument("--validation-lines", type=int, default=120)
    options.add_argument("--rehearsal-lines", type=int, default=4000)
    options.add_argument("--runs", nargs="*", choices=list(RUNS), default=list(RUNS))
    given = options.parse_args()
    sizes = prepare_files(given)
    for name in given.runs:
        train(name, given.work, given.updates)
        report(evaluate(given, [each for each in RUNS if (given.work / f"{each}.json").exists()]), sizes)


if __name__ == "__main__":
    main()
