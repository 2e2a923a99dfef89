"""Compute corpus BLEU, chrF and TER with the values and signatures of sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.config.evaluation import METRICS
from dragoman.errors import ConfigError
from dragoman.evaluation.metrics.sentence_statistics import (
    SCORE_NAMES,
    Statistics,
    check_sizes,
    corpus_statistics,
    signed_metric,
)
from dragoman.evaluation.results import Interval, Score
from dragoman.evaluation.significance.bootstrap import resampled_scores, score_of_totals, seed_setting

__all__ = ["bleu", "chrf", "compute_score", "corpus_scores", "exact_match"]


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
    """Compute BLEU, chrF++ and TER, with the values and signatures that sacreBLEU's command prints.

    `language`, that of the translations, selects the tokenizer of BLEU. With `resamples`,
    each score has the interval of the command's ``--confidence``. [post2018bleu]
    """
    statistics = corpus_statistics(hypotheses, references, metrics=metrics, language=language)
    return tuple(compute_score(each, resamples=resamples) for each in statistics)


def compute_score(statistics: Statistics, *, resamples: int = 0) -> Score:
    """Compute the score of sentence statistics; the score of one sentence has no interval."""
    if resamples < 0 or resamples == 1:
        raise ConfigError(f"resamples must be 0, for no interval, or at least 2, got {resamples}; 1000 is usual")
    metric = signed_metric(statistics.metric, statistics.language)
    score = score_of_totals(metric, statistics.counts.sum(0).tolist())
    interval = None
    if resamples and len(statistics) > 1:  # all resamples of one sentence are equal
        metric.n_bootstrap = resamples
        metric.seed, seed = seed_setting()
        score.estimate_ci(resampled_scores(statistics, resamples, seed))
        interval = Interval(float(score._mean), float(score._ci))  # noqa: SLF001 -- sacreBLEU has no public name
    return Score(SCORE_NAMES[statistics.metric], float(score.score), str(metric.get_signature()), interval)
