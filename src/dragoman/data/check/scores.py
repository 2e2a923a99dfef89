"""Scores as people read them: the names of metrics, their decimals, and which way is better."""

from __future__ import annotations

__all__ = ["LOWER_IS_BETTER", "SIGNIFICANT", "digits", "title"]

SIGNIFICANT = 0.05
"""A difference counts as one if it would come about less often than this where there is none."""
LOWER_IS_BETTER = ("ter",)

_TITLES = {"bleu": "BLEU", "chrf": "chrF", "chrf++": "chrF++", "ter": "TER", "comet": "COMET"}


def title(metric: str) -> str:
    """What a metric is called, as its authors write it."""
    return _TITLES.get(metric.lower(), metric)


def digits(metric: str) -> int:
    """How many decimals are shown: those of COMET lie between 0 and 1."""
    return 4 if metric.lower() == "comet" else 2
