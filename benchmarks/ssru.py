"""A Transformer with an SSRU decoder compared with one whose decoder has self-attention, on Multi30k en→de.

Both have the size and schedule of the Transformer in `claims/bases/transformer.toml` and one seed; only `model.decoder`
differs. `train` prepares the corpus and trains both, or resumes their training; `report` translates test_2016_flickr,
and measures training and decoding in interleaved rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import torch

from benchmarks.quality.data import data_settings, read
from benchmarks.reporting import heading, parser, table, write
from benchmarks.training_step import VOCAB, make_batches
from benchmarks.user_commands import dragoman
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.config import TrainingConfig, load_config
from dragoman.config.search import SearchSettings
from dragoman.data.batch import Batch
from dragoman.evaluation.metrics.corpus_scores import bleu, chrf
from dragoman.models import build_model
from dragoman.training import build_optimizer, train_step

BASE = Path(__file__).parents[1] / "claims/bases/transformer.toml"
DECODERS = {"self-attention": "self-attention", "SSRU": "ssru"}
FASTEST = {"self-attention": "ctranslate2", "SSRU": "onnx"}
TEST = "test_2016_flickr"
BEAM = 5
ROUNDS = 5
UPDATES = 40  # per round
SENTENCES = {1: 60, 32: 320}  # per round, by sentences per call


def train(name: str, corpus: Path, output: Path) -> None:
    """Train a model with the commands of a user."""
    folder = output / DECODERS[name]
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "dragoman.toml"
    config.write_text(BASE.read_text(encoding="utf-8") + data_settings(corpus), encoding="utf-8")
    decoder = ["--set", f"model.decoder={DECODERS[name]}"]
    for command in (["prepare", str(config)], ["train", str(config), "--resume", "--threads", "1"]):
        dragoman(*command, *decoder)


def training_step(name: str) -> Callable[[Batch], int]:
    """Return a step of training that returns its number of target tokens."""
    config = load_config(BASE, [f"model.decoder={DECODERS[name]}", "training.precision=fp32"])
    model = build_model(config.model, VOCAB, VOCAB, 1)
    settings: TrainingConfig = config.training
    optimizer = build_optimizer(model, settings)
    updates = 0

    def step(batch: Batch) -> int:
        nonlocal updates
        updates += 1
        train_step(model, optimizer, batch, settings, updates)
        return batch.target_tokens

    return step


def training_speed(corpus: Path) -> dict[str, list[float]]:
    """Return thousands of target tokens per CPU second, by name and round."""
    steps = {name: training_step(name) for name in DECODERS}
    batches: dict[str, Iterator[Batch]] = {name: cycle(make_batches(corpus, 768, seed=0)) for name in DECODERS}
    found: dict[str, list[float]] = {name: [] for name in DECODERS}
    for number in range(ROUNDS + 1):
        for name, step in steps.items():
            began = time.process_time()
            tokens = sum(step(next(batches[name])) for _ in range(UPDATES))
            if number:  # the first round allocates memory
                found[name].append(tokens / (time.process_time() - began) / 1000)
    return found


def decoding_speed(translators: dict[str, Translator], lines: list[str]) -> dict[str, dict[int, list[float]]]:
    """Return sentences per CPU second, by name, sentences per call and round."""
    found: dict[str, dict[int, list[float]]] = {name: {size: [] for size in SENTENCES} for name in translators}
    for number in range(ROUNDS + 1):
        for size, count in SENTENCES.items():
            for name, translator in translators.items():
                began = time.process_time()
                for start in range(0, count, size):
                    translator.translate(lines[start : start + size], split_sentences=False)
                if number:
                    found[name][size].append(count / (time.process_time() - began))
    return found


def report(options: argparse.Namespace) -> None:
    sources, references = (read(options.corpus / f"{TEST}.{side}.gz") for side in ("en", "de"))
    bundles = {
        name: Bundle.open(options.output / folder / "run/bundle", trusted=True) for name, folder in DECODERS.items()
    }
    quality: dict[str, Any] = {}
    engines: dict[str, dict[str, Translator]] = {"torch": {}, "fastest": {}}
    search = SearchSettings(beam=BEAM)
    for name, bundle in bundles.items():
        facts = json.loads((options.output / DECODERS[name] / "run/run.json").read_text(encoding="utf-8"))
        for kind, engine in (("torch", "torch"), ("fastest", FASTEST[name])):
            engines[kind][name] = Translator.open(
                bundle, engine=engine, precision="float32", threads=options.threads, search=search
            )
        found = [each.text for each in engines["torch"][name].translate(sources, split_sentences=False)]
        scores = (bleu(found, references), chrf(found, references))
        quality[name] = {"parameters": facts["parameters"], "updates": facts["update"]}
        quality[name] |= {score.metric: {"value": score.value, "signature": score.signature} for score in scores}
    figures = {
        "quality": quality,
        "training": training_speed(options.corpus),
        "decoding": {kind: decoding_speed(translators, sources) for kind, translators in engines.items()},
    }
    command = "python -m benchmarks.ssru report"
    text = heading("SSRU and self-attention in the decoder", command, options.threads) + page(figures)
    write("ssru", text + (f"\n{options.note}\n" if options.note else ""), figures)


def page(figures: dict[str, Any]) -> str:
    rows = []
    for name, found in figures["quality"].items():
        scores = [f"{score['value']:.1f}" for score in found.values() if isinstance(score, dict)]
        speed = [f"{statistics.median(figures['training'][name]):.2f}"]
        for by_name in figures["decoding"].values():
            speed += [f"{statistics.median(rounds):.1f}" for rounds in by_name[name].values()]
        rows.append([name, f"{found['parameters'] / 1e6:.2f} M", f"{found['updates']:,}", *scores, *speed])
    sizes = [f"{engine}, {size} per call" for engine in ("torch", "fastest engine") for size in SENTENCES]
    header = ["decoder", "parameters", "updates", "BLEU", "chrF2", "training, k tokens", *sizes]
    signatures = [
        f"- {score['signature']}"
        for score in next(iter(figures["quality"].values())).values()
        if isinstance(score, dict)
    ]
    return (
        f"\n{__doc__ or ''}\nBLEU and chrF2 with beam {BEAM} on torch, one seed. *Training*: thousand target tokens "
        f"per CPU second in batches of 768 tokens, fp32. Decoding: sentences per CPU second, beam {BEAM}, float32; the "
        "fastest engine is CTranslate2 for self-attention and ONNX Runtime for SSRU, without a shortlist. All speeds "
        f"are medians of {ROUNDS} rounds.\n\n{table(header, rows)}\n" + "\n".join(signatures) + "\n"
    )


def main() -> None:
    options = parser(__doc__)
    options.set_defaults(threads=1)
    options.add_argument("what", choices=["train", "report"])
    options.add_argument("--names", nargs="+", choices=tuple(DECODERS), default=list(DECODERS))
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--output", type=Path, default=Path("ssru-runs"), help="folder of the runs")
    options.add_argument("--note", default="", help="how the models were trained")
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    if given.what == "train":
        for name in given.names:
            train(name, given.corpus, given.output)
    else:
        report(given)


if __name__ == "__main__":
    main()
