"""Data classes of an inspected translation: attention weights, candidate tokens, search tree, counterfactuals."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BeamNode", "Candidate", "Counterfactual", "END", "InspectionResult", "coverage", "entropy"]

END = "⟨end⟩"
"""Label of the end token: as the last column, the last row, a step and a node."""

_DECIMALS = 6


@dataclass(frozen=True)
class Candidate:
    """A possible token at a step, and its probability.

    `text` is the token as its tokenizer writes it, with ``▁`` for a space and ``<0x21>`` for a byte; `readable_token`
    converts it for display.
    """

    text: str
    probability: float


@dataclass(frozen=True)
class BeamNode:
    """A token kept in the beam. `parent` is the index of the previous node, -1 for none.

    `log_prob` is that of the hypothesis up to this node. `rank` is its position in the beam, 0 for the best, and -1 for
    an end token. `is_best` marks the path to the selected translation.
    """

    parent: int
    text: str
    step: int
    rank: int
    log_prob: float
    is_end: bool
    is_best: bool


@dataclass(frozen=True)
class Counterfactual:
    """Another word forced at one position, and the translation that the model continues with.

    `word` is the index of the replaced target word, or their number for the end. `forced` is the forced text (empty:
    the end), `score` the mean log-probability of the resulting translation.
    """

    word: int
    forced: str
    probability: float
    translation: str
    score: float


@dataclass(frozen=True)
class InspectionResult:
    """A translation with the values computed while it was generated.

    `source_words` and `target_words` exclude the end tokens. All attention maps have the source's end as their last
    column; `predicted` has the translation's end as its last row. `predicted` assigns a step's attention to the word
    that the step generates, `given` to the word that is its input. Both average over the tokens of a word; `steps` has
    one row per token. `default_layer`, from 0, is the last but one, or the only one; the last of a model with guided
    alignment.

    Shapes: predicted [layers, heads, tgt + 1, src + 1], given [layers, heads, tgt, src + 1], steps [layers, heads,
    tgt tokens + 1, src + 1], all without layers if the model has no attention.
    """

    source: str
    translation: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    tokens: tuple[str, ...]
    token_words: tuple[int, ...]
    """Index of the target word of each token, without the end."""
    candidates: tuple[tuple[Candidate, ...], ...]
    """For each token, and for the end, the most probable tokens in descending order."""
    predicted: NDArray[np.float64]
    given: NDArray[np.float64]
    steps: NDArray[np.float64]
    default_layer: int
    score: float
    tree: tuple[BeamNode, ...] = ()
    counterfactuals: tuple[Counterfactual, ...] = ()
    flags: tuple[str, ...] = ()
    model: str = ""
    """One line: model family, size, engine and search settings."""

    @property
    def has_attention(self) -> bool:
        """Whether the model has attention."""
        return bool(self.predicted.shape[0])

    def to_json(self) -> dict[str, Any]:
        """Return plain values; numbers that are not finite become None.

        Adds ``entropy`` [layers][heads][target words] and ``coverage`` [layers][heads][source words] of ``predicted``
        without the row of the end.
        """
        words = self.predicted[:, :, : len(self.target_words)]
        maps = {"predicted": self.predicted, "given": self.given, "steps": self.steps}
        maps |= {"entropy": entropy(words), "coverage": coverage(words)[..., : len(self.source_words)]}
        fields = {name: _json_value(value) for name, value in asdict(self).items() if name not in maps}
        return fields | {name: values.round(_DECIMALS).tolist() for name, values in maps.items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(each) for each in value]
    if isinstance(value, float):
        return round(value, _DECIMALS) if math.isfinite(value) else None
    return value


def entropy(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy of each row in bits; 0 if all weight is on one word. Shapes: [tgt, src] -> [tgt].

    Rows that do not sum to 1, as in local attention, are normalized.
    """
    shares = weights / np.maximum(weights.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
    bits: NDArray[np.float64] = -(shares * np.log2(np.maximum(shares, np.finfo(np.float64).tiny))).sum(-1)
    return np.maximum(bits, 0.0)


def coverage(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the total attention on each source word, about 1 per word. Shapes: [tgt, src] -> [src].

    Pass only rows of words, without the row of the end.
    """
    total: NDArray[np.float64] = weights.sum(-2)
    return total
