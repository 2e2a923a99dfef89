"""Compute sentence chrF++, used to select example sentences; not a score of a system."""

from __future__ import annotations

from collections.abc import Sequence

from sacrebleu.metrics.chrf import CHRF

from dragoman.errors import DataError

__all__ = ["sentence_scores"]


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
