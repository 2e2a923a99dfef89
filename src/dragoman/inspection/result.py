"""Data classes of an inspected translation: attention weights, candidates, search tree; choose an attention map."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.config.alignment import AttentionReading
from dragoman.errors import ConfigError, DataError

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


@dataclass(frozen=True, repr=False)
class InspectionResult:
    """A translation with the values computed while it was generated; a notebook shows it as an interactive page.

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

    def __repr__(self) -> str:
        """Return the two texts, the score and the model."""
        return f"<InspectionResult {self.source!r} → {self.translation!r}, score {self.score:.3f}, {self.model}>"

    def _repr_html_(self) -> str:
        """Return the interactive page of `dragoman inspect -o` in a frame of its own, for notebooks."""
        from dragoman.inspection.pages.inspection import render_inspection_frame  # noqa: PLC0415 -- imports this module

        return render_inspection_frame(self)

    @property
    def has_attention(self) -> bool:
        return bool(self.predicted.shape[0])

    def to_json(self) -> dict[str, Any]:
        """Return plain values, None where not finite, with entropy and coverage of `predicted` without the end."""
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
    """Return the entropy in bits of each row, which need not sum to 1. Shapes: [tgt, src] -> [tgt]."""
    shares = weights / np.maximum(weights.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
    bits: NDArray[np.float64] = -(shares * np.log2(np.maximum(shares, np.finfo(np.float64).tiny))).sum(-1)
    return np.maximum(bits, 0.0)


def coverage(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the total attention of rows of words on each source word, about 1 each. Shapes: [tgt, src] -> [src]."""
    total: NDArray[np.float64] = weights.sum(-2)
    return total


@dataclass(frozen=True)
class AttentionMap:
    """A map with the labels of its columns and rows, and its description. Shapes: weights [rows, columns]."""

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    weights: NDArray[np.float64]
    name: str


def select_map(
    result: InspectionResult,
    *,
    layer: int | None = None,
    head: int | None = None,
    reading: AttentionReading = "predicted",
) -> AttentionMap:
    """Select a map. Layers and heads count from 1; the default is the default layer and the mean of all heads."""
    if not result.has_attention:
        raise ConfigError("this model has no attention to draw a map of; use one that has")
    if reading not in ("predicted", "input"):
        raise ConfigError(f"reading must be predicted or input, got {reading}; predicted is the usual one")
    maps = result.predicted if reading == "predicted" else result.given  # [layers, heads, tgt (+ 1), src + 1]
    layers, heads = maps.shape[:2]
    _check_number("layer", layer, layers)
    _check_number("head", head, heads)
    selected = result.default_layer + 1 if layer is None else layer
    of_layer = maps[selected - 1]
    rows = (*result.target_words, END) if reading == "predicted" else result.target_words
    weights: NDArray[np.float64] = of_layer.mean(0) if head is None else of_layer[head - 1]
    name = describe_map(selected, layers, head, heads, reading)
    return AttentionMap((*result.source_words, END), rows, weights, name)


def _check_number(name: str, number: int | None, maximum: int) -> None:
    if number is not None and not 1 <= number <= maximum:
        raise ConfigError(
            f"{name} must be from 1 to {maximum} in this model, got {number}; leave it out for the usual one"
        )


def describe_map(layer: int, layers: int, head: int | None, heads: int, reading: AttentionReading) -> str:
    """Describe a map in words: its layer, its heads and its reading."""
    parts = [] if layers == 1 else [f"layer {layer} of {layers}"]
    if heads > 1:
        parts.append(f"mean of {heads} heads" if head is None else f"head {head} of {heads}")
    parts.append("when each word is generated" if reading == "predicted" else "when each word is the input")
    return ", ".join(parts)


def check_weights(weights: ArrayLike, source_words: Sequence[str], target_words: Sequence[str]) -> NDArray[np.float64]:
    """Return the weights as an array, clipped to 0–1, with NaN as 0. Shapes: -> [tgt, src]."""
    values = np.asarray(weights, dtype=np.float64)
    expected = (len(target_words), len(source_words))
    if values.shape != expected:
        raise DataError(
            f"weights must be [{expected[0]} target words, {expected[1]} source words], got the shape {values.shape}; "
            "give one row for each target word, and in it one number for each source word"
        )
    return np.clip(np.nan_to_num(values), 0.0, 1.0)
