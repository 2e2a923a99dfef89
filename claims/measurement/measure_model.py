"""Measure a trained model: translations of the test set, sentence statistics and attention statistics."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from claims.ledger.record import MAIN_SEARCH
from claims.measurement.attention_intervention import INTERVENTIONS, intervene
from claims.measurement.attention_statistics import AttentionStatistics
from claims.measurement.link_statistics import GoldSentences, change_columns, link_columns
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.config import ModelConfig, TransformerConfig
from dragoman.config.search import SearchSettings
from dragoman.data.batch import Batch
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import ConfigError
from dragoman.evaluation.metrics.corpus_scores import compute_score
from dragoman.evaluation.significance import corpus_statistics
from dragoman.models.build import build_model
from dragoman.training.step import cross_entropy

_BATCH = 64
_STATISTICS = 6  # both lengths and the matches by order; the other counts follow from them


def read_lines(path: Path) -> list[str]:
    """Read the lines of a text file, which may be gzipped."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return text.removesuffix("\n").split("\n")


def measure_model(
    bundle: Bundle, sources: Sequence[str], references: Sequence[str], searches: Sequence[str] = (MAIN_SEARCH,)
) -> Iterator[dict[str, Any]]:
    """Translate a test set with every search, and compute the statistics of the attention weights.

    Yields everything measured so far after each step, so that an interruption loses one step only.
    """
    translator = Translator.open(bundle, engine="torch", threads=1)
    language = translator.languages[1]
    result: dict[str, Any] = {"searches": {}}
    for name in dict.fromkeys([MAIN_SEARCH, *searches]):
        began = time.process_time()
        texts = search_texts(translator, sources, name)
        seconds = round(time.process_time() - began, 1)
        result["searches"][name] = scored(texts, references, language) | {"cpu_seconds": seconds}
        if name == MAIN_SEARCH:
            result["hypotheses"] = texts
            if has_attention(bundle.config.model):
                result["attention"] = {
                    state: attention_statistics(each, sources, references)
                    for state, each in (("trained", translator), ("untrained", _untrained(bundle)))
                }
        yield result


def gold_statistics(bundle: Bundle, gold: GoldSentences) -> dict[str, Any]:
    """Return the parts of a record about hand-aligned sentences: links of attention, and changed source words."""
    translator = Translator.open(bundle, engine="torch", threads=1)
    assert isinstance(translator.engine, TorchEngine)
    found: dict[str, Any] = {"source_changes": change_columns(translator.engine.model, bundle.tokenizers(), gold)}
    return found | ({"links": link_columns(translator, gold)} if has_attention(bundle.config.model) else {})


def sentence_losses(bundle: Bundle, sources: Sequence[str], references: Sequence[str]) -> list[list[float]]:
    """Return −log p of each reference in nats, and its number of tokens."""
    translator = Translator.open(bundle, engine="torch", threads=1)
    assert isinstance(translator.engine, TorchEngine)
    model, tokenizers = translator.engine.model, bundle.tokenizers()
    nats: list[float] = []
    tokens: list[float] = []
    for first in range(0, len(sources), _BATCH):
        texts = zip(sources[first : first + _BATCH], references[first : first + _BATCH], strict=True)
        pairs = [(tokenizers["source"].encode(source), tokenizers["target"].encode(target)) for source, target in texts]
        batch = Batch.from_pairs(pairs)
        with torch.inference_mode():
            decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
            found = cross_entropy(model.decoder.output, decoded.features, batch.labels, batch.target_lengths)
        nats += found.losses.double().sum(1).tolist()
        tokens += batch.target_lengths.tolist()
    return [[round(value, 3) for value in nats], tokens]


def search_texts(translator: Translator, sources: Sequence[str], name: str) -> list[str]:
    """Translate with a search: ``beam-N``, or greedily with an intervention on the attention weights."""
    if name in INTERVENTIONS:
        assert isinstance(translator.engine, TorchEngine)
        with intervene(translator.engine.model, INTERVENTIONS[name]()):
            return _translate(translator, sources, 1)
    width = name.removeprefix("beam-")
    if width == name or not width.isdigit():
        raise ConfigError(
            f"search must be beam-N or one of {', '.join(INTERVENTIONS)}, got {name}; correct it in the claim"
        )
    return _translate(translator, sources, int(width))


def _translate(translator: Translator, sources: Sequence[str], beam: int) -> list[str]:
    found = translator.translate(list(sources), split_sentences=False, search=SearchSettings(beam=beam))
    return [each.text for each in found]


def has_attention(model: ModelConfig) -> bool:
    """Whether a model attends to its source."""
    return isinstance(model, TransformerConfig) or model.decoder.attend != "none"


def scored(hypotheses: Sequence[str], references: Sequence[str], language: str) -> dict[str, Any]:
    """Return BLEU and chrF++ with their signatures, and the sentence statistics of BLEU."""
    bleu, chrf = corpus_statistics(hypotheses, references, metrics=("bleu", "chrf"), language=language)
    scores = {
        score.metric: {"value": round(score.value, 4), "signature": score.signature}
        for score in (compute_score(bleu), compute_score(chrf))
    }
    return {"scores": scores, "counts": bleu.counts[:, :_STATISTICS].T.tolist()}


def attention_statistics(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> dict[str, Any]:
    """Return the statistics of the attention weights for given translations."""
    statistics = AttentionStatistics()
    for first in range(0, len(sources), _BATCH):
        maps = translator.attention(sources[first : first + _BATCH], targets[first : first + _BATCH])
        statistics.add(each.weights for each in maps)
    return statistics.to_json()


def _untrained(bundle: Bundle) -> Translator:
    """Return a translator of the same architecture with initial weights."""
    config = bundle.config
    tokenizers = bundle.tokenizers()
    model = build_model(config.model, tokenizers["source"].size, tokenizers["target"].size, seed=config.training.seed)
    return Translator(TorchEngine(model.eval()), config, tokenizers)
