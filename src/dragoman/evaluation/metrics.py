"""Scores of translations against one reference each, computed and signed by sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dragoman.errors import ConfigError
from dragoman.evaluation.intervals import resampled_scores, score_of_totals, seed_setting
from dragoman.evaluation.sentence_statistics import (
    METRICS,
    NAMES,
    Statistics,
    check_counts,
    corpus_statistics,
    signed_metric,
)

__all__ = ["Interval", "METRICS", "Score", "bleu", "chrf", "corpus_scores", "exact_match", "score_of"]


@dataclass(frozen=True)
class Interval:
    """Where the figure would lie 95 times of 100, had other sentences of the same kind been chosen: mean ± half."""

    mean: float
    half_width: float


@dataclass(frozen=True)
class Score:
    """A figure, and the signature that says how it was computed; without the same signature, do not compare."""

    name: str
    value: float
    signature: str
    interval: Interval | None = None


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus BLEU, 0 to 100, as sacreBLEU computes it by default: 13a, mixed case. Texts are raw, never tokenized."""
    check_counts(hypotheses, references)
    metric = BLEU(force=True)  # else it warns of texts that only look tokenized
    value = metric.corpus_score(hypotheses, [references]).score
    return Score("bleu", value, str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus chrF2, 0 to 100, as sacreBLEU computes it by default: characters only, recall counts twice."""
    check_counts(hypotheses, references)
    metric = CHRF()
    value = metric.corpus_score(hypotheses, [references]).score
    return Score("chrf", value, str(metric.get_signature()))


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """The share of translations, 0 to 1, that are their reference to the last character."""
    check_counts(hypotheses, references)
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
    """BLEU, chrF++ and TER as sacreBLEU's command prints them, each with its signature.

    The language is that of the translations: as with the command's ``-l``, it chooses the tokenizer of BLEU. With
    `resamples`, each score has the interval of the command's ``--confidence``. [post2018bleu]
    """
    statistics = corpus_statistics(hypotheses, references, metrics=metrics, language=language)
    return tuple(score_of(each, resamples=resamples) for each in statistics)


def score_of(statistics: Statistics, *, resamples: int = 0) -> Score:
    """Return the score of sentences that were counted already."""
    if resamples < 0 or resamples == 1:
        raise ConfigError(f"resamples must be 0, for no interval, or at least 2, got {resamples}; 1000 is usual")
    metric = signed_metric(statistics.metric, statistics.language)
    score = score_of_totals(metric, statistics.counts.sum(0).tolist())
    interval = None
    if resamples:
        metric.n_bootstrap = resamples
        metric.seed, seed = seed_setting()
        score.estimate_ci(resampled_scores(statistics, resamples, seed))
        interval = Interval(float(score._mean), float(score._ci))  # noqa: SLF001 -- it prints them, but has no name for them
    return Score(NAMES[statistics.metric], float(score.score), str(metric.get_signature()), interval)
