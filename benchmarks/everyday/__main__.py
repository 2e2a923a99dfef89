"""Example models of everyday sentences, en→de: a student with an SSRU decoder, and an RNN with Bahdanau's attention.

`train` trains them with `dragoman train` on sentence pairs of Tatoeba, or continues; `report` rounds their weights to
int8, scores float32 and int8 on test sets, and writes this page; with `--ship` it also replaces the models that are
part of the package. The test set of Tatoeba has one reference per line and shares no sentence with the training set.
Multi30k's captions show what the models cannot do: they are longer, and of another kind.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.reporting import heading, parser, table, write
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle, model_card, write_bundle
from dragoman.bundle.locate import EXAMPLES, find_bundle
from dragoman.bundle.weights import Quantization
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.evaluation.markdown import evaluation_markdown
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.evaluation.results import Score
from dragoman.version import __version__

HERE = Path(__file__).parent
MODELS = {"everyday": "student", "everyday-rnn": "rnn"}
PRECISIONS = ("float32", "int8")
TEST, LONGER, CAPTIONS = "Tatoeba test", "Tatoeba test, from 12 words", "Multi30k test_2016_flickr"
GOALS = {"everyday": 40.0}
MAX_BYTES = 4_000_000
RESAMPLES = 1000
PROBED = 500
"""Number of sentences of the Tatoeba test whose changed forms are translated."""
LICENCE = "CC BY 2.0 FR, attribution: tatoeba.org and manythings.org/anki"
DESCRIPTION = (
    "A small example model of everyday sentences, en→de, trained on {pairs:,} sentence pairs of Tatoeba (tatoeba.org, "
    "manythings.org/anki)"
)
LIMITS = (
    "It is an example for the first minutes, not a translator to rely on. It was trained on short everyday sentences,\n"
    "and cannot translate names, long sentences or specialised text.\n\n"
)
SAMPLES = (
    "Where is the station?",
    "I would like a cup of tea, please.",
    "She didn't know that he was ill.",
    "How long have you been waiting for the bus?",
    "My brother has lived in Boston for three years.",
    "Dr. Anneliese Okonkwo will present the quarterly figures.",
    "Although the committee had rejected the proposal twice, its author submitted it once more, without any change.",
)


def read(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n") for line in lines]


def configuration(name: str, corpus: Path) -> str:
    """Return the configuration of a model, with the files of the corpus."""
    pair = {
        split: json.dumps([str((corpus / f"{split}.en-de.{side}.gz").resolve()) for side in ("en", "de")])
        for split in ("train", "dev")
    }
    data = f'\n[data]\nsource = "en"\ntarget = "de"\nmax_tokens = 100\n\n[[data.train]]\nfiles = {pair["train"]}\n'
    data += f"\n[data.validation]\nfiles = {pair['dev']}\n"
    return (HERE / f"{MODELS[name]}.toml").read_text(encoding="utf-8") + data


def train(name: str, options: argparse.Namespace) -> None:
    folder = options.output / MODELS[name]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dragoman.toml").write_text(configuration(name, options.corpus), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "dragoman", "train", str(folder), "--resume"], check=True)


def test_sets(options: argparse.Namespace) -> dict[str, tuple[list[str], list[str]]]:
    sources, references = (read(options.corpus / f"test.en-de.{side}.gz") for side in ("en", "de"))
    long = [pair for pair in zip(sources, references, strict=True) if len(pair[0].split()) >= 12]
    captions = tuple(read(options.captions / f"test_2016_flickr.{side}.gz") for side in ("en", "de"))
    return {TEST: (sources, references), LONGER: ([s for s, _ in long], [t for _, t in long]), CAPTIONS: captions}


def scored(bundle: Bundle, precision: str, sets: dict[str, Any], threads: int) -> tuple[dict[str, Any], list[str]]:
    """Return the scores on all test sets, and the translations of the samples."""
    different = list(dict.fromkeys(source for sources, _ in sets.values() for source in sources))
    with Translator.open(bundle, engine="onnx", precision=precision, threads=threads) as translator:
        found = translator.translate([*different, *SAMPLES], split_sentences=False)
    texts = [each.text for each in found]
    translated = dict(zip(different, texts, strict=False))
    scores: dict[str, tuple[Score, ...]] = {}
    for name, (sources, references) in sets.items():
        mine = [translated[source] for source in sources]
        scores[name] = corpus_scores(mine, references, metrics=("bleu", "chrf"), resamples=RESAMPLES)
    return scores, texts[len(different) :]


def quantized(bundle: Bundle, run: Path, output: Path, scores: dict[str, Any]) -> Bundle:
    """Write the int8 model with a complete card."""
    stored, facts = Quantization.of(bundle.weights()), json.loads((run / "run.json").read_text(encoding="utf-8"))
    pairs = facts["data"]["pairs"]
    config = bundle.config.model_copy(update={"description": DESCRIPTION.format(pairs=pairs["train"])})
    values = [
        {"set": test, "name": each.metric, "value": each.value, "signature": each.signature}
        for test, both in scores.items()
        for each in both
    ]
    card = model_card(
        config,
        {
            "parameters": bundle.parameter_count(),
            "updates": updates(bundle),
            "pairs": pairs,
            "versions": {"dragoman": __version__},
            "scores": values,
            "licence": LICENCE,
        },
    ).replace("## Limits\n\n", f"## Limits\n\n{LIMITS}")
    weights = stored.rounded(bundle.weights())
    return write_bundle(output, config, weights, bundle.tokenizers(), card, quantization=stored)


def updates(bundle: Bundle) -> int:
    found = re.search(r"^\| Updates \| ([\d,]+) \|$", bundle.card(), re.MULTILINE)
    assert found is not None
    return int(found[1].replace(",", ""))


def shown(score: Score) -> str:
    return f"{score.value:.1f}" if score.interval is None else f"{score.value:.1f} ± {score.interval.half_width:.1f}"


def robustness(folders: dict[str, Path], options: argparse.Namespace) -> str:
    """Score the int8 models on changed forms of sentences of the test."""
    sources, references = (each[:: len(each) // PROBED][:PROBED] for each in test_sets(options)[TEST])
    found = evaluate_systems(
        [System(name, (folder,)) for name, folder in folders.items()],
        sources,
        references,
        EvaluationSettings(metrics=("bleu", "chrf"), probes=True),
        engine=EngineSettings(engine="onnx", precision="int8", threads=options.threads),
        name=f"{len(sources)} sentences of the {TEST}",
    )
    return evaluation_markdown(found)


def size(bundle: Bundle) -> int:
    return sum(path.stat().st_size for path in bundle.folder.iterdir())


def report(options: argparse.Namespace) -> None:
    rows: list[list[str]] = []
    sizes: list[list[str]] = []
    figures: dict[str, Any] = {}
    samples: dict[str, list[str]] = {}
    sets, signatures = test_sets(options), {}
    for name in options.names:
        run = options.output / MODELS[name] / "run"
        exact = Bundle.open(find_bundle(run).path)
        target = (EXAMPLES if options.ship else options.output) / name
        bundles = {"float32": exact, "int8": quantized(exact, run, target, {})}
        figures[name] = {"updates": updates(exact), "parameters": exact.parameter_count(), "scores": {}}
        for precision, bundle in bundles.items():
            scores, samples[name] = scored(bundle, precision, sets, options.threads)
            figures[name]["scores"][precision] = {
                test: {each.metric: each.value for each in both} for test, both in scores.items()
            }
            signatures = {each.metric: each.signature for each in scores[TEST]}
            cells = [" / ".join(map(shown, both)) for both in scores.values()]
            rows.append([f"{name}, {precision}", *cells])
            if precision == "int8":
                bundles["int8"] = quantized(exact, run, target, scores)
        figures[name]["bytes"] = {precision: size(each) for precision, each in bundles.items()}
        megabytes = [f"{size(each) / 1e6:.2f}" for each in bundles.values()]
        sizes.append([name, f"{figures[name]['parameters']:,}", f"{figures[name]['updates']:,}", *megabytes])
        if size(bundles["int8"]) > MAX_BYTES:
            raise SystemExit(f"{name} must have at most {MAX_BYTES:,} bytes, got {size(bundles['int8']):,}")
    sturdy = robustness(
        {name: (EXAMPLES if options.ship else options.output) / name for name in options.names}, options
    )
    write_page(options, rows, sizes, samples, sturdy, {"signatures": signatures, **figures})


def write_page(
    options: argparse.Namespace,
    rows: list[list[str]],
    sizes: list[list[str]],
    samples: dict[str, list[str]],
    sturdy: str,
    figures: dict[str, Any],
) -> None:
    text = heading("Example models of everyday sentences", "python -m benchmarks.everyday report", options.threads)
    text += f"\n{(__doc__ or '').strip()}\n\nBLEU / chrF++ ± 95 % interval, a beam of 5, ONNX Runtime:\n\n"
    text += table(["model", TEST, LONGER, CAPTIONS], rows) + "\n"
    text += "".join(f"- {metric}: {signature}\n" for metric, signature in figures["signatures"].items())
    for name, goal in GOALS.items():
        if name in figures:
            reached = figures[name]["scores"]["int8"][TEST]["bleu"]
            text += f"\nGoal for {name}: BLEU {goal:.0f} on the Tatoeba test; "
            text += f"{'reached' if reached >= goal else 'missed'} with {reached:.1f}.\n"
    text += f"\n{options.note}\n\n" if options.note else "\n"
    text += table(["model", "parameters", "updates", "MB, float32", "MB, int8"], sizes)
    text += (
        "\n## Samples\n\nChosen before the models were trained; the last two are of kinds that they do not know.\n\n"
    )
    text += table(["source", *samples], [list(each) for each in zip(SAMPLES, *samples.values(), strict=True)])
    text += f"\n## Changed input\n\nEvery third of the 1,500 shortest sentences, int8, a beam of 5:\n\n{sturdy}"
    for name in options.names:
        file = f"{MODELS[name]}.toml"
        text += f"\n## Recipe of {name}\n\n```toml\n{(HERE / file).read_text(encoding='utf-8')}```\n"
    write("everyday", text, figures)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", choices=["train", "report"])
    options.add_argument("--names", nargs="+", choices=MODELS, default=list(MODELS))
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/tatoeba"))
    options.add_argument("--captions", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--output", type=Path, default=Path("everyday-runs"), help="where runs are kept")
    options.add_argument("--ship", action="store_true", help="write the int8 models into the package")
    options.add_argument("--note", default="", help="what else the page should say of how they were trained")
    chosen = options.parse_args()
    if chosen.what == "report":
        report(chosen)
        return
    for name in chosen.names:
        train(name, chosen)


if __name__ == "__main__":
    main()
