"""Names of metrics as their authors write them."""

from __future__ import annotations

__all__ = ["metric_title"]

# The setting chrf computes chrF++: chrF with word n-grams.
_TITLES = {"bleu": "BLEU", "chrf": "chrF++", "chrf++": "chrF++", "ter": "TER", "comet": "COMET"}


def metric_title(metric: str) -> str:
    """Return the name of a metric as its authors write it; other names are unchanged."""
    return _TITLES.get(metric.lower(), metric)
