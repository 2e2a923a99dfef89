"""Everything that a model looked at while it wrote a translation: every layer, every head, every reading of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.api.word_alignment import WordAlignment, word_alignment
from dragoman.errors import ConfigError

__all__ = ["Attention", "AttentionChoice", "Reading", "posterior"]

Reading = Literal["predicted", "input", "posterior"]
"""How the look of a word is read.

``predicted``: that of the step which writes it. ``input``: that of the step which is given it, one later, by which
Transformers align words better ([chen2020], section 3). ``posterior``: that of the step which writes it, once it is
known which word that is ([shankar2019], section 2): how likely each place alone makes the word counts too.
"""

_PRIOR = 0.5
"""The power of the look before the word is known.

By Bayes' rule it would be 1; but a look that cannot know its word is surer than it should be.
`benchmarks/results/alignment.md` has the errors of other powers.
"""


@dataclass(frozen=True)
class AttentionChoice:
    """One map of many. Layers and heads count from 1, the lowest layer first.

    Without a layer it is the last but one, or the only one; without a head, the mean over all of them.
    """

    layer: int | None = None
    head: int | None = None
    reading: Reading = "predicted"


@dataclass(frozen=True)
class Attention:
    """The pieces of a source and of its translation, as they stand in the texts, and all maps between them.

    `likelihoods` are needed for the reading `posterior` only: log p of each target piece, had its step seen one place
    of the source alone.

    Shapes: weights [layers, heads, tgt + 1, src + 1], likelihoods [tgt + 1, src + 1], the ends last.
    """

    source_pieces: tuple[str, ...]
    target_pieces: tuple[str, ...]
    weights: NDArray[np.float32]
    likelihoods: NDArray[np.float32] | None = None

    @property
    def layers(self) -> int:
        """How many layers look at the source."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """How many heads each of them has."""
        return int(self.weights.shape[1])

    def pieces(self, choice: AttentionChoice | None = None) -> NDArray[np.float32]:
        """One map between pieces. Shapes: -> [tgt + 1, src + 1], or [tgt, src + 1] of the reading `input`.

        The last target piece is an input too: of the step that writes the end.
        """
        choice = choice or AttentionChoice()
        self.check(choice)
        layer = max(self.layers - 1, 1) if choice.layer is None else choice.layer
        heads = self.weights[layer - 1]  # [heads, tgt + 1, src + 1]
        if choice.head is not None:
            heads = heads[[choice.head - 1]]
        one: NDArray[np.float32] = heads.mean(0)
        if choice.reading == "posterior":
            return posterior(one, self.likelihoods)
        return one if choice.reading == "predicted" else one[1:]

    def check(self, choice: AttentionChoice, *, of: str = "") -> None:
        """Refuse a layer or a head that the model does not have; errors begin with `of`."""
        for name, number, most in (("layer", choice.layer, self.layers), ("head", choice.head, self.heads)):
            if number is not None and not 1 <= number <= most:
                rule = f"from 1 to {most}" if most > 1 else "1"
                raise ConfigError(f"{of}{name} must be {rule} in this model, got {number}; choose one that it has")

    def words(self, choice: AttentionChoice | None = None, *, by_spaces: bool = False) -> WordAlignment:
        """One map between words; with `by_spaces` they are what stands between white space, in every script."""
        return word_alignment(self.source_pieces, self.target_pieces, self.pieces(choice), by_spaces=by_spaces)


def posterior(
    looks: NDArray[np.float32], likelihoods: NDArray[np.float32] | None, power: float = _PRIOR
) -> NDArray[np.float32]:
    """Where words look once they are known. Shapes: looks [*, tgt, src], likelihoods [tgt, src] -> [*, tgt, src].

    `power` is that of the looks. A place that was not looked at at all stays so; where that leaves nothing, the look is
    what it was.
    """
    if likelihoods is None:
        raise ConfigError(
            "the reading posterior must have likelihoods, got attention without; ask the translator for it with "
            "likelihoods=True"
        )
    known = looks**power * np.exp(likelihoods - likelihoods.max(-1, keepdims=True))
    total = known.sum(-1, keepdims=True)
    found: NDArray[np.float32] = np.where(total > 0, known / np.where(total > 0, total, 1), looks).astype(np.float32)
    return found
