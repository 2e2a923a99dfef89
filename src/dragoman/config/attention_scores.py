"""Score functions of attention as settings and saved models need them: legal combinations, names and shapes of weights.

The equations are in `nn.attention.score`. Nothing here imports torch, so an untrusted bundle is checked without it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.errors import MissingExtraError
from dragoman.plugins import find_plugin, load_plugin

ALIGNMENTS = ("global", "hard", "local-m", "local-p")
MEMORIES = ("shared", "split")

Shape = tuple[int, ...]


@dataclass(frozen=True)
class ScoreRules:
    """What must be known about a score function before it is built."""

    weights: Mapping[str, tuple[str | int, ...]]
    """Shape of each weight by its name. A dimension is a number, or one of query, key, hidden and positions."""
    alignments: tuple[str, ...] = ALIGNMENTS
    memories: tuple[str, ...] = MEMORIES
    needs_equal_sizes: bool = False
    """Whether queries and keys must have the same size."""

    def shapes(self, **sizes: int) -> dict[str, Shape]:
        """Return the shapes of the weights for these sizes of query, key, hidden and positions."""
        return {
            name: tuple(each if isinstance(each, int) else sizes[each] for each in shape)
            for name, shape in self.weights.items()
        }


SCORES = {
    "dot": ScoreRules({}, needs_equal_sizes=True),
    "scaled-dot": ScoreRules({}, needs_equal_sizes=True),
    "general": ScoreRules({"W_a": ("query", "key")}),
    "concat": ScoreRules({"W_q": ("hidden", "query"), "U_k": ("hidden", "key"), "v_a": ("hidden",)}),
    # A location score is one row over all positions, independent of the keys: there is no window of it to gather, and
    # half of each state would be lost in a split memory.
    "location": ScoreRules({"W_a": ("positions", "query")}, alignments=("global", "hard"), memories=("shared",)),
}


def score_rules(name: str) -> ScoreRules:
    """Return the rules of a score function; that of a plug-in is imported."""
    return SCORES[name] if name in SCORES else plugin_score(name).rules


def plugin_score(name: str) -> Any:
    """Import the score function of a plug-in: a subclass of `nn.attention.score.ScoreFunction` with rules."""
    score = load_plugin("scores", name)
    if not isinstance(getattr(score, "rules", None), ScoreRules):
        raise MissingExtraError(f"{find_plugin('scores', name)} must be a score function with rules, got {score!r}")
    return score
