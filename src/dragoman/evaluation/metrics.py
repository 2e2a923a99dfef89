"""Scores of translations against one reference each, computed and signed by sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dragoman.errors import DataError

__all__ = ["Interval", "Score", "bleu", "chrf", "exact_match"]


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
    _check_counts(hypotheses, references)
    metric = BLEU(force=True)  # else it warns of texts that only look tokenized
    value = metric.corpus_score(hypotheses, [references]).score
    return Score("bleu", value, str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus chrF2, 0 to 100, as sacreBLEU computes it by default: characters only, recall counts twice."""
    _check_counts(hypotheses, references)
    metric = CHRF()
    value = metric.corpus_score(hypotheses, [references]).score
    return Score("chrf", value, str(metric.get_signature()))


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """The share of translations, 0 to 1, that are their reference to the last character."""
    _check_counts(hypotheses, references)
    right = sum(hypothesis == reference for hypothesis, reference in zip(hypotheses, references, strict=True))
    return Score("exact match", right / len(references), "exact|nrefs:1|case:mixed|tok:none")


def _check_counts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references) or not references:
        raise DataError(
            f"hypotheses and references must be as many, and at least one, got {len(hypotheses)} and "
            f"{len(references)}; give one reference for each translation"
        )
