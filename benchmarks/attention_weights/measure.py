"""Measure models: weights at points of training, interventions, gold links, and the Firefox student."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.attention_weights.statistics import bleu_change, gold_groups, weight_groups
from benchmarks.attention_weights.word_classes import WordRanks
from claims.measurement.attention_intervention import INTERVENTIONS
from claims.measurement.measure_model import read_lines, search_texts
from claims.pool.pool_corpus import PoolCorpus, open_corpus_files
from claims.pool.pool_model import PoolModel
from claims.pool.training_worker import WorkOrder
from dragoman.api.translation.attention import AttentionMaps
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.data.batch import Batch
from dragoman.engines.torch_engine import TorchEngine
from dragoman.evaluation.metrics.corpus_scores import compute_score
from dragoman.evaluation.significance import corpus_statistics
from dragoman.files import read_json, write_json
from dragoman.models.build import build_model
from dragoman.training.checkpoint import CheckpointStore, load_weights
from dragoman.training.step import cross_entropy

VARIANTS = {
    ("rnn",): "general",
    ("rnn", "model.attention.score=dot"): "dot",
    ("rnn", "model.attention.score=concat"): "concat",
    ("rnn", "model.attention.score=location"): "location",
    ("rnn", "model.attention.score=concat", "model.decoder.attend=before"): "bahdanau",
    ("transformer",): "transformer",
}
"""Names of the measured models, by base and changes."""

SEARCHES = ("beam-1", *INTERVENTIONS)
CAPTIONS, GOLD, FIREFOX = "multi30k-en-de", "europarl-de-en", "firefox-en-pt"
_BINS = {CAPTIONS: (8, 11, 14, 18, 24), GOLD: (8, 11, 14, 18, 24), FIREFOX: (20, 28, 36, 44, 56)}
_BATCH = 50


@dataclass(frozen=True)
class TestText:
    """Sentence pairs whose weights are measured, and the word ranks of both sides."""

    sources: list[str]
    targets: list[str]
    source_ranks: WordRanks
    target_ranks: WordRanks


def measured_models(folders: Sequence[Path], work: Path, data: Path, sentences: int) -> Iterator[dict[str, Any]]:
    """Yield the results of all trained models in the folders of pools; each is kept in `work` and measured once."""
    corpora: dict[str, PoolCorpus] = {}
    paths = [path for folder in folders for path in folder.glob("*/order.json")]
    for path, order in sorted(((path, WorkOrder.read(path)) for path in paths), key=lambda found: found[1].model.seed):
        model, run = order.model, path.parent / "run"
        variant = VARIANTS.get((model.base, *model.changes))
        if variant is None or model.corpus_name not in (CAPTIONS, GOLD) or not (run / "bundle").is_dir():
            continue
        if model.corpus_name not in corpora:
            corpora[model.corpus_name] = open_corpus_files(model.corpus, data, work / "corpora" / model.corpus_name)
        corpus = corpora[model.corpus_name]
        facts = {"variant": variant, "corpus": model.corpus_name, "seed": model.seed}

        def measure(model: PoolModel = model, run: Path = run, corpus: PoolCorpus = corpus) -> dict[str, Any]:
            searches = corpus.gold is None and bool(model.changes)  # records of the bases have the interventions
            return measure_run(run, model.corpus_name, corpus, sentences, searches=searches)

        name = f"{variant}-{model.corpus_name}-{model.seed}"
        yield facts | kept(work / f"{name}.json", measure)


def kept(path: Path, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a result that was measured before, or measure it now."""
    found = read_json(path)
    if found is None:
        print(f"measuring {path.stem}", file=sys.stderr, flush=True)
        found = measure()
        write_json(path, found)
    result: dict[str, Any] = found
    return result


def measure_run(run: Path, corpus_name: str, corpus: PoolCorpus, sentences: int, *, searches: bool) -> dict[str, Any]:
    """Measure every checkpoint of a run, and with `searches` the interventions on its bundle."""
    if corpus.gold is None:
        sources, targets = (lines[:sentences] for lines in corpus.test())
    else:
        sources, targets = corpus.gold.sources, corpus.gold.targets
    ranks = [WordRanks.count(read_lines(path)) for path in corpus.files["train"]]
    text = TestText(sources, targets, *ranks)
    store = CheckpointStore(run / "checkpoints")
    bundle = Bundle.open(run / "bundle", trusted=True)
    points = []
    for update in store.steps():
        translator = _at_checkpoint(bundle, store, update)
        maps = list(_maps(translator, text))
        point: dict[str, Any] = {"update": update, "loss": _loss(translator, bundle, text)}
        point |= weight_groups(maps, text.source_ranks, text.target_ranks, _BINS[corpus_name])
        if corpus.gold is not None:
            point["gold"] = gold_groups(maps, corpus.gold.links)
        points.append(point)
    found: dict[str, Any] = {"sentences": len(sources), "points": points}
    if searches:
        translator = Translator.open(bundle, engine="torch", threads=1)
        found["searches"] = interventions(translator, sources, targets)
    return found


