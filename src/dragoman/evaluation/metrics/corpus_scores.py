"""Compute BLEU, chrF and TER with the values and signatures of sacreBLEU: of corpora, by length, of sentences."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from dragoman.config.evaluation import METRICS
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.results import Interval, LengthBin, Score
from dragoman.evaluation.significance import (
    DEFAULT_RESAMPLES,
    Statistics,
    check_sizes,
    corpus_statistics,
    resampled_scores,
    score_of_totals,
    seed_setting,
    signed_metric,
)
from dragoman.text.words import count_words

DEFAULT_EDGES = (1, 10, 20, 30, 40, 50, 60)
"""Minimum words of each bin: 1 to 9, 10 to 19, …, 60 and more."""


def bleu(hypotheses: Sequence[str], references: Sequence[str], *, language: str = "") -> Score:
    """Compute corpus BLEU (0 to 100) of detokenized texts, mixed case; `language` selects the tokenizer."""
    check_sizes(hypotheses, references)
    metric = signed_metric("bleu", language)
    value = metric.corpus_score(hypotheses, [references]).score
    return Score("bleu", value, str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Compute corpus chrF++ (0 to 100): characters and words, recall weighted twice."""
    check_sizes(hypotheses, references)
    metric = signed_metric("chrf", "")
    value = metric.corpus_score(hypotheses, [references]).score
    return Score("chrf", value, str(metric.get_signature()))


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Compute the share (0 to 1) of translations that equal their reference."""
    check_sizes(hypotheses, references)
    right = sum(hypothesis == reference for hypothesis, reference in zip(hypotheses, references, strict=True))
    return Score("exact match", right / len(references), "exact|nrefs:1|case:mixed|tok:none")


def corpus_scores(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    metrics: Sequence[str] = METRICS,
    language: str = "",
    resamples: int = 0,
) -> tuple[Score, ...]:
    """Compute BLEU, chrF++ and TER with values, signatures and intervals of sacreBLEU's command. [post2018bleu]"""
    statistics = corpus_statistics(hypotheses, references, metrics=metrics, language=language)
    return tuple(compute_score(each, resamples=resamples) for each in statistics)


def compute_score(statistics: Statistics, *, resamples: int = 0) -> Score:
    """Compute the score of sentence statistics; the score of one sentence has no interval."""
    if resamples < 0 or resamples == 1:
        raise ConfigError(f"resamples must be 0, for no interval, or at least 2, got {resamples}; 1000 is usual")
    metric = statistics.signed_metric()
    score = score_of_totals(metric, statistics.counts.sum(0).tolist())
    interval = None
    if resamples and len(statistics) > 1:  # all resamples of one sentence are equal
        metric.n_bootstrap = resamples
        metric.seed, seed = seed_setting()
        score.estimate_ci(resampled_scores(statistics, resamples, seed))
        interval = Interval(float(score._mean), float(score._ci))  # noqa: SLF001 -- sacreBLEU has no public name
    return Score(statistics.score_name, float(score.score), str(metric.get_signature()), interval)


def sentence_scores(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """Compute the chrF++ (0 to 100) of each translation; BLEU is 0 for most single sentences."""
    if len(hypotheses) != len(references):
        raise DataError(
            f"there must be a reference for each translation, got {len(hypotheses)} translations and "
            f"{len(references)} references; count the lines of both"
        )
    metric = CHRF(word_order=2)
    return [
        float(metric.sentence_score(hypothesis, [reference]).score)
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]


def scores_by_length(
    sources: Sequence[str],
    statistics: Sequence[Statistics],
    *,
    edges: Sequence[int] = DEFAULT_EDGES,
    resamples: int = DEFAULT_RESAMPLES,
) -> tuple[LengthBin, ...]:
    """Score the sentences of each bin of source words separately; empty bins are omitted."""
    if not edges or edges[0] < 0 or any(first >= second for first, second in pairwise(edges)):
        raise ConfigError(f"edges must go upwards from 0 or more, got {list(edges)}; for instance 1 10 20 30")
    for each in statistics:
        if len(each) != len(sources):
            raise DataError(
                f"sources and hypotheses must have equal numbers, got {len(sources)} and {len(each)}; give one source "
                "for each translation"
            )
    bins = np.searchsorted(edges, [count_words(source) for source in sources], side="right") - 1
    found = []
    for number, (low, following) in enumerate(zip(edges, [*edges[1:], None], strict=True)):
        rows = np.flatnonzero(bins == number)
        if len(rows):
            scores = tuple(compute_score(each.select(rows), resamples=resamples) for each in statistics)
            found.append(LengthBin(low, None if following is None else following - 1, len(rows), scores))
    return tuple(found)
