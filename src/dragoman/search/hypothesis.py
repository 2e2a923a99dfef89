"""Data classes of search: its input, its result (a hypothesis), and the tree of all partial hypotheses."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SearchInput:
    """One source sentence (token ids without specials) and the constraints on its translation.

    A translation begins with `prefix` and contains each of `phrases` after it. `phrase_sources` gives the source
    positions that each phrase translates, if known. `may_follow` [vocab] marks the tokens that may follow a word, so
    that a required word is not extended to a longer one and does not begin within another. `number` identifies the
    sentence for sampling: its samples do not depend on the other sentences of the batch.
    """

    tokens: Sequence[int]
    prefix: Sequence[int] = ()
    phrases: Sequence[Sequence[int]] = ()
    phrase_sources: Sequence[Sequence[int]] = ()
    may_follow: NDArray[np.bool_] | None = None
    number: int = 0

    @property
    def min_length(self) -> int:
        """Minimum length of the translation: prefix, phrases and end."""
        return len(self.prefix) + (sum(map(len, self.phrases)) + 1 if self.phrases else 0)


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its tokens without specials, and its log p including the end.

    A search ranks by `score`: log p with length and coverage penalties (with required phrases, also by a credit for
    their position, which `score` does not include). `is_finished` is False if the length limit came before the end.

    Shapes: alignment [tgt, src], if requested and available. The last row belongs to the end of a finished
    translation, the last column to the end of the source.
    """

    tokens: list[int]
    log_prob: float
    alignment: NDArray[np.float32] | None = None
    score: float = 0.0
    is_finished: bool = True


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
