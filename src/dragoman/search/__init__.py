"""Search: from a model's predictions to the translations that are kept. Nothing here needs torch."""

from dragoman.search.ensemble import together
from dragoman.search.forced import force
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.protocol import Prediction, Start, Watch, Writing
from dragoman.search.search import search
from dragoman.search.settings import SearchSettings
from dragoman.search.trace import Node, Trace

__all__ = [
    "Hypothesis",
    "Node",
    "Prediction",
    "SearchSettings",
    "Sentence",
    "Start",
    "Trace",
    "Watch",
    "Writing",
    "force",
    "search",
    "together",
]
