"""The search tree: every candidate that a beam search kept or closed, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Node", "Trace"]


@dataclass(frozen=True)
class Node:
    """A word that a search wrote. `parent` is the number of the node before it, -1 for the first words.

    `log_prob` is that of all words up to this one. `step` counts from 0; `rank` is its place in the beam, 0 the best.
    `is_end` marks the end of a finished translation.
    """

    parent: int
    piece: int
    step: int
    rank: int
    log_prob: float
    is_end: bool = False


@dataclass
class Trace:
    """The trees of the sentences of one batch: for each a list of nodes, in the order they were written."""

    trees: dict[int, list[Node]] = field(default_factory=dict)

    def add(self, sentence: int, node: Node) -> int:
        """Note a node, and return its number."""
        tree = self.trees.setdefault(sentence, [])
        tree.append(node)
        return len(tree) - 1
