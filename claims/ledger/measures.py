"""Measures: scores of a model that are functions of summed sentence statistics, so that sentences can be resampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from claims.ledger.claim import Comparison, Term
from claims.ledger.record import MissingStatisticsError, ModelRecord
from claims.measurement.attention_statistics import COLUMNS, COVERAGE
from claims.measurement.word_counts import WORD_COLUMNS
from dragoman.errors import ConfigError

REACHED = 0.95
"""Share of right answers from which on a size counts as reached."""

Totals = NDArray[np.float64]
"""Summed statistics. Shape: [*, statistics]."""


@dataclass(frozen=True)
class Measure:
    """A score: the sentence statistics of a record, and the score of their sums."""

    name: str
    unit: str
    counts: Callable[[ModelRecord, str], NDArray[np.float64]]
    """Shape: -> [sentences, statistics]. The argument is the name of a search; empty for the main one."""
    score: Callable[[Totals], NDArray[np.float64]]
    """Shapes: [*, statistics] -> [*]."""
    from_texts: bool = False
    """Whether the statistics can be added to a record from its translations, without the model."""


def bleu_of_totals(totals: Totals) -> NDArray[np.float64]:
    """Return corpus BLEU, with sacreBLEU's exponential smoothing. Shapes: [*, 10] -> [*]."""
    ours, theirs, matches, ngrams = totals[..., 0], totals[..., 1], totals[..., 2:6], totals[..., 6:]
    is_zero = (matches == 0) & (ngrams > 0)
    halvings = 2.0 ** np.cumsum(is_zero, axis=-1)
    counted = np.where(is_zero, 1.0 / halvings, matches)
    precisions = np.divide(counted, ngrams, out=np.zeros_like(counted), where=ngrams > 0)
    has_all = (precisions > 0).all(-1) & (matches.sum(-1) > 0)
    logs = np.log(np.where(precisions > 0, precisions, 1.0)).mean(-1)
    brevity = np.where(ours < theirs, 1 - theirs / np.maximum(ours, 1e-9), 0.0)
    bleu: NDArray[np.float64] = np.where(has_all, 100 * np.exp(logs + brevity), 0.0)
    return bleu


def _bleu_counts(record: ModelRecord, search: str) -> NDArray[np.float64]:
    return record.bleu_counts(search).astype(np.float64)


def _attention_counts(numerator: str, denominator: str) -> Callable[[ModelRecord, str], NDArray[np.float64]]:
    def counts(record: ModelRecord, search: str) -> NDArray[np.float64]:
        columns = _attention(record, search, "sentences")
        return np.array([columns[COLUMNS.index(name)] for name in (numerator, denominator)], np.float64).T

    return counts


def _coverage_counts(numerator: str) -> Callable[[ModelRecord, str], NDArray[np.float64]]:
    def counts(record: ModelRecord, search: str) -> NDArray[np.float64]:
        columns = _attention(record, search, "coverage")
        return np.array([columns[COVERAGE.index(name)] for name in (numerator, "positions")], np.float64).T

    return counts


def _attention(record: ModelRecord, state: str, name: str) -> list[list[float]]:
    found = record.facts.get("attention", {}).get(state or "trained", {}).get(name)
    if found is None:
        raise MissingStatisticsError(
            f"the record of {record.facts['name']} has no attention weights ({name}); use a model that "
            "has them, or measure it again"
        )
    columns: list[list[float]] = found
    return columns


def _word_counts(numerator: str, denominator: str) -> Callable[[ModelRecord, str], NDArray[np.float64]]:
    def counts(record: ModelRecord, _search: str) -> NDArray[np.float64]:
        if "words" not in record.facts:
            raise MissingStatisticsError(
                f"the record of {record.facts['name']} has no word counts; `python -m claims run` adds them"
            )
        columns = record.facts["words"]
        return np.array([columns[WORD_COLUMNS.index(name)] for name in (numerator, denominator)], np.float64).T

    return counts


def _link_counts(record: ModelRecord, reading: str) -> NDArray[np.float64]:
    links = record.facts.get("links", {})
    if (reading or "predicted") not in links:
        raise MissingStatisticsError(
            f"the record of {record.facts['name']} has no links ({reading or 'predicted'}); train it on a "
            "corpus with hand-aligned sentences"
        )
    return np.array(links[reading or "predicted"], np.float64).T


def _error_rate(totals: Totals) -> NDArray[np.float64]:
    """Alignment error rate. Shapes: [*, links] -> [*]."""
    found, sure, found_sure, found_possible = np.moveaxis(totals, -1, 0)
    rate: NDArray[np.float64] = 1 - (found_sure + found_possible) / (found + sure)
    return rate


def _change_counts(record: ModelRecord, _search: str) -> NDArray[np.float64]:
    if "source_changes" not in record.facts:
        raise MissingStatisticsError(
            f"the record of {record.facts['name']} has no changed source words; train it on a corpus with "
            "hand-aligned sentences"
        )
    return np.array(record.facts["source_changes"], np.float64).T


def _change_ratio(totals: Totals) -> NDArray[np.float64]:
    """Mean change of words that are not linked, divided by that of linked ones. Shapes: [*, changes] -> [*]."""
    linked, linked_pairs, unlinked, unlinked_pairs = np.moveaxis(totals, -1, 0)
    ratio: NDArray[np.float64] = (unlinked / unlinked_pairs) / (linked / linked_pairs)
    return ratio


