"""Add statistics of translations to records that lack them; no model is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from claims.ledger.record import ModelRecord, RecordStore
from claims.measurement.measure_model import read_lines
from claims.measurement.word_counts import Lexicon, count_words, learn_lexicon
from claims.pool.pool_corpus import PoolCorpus, open_corpus_files
from claims.pool.pool_model import PoolModel, PoolRun

_PAIRS = 30_000  # of the training corpus; memory grows with their number


def word_counts(corpus: PoolCorpus, hypotheses: Sequence[str], lexicon: Lexicon | None = None) -> dict[str, Any]:
    """Return the part of a record with the word counts of translations of the test set."""
    lexicon = lexicon or corpus_lexicon(corpus)
    return {"words": count_words(lexicon, *corpus.test(), hypotheses)}


def corpus_lexicon(corpus: PoolCorpus) -> Lexicon:
    """Learn the lexicon of a corpus from the first pairs of its training files."""
    source, target = (read_lines(path)[:_PAIRS] for path in corpus.files["train"])
    return learn_lexicon(source, target)


def without_word_counts(runs: Iterable[PoolRun], store: RecordStore) -> list[PoolModel]:
    """Return the models whose record has translations and no word counts."""
    models = [run for run in runs if isinstance(run, PoolModel) and store.has(run)]
    return [model for model in models if _needs_counts(store.read(model))]


def add_word_counts(models: Iterable[PoolModel], store: RecordStore, data: Path, work: Path) -> None:
    """Add word counts to the records of some models."""
    lexicons: dict[str, tuple[PoolCorpus, Lexicon]] = {}
    for model in models:
        if model.corpus_name not in lexicons:
            corpus = open_corpus_files(model.corpus, data, work / "corpora" / model.corpus_name)
            lexicons[model.corpus_name] = corpus, corpus_lexicon(corpus)
        record = store.read(model)
        added = word_counts(lexicons[model.corpus_name][0], record.facts["hypotheses"], lexicons[model.corpus_name][1])
        ModelRecord(dict(record.facts) | added).write(store.path(model))


def _needs_counts(record: ModelRecord) -> bool:
    return "hypotheses" in record.facts and "words" not in record.facts
