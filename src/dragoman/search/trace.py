"""Record the tree of a beam search: all partial hypotheses that were kept, and all finished ones."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class TraceNode:
    """A token in the tree. `parent` is the number of the previous node, -1 for first tokens.

    `log_prob` is the total up to this token. `step` counts from 0; `rank` is the position in the beam, 0 is the best.
    `is_end` marks the end of a finished translation.
    """

    parent: int
    token: int
    step: int
    rank: int
    log_prob: float
    is_end: bool = False


@dataclass
class SearchTrace:
    """The trees of the sentences of one batch: for each a list of nodes, in the order of creation."""

    trees: dict[int, list[TraceNode]] = field(default_factory=dict)

    def add(self, sentence: int, node: TraceNode) -> int:
        """Add a node and return its number."""
        tree = self.trees.setdefault(sentence, [])
        tree.append(node)
        return len(tree) - 1
