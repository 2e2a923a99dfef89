"""One model for several directions compared with one model for each, in English, German and French.

All models have the size and schedule of `MODEL`. Models are trained with the commands of a user; a finished training in
the folder `--work` is not repeated, and an interrupted one is resumed.

`europarl` and `multi30k`, with sentences that exist in all three languages: one model of six directions, six models of
one direction with a sixth of its updates each, and a model of the four directions from and to English with four sixths
of them, which translates German and French into each other without having been trained to (zero-shot), and through
English.

`chinese`: Chinese to English from few pairs of 3AM: alone; as a child of a model trained on English and German of
Multi30k in both directions; and in one model with English, German and French of Multi30k, as many updates as parent and
child together. Test pairs with a side in the training corpora are left out. The parent is trained with one seed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any, Final

from benchmarks.quality.data import read
from benchmarks.reporting import evaluated, heading, parser, table, write
from benchmarks.user_commands import train_once
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.api.translation.translator import Translator
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.config.search import SearchSettings
from dragoman.evaluation.markdown import evaluation_markdown
from dragoman.evaluation.results import Evaluation, format_score

LANGUAGES = ("en", "de", "fr")
DIRECTIONS = tuple(permutations(LANGUAGES, 2))
METRICS: Final = ("bleu", "chrf")
BEAM = 5
CHILD_VALIDATION = 100  # updates; few pairs are learned by heart soon
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
warmup_updates = 200
batch_tokens = 2048
label_smoothing = 0.1
ema_decay = 0.995
validate_every = 800
checkpoint_every = 400
validation_sentences = 0
"""

Corpus = Mapping[str, Any]
"""Settings of `[[data.train]]`."""


@dataclass(frozen=True)
class ThreeWay:
    """A corpus in three languages: its name, and the names of its validation and test files."""

    name: str
    validation: str
    test: str


THREE_WAY = {
    "europarl": ThreeWay("Europarl", "dev", "test"),
    "multi30k": ThreeWay("Multi30k", "val", "test_2016_flickr"),
}


def train(folder: Path, corpora: Sequence[Corpus], settings: Sequence[str], more: str = "") -> Path:
    """Train a model unless its training is finished, and return its run."""
    text = MODEL + more
    for corpus in corpora:
        text += "\n[[data.train]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in corpus.items())
    return train_once(folder, text, settings)


def three_way_corpus(options: argparse.Namespace, languages: Sequence[str], **more: Any) -> Corpus:
    """Return the training corpus and the validation set of some of the languages."""
    names = ("train", THREE_WAY[options.what].validation)
    files, validation = (
        [str((options.corpus / f"{split}.{code}.gz").resolve()) for code in languages] for split in names
    )
    return {"languages": list(languages), "files": files, "validation": validation, **more}


def three_way_settings(options: argparse.Namespace, directions: int) -> list[str]:
    """Return the settings of a model of three languages; its updates grow with the number of directions."""
    return [
        f"training.max_updates={directions * options.updates}",
        f"training.batch_tokens={options.batch_tokens}",
        f"training.precision={options.precision}",
        *(["data.language_tokens=both"] if directions > 1 else []),
    ]


def train_singles(options: argparse.Namespace) -> dict[str, Path]:
    """Train the models of one direction; return runs by direction."""
    settings = three_way_settings(options, 1)
    return {
        f"{source}-{target}": train(
            options.work / f"{options.what}-{source}-{target}", [three_way_corpus(options, (source, target))], settings
        )
        for source, target in DIRECTIONS
    }


def train_shared(options: argparse.Namespace) -> dict[str, Path]:
    """Train the models of several directions; return runs by name."""
    around = [three_way_corpus(options, ("en", code), both_directions=True) for code in ("de", "fr")]
    settings = three_way_settings(options, 4)
    runs = {"around English": train(options.work / f"{options.what}-around-english", around, settings)}
    settings = three_way_settings(options, 6)
    six = train(options.work / f"{options.what}-six", [three_way_corpus(options, LANGUAGES)], settings)
    return runs | {"six directions": six}


