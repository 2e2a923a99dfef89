"""Evaluation: how good translations are, in figures that others can compute again."""

from dragoman.evaluation.metrics import Score, bleu, chrf, exact_match

__all__ = ["Score", "bleu", "chrf", "exact_match"]