def interventions(translator: Translator, sources: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Return BLEU of greedy search without and with each intervention, and the change with its interval."""
    counts = {}
    for name in SEARCHES:
        texts = search_texts(translator, sources, name)
        counts[name] = corpus_statistics(texts, references, metrics=("bleu",), language=translator.languages[1])[0]
    base = counts["beam-1"].counts
    return {
        name: {"bleu": round(compute_score(each).value, 2), "change": bleu_change(each.counts, base)}
        for name, each in counts.items()
    }


def measure_firefox(path: Path, tests: Path, sentences: int) -> dict[str, Any]:
    """Measure the English-Portuguese student of Firefox on FLORES; word ranks are those of the whole test set."""
    english, portuguese = (read_lines(tests / "en-pt" / f"flores-test.{side}.gz") for side in ("en", "pt"))
    text = TestText(english[:sentences], portuguese[:sentences], WordRanks.count(english), WordRanks.count(portuguese))
    translator = Translator.open(Bundle.open(path, trusted=True), engine="torch", threads=1)
    point = weight_groups(_maps(translator, text), text.source_ranks, text.target_ranks, _BINS[FIREFOX])
    return {
        "sentences": len(text.sources),
        "points": [point],
        "searches": interventions(translator, text.sources, text.targets),
    }


def _at_checkpoint(bundle: Bundle, store: CheckpointStore, update: int) -> Translator:
    """Return a translator with the weights of a checkpoint: their moving average, as in a bundle."""
    checkpoint = store.open(update)
    config, tokenizers = bundle.config, bundle.tokenizers()
    model = build_model(config.model, tokenizers["source"].size, tokenizers["target"].size, seed=config.training.seed)
    load_weights(model, checkpoint.average() or checkpoint.weights())
    return Translator(TorchEngine(model.eval()), config, tokenizers)


def _maps(translator: Translator, text: TestText) -> Iterator[AttentionMaps]:
    for first in range(0, len(text.sources), _BATCH):
        yield from translator.attention(text.sources[first : first + _BATCH], text.targets[first : first + _BATCH])


def _loss(translator: Translator, bundle: Bundle, text: TestText) -> float:
    """Return −log p of the references per token."""
    assert isinstance(translator.engine, TorchEngine)
    model, tokenizers = translator.engine.model, bundle.tokenizers()
    total, tokens = 0.0, 0
    for first in range(0, len(text.sources), _BATCH):
        pairs = zip(text.sources[first : first + _BATCH], text.targets[first : first + _BATCH], strict=True)
        batch = Batch.from_pairs(
            [(tokenizers["source"].encode(source), tokenizers["target"].encode(target)) for source, target in pairs]
        )
        with torch.inference_mode():
            decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
            losses = cross_entropy(model.decoder.output, decoded.features, batch.labels, batch.target_lengths).losses
        total += float(losses.double().sum())
        tokens += int(batch.target_lengths.sum())
    return round(total / tokens, 4)


def shortened(model: dict[str, Any]) -> dict[str, Any]:
    """Return a result without what no page shows: groups of the points between the first and the last one.

    Equal weights depend on the text only, so that their groups are kept once, at the last point.
    """
    first, last = model["points"][0], model["points"][-1]
    points = [
        {key: value for key, value in point.items() if key in ("update", "loss", "all", "gold")}
        for point in model["points"][:-1]
    ]
    if first is not last:
        points[0] |= {key: first[key] for key in ("heads", "received")}
        points[0] |= {
            key: {name: {"values": group["values"]} for name, group in first[key].items()}
            for key in ("lengths", "classes")
        }
    return model | {"points": [*points, last]}


def compact_json(value: Any) -> str:
    """Write a result with one line per model."""
    models = ",\n".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in value["models"])
    facts = json.dumps({key: each for key, each in value.items() if key != "models"}, ensure_ascii=False, indent=1)
    return f'{facts[:-2]},\n "models": [\n{models}\n]}}\n'
