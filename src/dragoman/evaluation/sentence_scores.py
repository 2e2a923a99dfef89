"""Scores of single sentences, to find those worth looking at; they say little about a system."""

from __future__ import annotations

from collections.abc import Sequence

from sacrebleu.metrics.chrf import CHRF

from dragoman.errors import DataError

__all__ = ["SENTENCE_METRIC", "sentence_scores"]

SENTENCE_METRIC = "chrf++"


def sentence_scores(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """The chrF++ of each translation, 0 to 100. BLEU is no measure of a sentence: most have no four words in common."""
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