def _linked_change(totals: Totals) -> NDArray[np.float64]:
    """Mean change of linked words. Shapes: [*, changes] -> [*]."""
    return _ratio(totals[..., :2])


def _sample_values(record: ModelRecord, condition: str) -> NDArray[np.float64]:
    samples = record.facts.get("samples", {})
    if condition not in samples:
        raise MissingStatisticsError(
            f"the record of {record.facts['name']} must have the condition {condition!r}, got only "
            f"{', '.join(samples)}; correct it in the claim"
        )
    values = np.array(samples[condition], np.float64)
    return np.stack([values, np.ones_like(values)], axis=-1)


def _sample_logarithms(record: ModelRecord, condition: str) -> NDArray[np.float64]:
    counts = _sample_values(record, condition)
    counts[:, 0] = np.log2(counts[:, 0])
    return counts


def _reach(record: ModelRecord, condition: str) -> NDArray[np.float64]:
    """Return log2 of the largest size of a condition with a share of right answers of `REACHED`, one round.

    Half of the smallest size if none has it.
    """
    samples = record.facts.get("samples", {})
    sizes = {
        int(size): np.mean(values)
        for name, values in samples.items()
        for words, _, size in [name.rpartition(" ")]
        if words == condition and size.isdecimal()
    }
    if not sizes:
        raise MissingStatisticsError(
            f"the record of {record.facts['name']} must have sizes of the condition {condition!r}, got only "
            f"{', '.join(samples)}; correct it in the claim"
        )
    largest = max((size for size, share in sizes.items() if share >= REACHED), default=min(sizes) / 2)
    return np.array([[np.log2(largest), 1.0]])


def _token_losses(record: ModelRecord, _search: str) -> NDArray[np.float64]:
    if "losses" not in record.facts["test"]:
        raise MissingStatisticsError(
            f"the record of {record.facts['name']} has no losses per sentence; measure it again with "
            "`python -m claims run`"
        )
    return np.array(record.facts["test"]["losses"], np.float64).T


def _ratio(totals: Totals) -> NDArray[np.float64]:
    ratio: NDArray[np.float64] = totals[..., 0] / totals[..., 1]
    return ratio


def _percentage(totals: Totals) -> NDArray[np.float64]:
    return 100 * _ratio(totals)


_ALL = [
    Measure("test-loss", "nats per token", _token_losses, _ratio),
    Measure("bleu", "BLEU", _bleu_counts, bleu_of_totals),
    Measure("doublings", "doublings", _sample_values, _ratio),
    Measure("reach", "doublings", _reach, _ratio),
    Measure("log2", "doublings", _sample_logarithms, _ratio),
    Measure("share", "share", _sample_values, _ratio),
    Measure("attention-small", "share of weights < 0.01", _attention_counts("small", "cells"), _ratio),
    Measure("attention-effective", "effective number of words", _attention_counts("effective", "rows"), _ratio),
    *(
        Measure(
            f"attention-{name}",
            f"mass of the {name.replace('-', ' ')} weights",
            _attention_counts(name, "rows"),
            _ratio,
        )
        for name in COLUMNS[4:]
    ),
    Measure("aer", "alignment error rate", _link_counts, _error_rate),
    Measure("unlinked-change", "change by an unlinked word / by a linked word", _change_counts, _change_ratio),
    Measure("linked-change", "change of log p by a linked word, in nats", _change_counts, _linked_change),
    Measure("coverage-deviation", "mean of (1 − Σ a)²", _coverage_counts("deviation"), _ratio),
    Measure("coverage-uncovered", "share of source tokens with Σ a < 0.5", _coverage_counts("uncovered"), _ratio),
    Measure("coverage-overcovered", "share of source tokens with Σ a > 1.5", _coverage_counts("overcovered"), _ratio),
    Measure(
        "words-repeated", "repeated words per 100", _word_counts("repeated", "words"), _percentage, from_texts=True
    ),
    Measure(
        "words-dropped",
        "dropped source words per 100",
        _word_counts("dropped", "translatable"),
        _percentage,
        from_texts=True,
    ),
]

MEASURES = {each.name: each for each in _ALL}
"""Measures by name."""


def measure(name: str) -> Measure:
    """Return a measure by its name."""
    if name not in MEASURES:
        raise ConfigError(f"measure must be one of {', '.join(MEASURES)}, got {name}; correct it in the claim")
    return MEASURES[name]


def term_counts(found: Measure, term: Term, record: ModelRecord) -> NDArray[np.float64]:
    """Return the statistics of a term; those of sentences outside its range of words are 0. Shape: [sentences, …]."""
    counts = found.counts(record, term.search)
    if not term.words:
        return counts
    words = record.source_words
    inside = (words >= term.words[0]) & (words <= term.words[1])
    return counts * inside[:, None]


def has_counts(comparison: Comparison, variant: str, record: ModelRecord) -> bool:
    """Whether a record of a variant has the statistics that a comparison requires of it."""
    found = measure(comparison.measure)
    try:
        for term in comparison.terms:
            if term.variant == variant:
                term_counts(found, term, record)
    except MissingStatisticsError:
        return False
    return True
