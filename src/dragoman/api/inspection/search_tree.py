"""Convert a recorded beam search to the nodes of a search tree, and mark the path of the translation."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.inspection.result import BeamNode
from dragoman.search.trace import TraceNode
from dragoman.text import EOS_ID, Tokenizer

__all__ = ["beam_nodes"]


def beam_nodes(nodes: Sequence[TraceNode], target: Sequence[int], tokenizer: Tokenizer) -> tuple[BeamNode, ...]:
    """Return the nodes of a search with their tokens; those of the translation `target` are marked."""
    best = _best_path(nodes, target)
    return tuple(
        BeamNode(
            node.parent,
            tokenizer.id_to_token(node.token),
            node.step,
            node.rank,
            node.log_prob,
            node.is_end,
            number in best,
        )
        for number, node in enumerate(nodes)
    )


def _best_path(nodes: Sequence[TraceNode], target: Sequence[int]) -> set[int]:
    """Return the indices of the nodes of a translation, its end included if it has one.

    Two groups of a beam may have the same translation: the first that reached its end is taken.
    """
    matches: list[bool] = []
    last = -1
    for number, node in enumerate(nodes):
        follows = node.parent < 0 or matches[node.parent]
        is_next = node.token == (*target, EOS_ID)[node.step] if node.step <= len(target) else False
        matches.append(follows and is_next)
        if matches[-1] and (last < 0 or node.step > nodes[last].step):
            last = number
    path: set[int] = set()
    while last >= 0:
        path.add(last)
        last = nodes[last].parent
    return path