def pivoted(run: Path, sources: Sequence[str], direction: tuple[str, str], folder: Path) -> Path:
    """Translate through English with one model; return the file of translations."""
    path = folder / f"pivot-{'-'.join(direction)}.txt"
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


def three_way(options: argparse.Namespace) -> None:
    """Train, evaluate and report the models of a corpus in three languages."""
    corpus = THREE_WAY[options.what]
    runs = train_singles(options) | train_shared(options)
    lines = {code: read(options.corpus / f"{corpus.test}.{code}.gz")[: options.sentences] for code in LANGUAGES}
    command = f"python -m benchmarks.multilingual {options.what} --updates {options.updates}"
    command += f" --batch-tokens {options.batch_tokens} --precision {options.precision} --sentences {options.sentences}"
    found: dict[tuple[str, str], Evaluation] = {}
    for source, target in DIRECTIONS:
        systems = {"one direction": runs[f"{source}-{target}"], "six directions": runs["six directions"]}
        systems["around English"] = runs["around English"]
        if "en" not in (source, target):
            systems["around English, through English"] = pivoted(
                runs["around English"], lines[source], (source, target), options.work
            )
        found[source, target] = score_systems(
            {name: [path] for name, path in systems.items()},
            (lines[source], lines[target]),
            (source, target),
            name=f"{corpus.name}, {corpus.test}",
            command=command,
        )
    text = heading(f"Many languages: {corpus.name}", command, 1) + f"\n{__doc__ or ''}\n{three_way_table(found)}\n"
    text += (
        f"{options.sentences:,} sentences; beam {BEAM}; one seed. Intervals are over sentences; an asterisk: "
        f"differs from one direction, p < 0.05. Training in {options.precision}, updates of {options.batch_tokens:,} "
        f"tokens. Single models: {options.updates:,} updates each; around English: {4 * options.updates:,}; six "
        f"directions: {6 * options.updates:,}. De ↔ fr of the model around English is zero-shot."
    )
    text += f" {options.note}\n" if options.note else "\n"
    write(
        f"multilingual-{options.what}",
        text,
        {"-".join(pair): evaluated(each, options.work) for pair, each in found.items()},
    )


def three_way_table(found: Mapping[tuple[str, str], Evaluation]) -> str:
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


def few_pairs(options: argparse.Namespace) -> Corpus:
    """Write the first pairs of 3AM as a corpus."""
    options.work.mkdir(parents=True, exist_ok=True)
    files = []
    for code in ("zh", "en"):
        path = options.work / f"few.{code}"
        lines = read(options.chinese / f"train.{code}.gz")[: options.pairs]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        files.append(str(path.resolve()))
    validation = [str((options.chinese / f"val.{code}.gz").resolve()) for code in ("zh", "en")]
    return {"languages": ["zh", "en"], "files": files, "validation": validation}


def captions(folder: Path, languages: Sequence[str]) -> Corpus:
    """Return Multi30k in both directions."""
    files, validation = (
        [str((folder / f"{split}.{code}.gz").resolve()) for code in languages] for split in ("train", "val")
    )
    return {"languages": list(languages), "files": files, "validation": validation, "both_directions": True}


