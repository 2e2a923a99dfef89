"""Search: from a model and a source to the translation that is kept."""

from dragoman.search.greedy import Hypothesis, greedy

__all__ = ["Hypothesis", "greedy"]