def train_chinese(options: argparse.Namespace) -> dict[str, list[Path]]:
    """Train all models of Chinese to English; return runs by name, one per seed."""
    few, german = few_pairs(options), captions(options.captions, ("en", "de"))
    tokens, before, after = "data.language_tokens=both", options.parent_updates, options.child_updates
    small = "training.batch_tokens=1024"
    runs: dict[str, list[Path]] = {"alone": [], "child of en-de": [], "one model with en-de-fr": []}
    parent = train(
        options.work / "parent", [german], [f"training.max_updates={before}", "training.seed=1", tokens, small]
    )
    start = f'[start]\nbundle = "{(parent / "bundle").resolve()}"\nvocabulary = "extend"\n'
    for seed in options.seeds:
        settings = [f"training.seed={seed}", small, f"training.validate_every={CHILD_VALIDATION}"]
        alone = [*settings, f"training.max_updates={options.alone_updates}", "tokenizer.size=4000"]
        runs["alone"].append(train(options.work / f"alone-{seed}", [few], alone))
        child = [*settings, f"training.max_updates={after}", "training.warmup_updates=50", tokens]
        child += ["training.learning_rate=2e-3", 'data.directions=["en:de", "de:en", "zh:en"]']
        runs["child of en-de"].append(train(options.work / f"child-{seed}", [few], child, start))
        together = [few, german, captions(options.captions, ("en", "fr"))]
        every = [*settings, f"training.max_updates={before + after}", tokens, "data.sampling.temperature=5"]
        runs["one model with en-de-fr"].append(train(options.work / f"all-{seed}", together, every))
    return runs


def unseen_pairs(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return the test pairs of 3AM without those with a side in a training corpus."""
    seen = {line for code in ("zh", "en") for line in read(options.chinese / f"train.{code}.gz")}
    seen |= set(read(options.captions / "train.en.gz"))
    pairs = zip(*(read(options.chinese / f"test.{code}.gz") for code in ("zh", "en")), strict=True)
    kept = [pair for pair in pairs if seen.isdisjoint(pair)]
    return [source for source, _ in kept], [target for _, target in kept]


def chinese(options: argparse.Namespace) -> None:
    runs = train_chinese(options)
    sources, references = unseen_pairs(options)
    sizes = {name: getattr(options, f"{name}_updates") for name in ("alone", "parent", "child")}
    command = "python -m benchmarks.multilingual chinese"
    command += "".join(f" --{name}-updates {value}" for name, value in sizes.items())
    command += f" --seeds {' '.join(map(str, options.seeds))}"
    found = score_systems(runs, (sources, references), ("zh", "en"), name="3AM, test", command=command)
    text = heading("Few pairs: Chinese to English", command, 1) + f"\n{__doc__ or ''}\n{evaluation_markdown(found)}\n"
    text += (
        f"{options.pairs:,} training pairs, {len(sources):,} test pairs; beam {BEAM}. Updates: alone "
        f"{options.alone_updates:,}; parent {options.parent_updates:,}, child {options.child_updates:,}; all in one "
        f"{options.parent_updates + options.child_updates:,}. The best checkpoint by validation loss is used."
    )
    text += f" {options.note}\n" if options.note else "\n"
    write("multilingual-chinese", text, evaluated(found, options.work))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", choices=[*THREE_WAY, "chinese"])
    options.add_argument("--updates", type=int, default=800, help="of a model of one direction")
    options.add_argument("--batch-tokens", type=int, default=2048, help="of the models of three languages")
    options.add_argument("--precision", default="fp32", help="of the training of these models")
    options.add_argument("--alone-updates", type=int, default=600)
    options.add_argument("--parent-updates", type=int, default=1500)
    options.add_argument("--child-updates", type=int, default=400)
    options.add_argument("--pairs", type=int, default=3000, help="of Chinese and English")
    options.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    options.add_argument("--sentences", type=int, default=1000, help="of the test set of three languages")
    options.add_argument("--train", choices=tuple(PARTS), help="only train these models of three languages")
    options.add_argument("--corpus", type=Path, help="folder of the corpus in three languages")
    options.add_argument("--chinese", type=Path, default=Path("../shared/data/3am"))
    options.add_argument("--captions", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--work", type=Path, default=Path("multilingual-runs"), help="folder of the runs")
    options.add_argument("--note", default="", help="how the models were trained")
    given = options.parse_args()
    given.corpus = given.corpus or Path("../shared/data") / given.what
    if given.train is not None:
        PARTS[given.train](given)
    else:
        (chinese if given.what == "chinese" else three_way)(given)


PARTS = {"singles": train_singles, "shared": train_shared}


if __name__ == "__main__":
    main()
