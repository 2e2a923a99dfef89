"""Attention maps of a translation between tokens, for all layers and heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dragoman.api.translation.prepared_text import Chunk
from dragoman.api.translation.word_alignment import WordAlignment, word_alignment
from dragoman.engines.lexical_likelihoods import LexicalLikelihoods
from dragoman.errors import ConfigError
from dragoman.search.hypothesis import Hypothesis

if TYPE_CHECKING:
    from dragoman.config.alignment import AttentionChoice

_PRIOR = 0.5
"""Exponent of the attention weights in the readings `posterior` and `lexical`.

By Bayes' rule it would be 1, but attention weights that cannot depend on the word are too confident.
`benchmarks/results/alignment.md` has the errors of other exponents.
"""
_FLOOR = 0.05
"""Added to lexical likelihoods, of which the highest of a target word is 1: attention decides where none is likely."""
_TINY = np.float32(1e-30)


@dataclass(frozen=True)
class AttentionMaps:
    """Source and target tokens, as spelt in the texts, and all attention maps between them.

    `likelihoods` are required by the reading `posterior`: the log-probability of each target token given one source
    position alone.

    `lexical` are required by the reading `lexical`: the log-probability of each target word given one source word as a
    whole sentence.

    `is_guided`: the usual map is the first head of the last layer, not the mean of the last layer but one. With
    `aligns_input` the row of a token is that of the next step.

    Shapes: weights [layers, heads, tgt + 1, src + 1], likelihoods [tgt + 1, src + 1], lexical [tgt, src]; ends last.
    """

    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    weights: NDArray[np.float32]
    likelihoods: NDArray[np.float32] | None = None
    lexical: NDArray[np.float32] | None = None
    is_guided: bool = False
    aligns_input: bool = False

    @property
    def layers(self) -> int:
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        return int(self.weights.shape[1])

    def tokens(self, choice: AttentionChoice | None = None) -> NDArray[np.float32]:
        """Return one map between tokens. Shapes: -> [tgt + 1, src + 1], or [tgt, src + 1] for the reading `input`.

        The last target token is the input of the step that writes the end.
        """
        from dragoman.config.alignment import AttentionChoice  # noqa: PLC0415 -- settings, slow to import

        choice = choice or AttentionChoice()
        is_usual = choice.layer is choice.head is None
        if self.is_guided and is_usual:
            choice = replace(choice, layer=self.layers, head=1)
        self.check(choice)
        layer = max(self.layers - 1, 1) if choice.layer is None else choice.layer
        heads = self.weights[layer - 1]  # [heads, tgt + 1, src + 1]
        if choice.head is not None:
            heads = heads[[choice.head - 1]]
        one: NDArray[np.float32] = heads.mean(0)
        if self.aligns_input and is_usual and choice.reading in ("lexical", "posterior"):
            one = of_next_steps(one)
        if choice.reading == "posterior":
            return posterior(one, self.likelihoods)
        if choice.reading == "lexical":
            return lexical_posterior(one, self.lexical)
        return one if choice.reading == "predicted" else one[1:]

    def check(self, choice: AttentionChoice) -> None:
        """Raise `ConfigError` for a layer or head that the model does not have."""
        for name, number, most in (("layer", choice.layer, self.layers), ("head", choice.head, self.heads)):
            if number is not None and not 1 <= number <= most:
                rule = f"from 1 to {most}" if most > 1 else "1"
                raise ConfigError(f"{name} must be {rule} in this model, got {number}; choose one that it has")

    def words(self, choice: AttentionChoice | None = None, *, by_spaces: bool = False) -> WordAlignment:
        """Return one map between words; with `by_spaces` words are delimited by white space, in every script."""
        return word_alignment(self.source_tokens, self.target_tokens, self.tokens(choice), by_spaces=by_spaces)


def posterior(
    weights: NDArray[np.float32], likelihoods: NDArray[np.float32] | None, power: float = _PRIOR
) -> NDArray[np.float32]:
    """Return weights given the target words. Shapes: weights [*, tgt, src], likelihoods [tgt, src] -> [*, tgt, src].

    `power` is the exponent of the weights. A weight of 0 stays 0; a row whose products are all 0 is unchanged.
    """
    if likelihoods is None:
        raise ConfigError("the reading posterior needs likelihoods; call Translator.attention with likelihoods=True")
    known = weights**power * np.exp(likelihoods - likelihoods.max(-1, keepdims=True))
    total = known.sum(-1, keepdims=True)
    found: NDArray[np.float32] = np.where(total > 0, known / np.where(total > 0, total, 1), weights).astype(np.float32)
    return found


def lexical_posterior(weights: NDArray[np.float32], likelihoods: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """Return weights given the target words; the ends keep their weight, and rows their sum.

    `likelihoods` are those of `engines.lexical_likelihoods`.
    Shapes: weights [*, tgt (+ 1), src + 1], likelihoods [tgt, src] -> as weights.
    """
    if likelihoods is None:
        raise ConfigError("the reading lexical needs likelihoods; call Translator.attention with lexical=True")
    tgt, src = likelihoods.shape
    if not tgt or not src:
        return weights
    before = weights[..., :tgt, :src]
    likely = np.exp(likelihoods - likelihoods.max(-1, keepdims=True))
    known = before**_PRIOR * (likely + np.float32(_FLOOR))
    total = known.sum(-1, keepdims=True)
    scale = before.sum(-1, keepdims=True) / np.maximum(total, _TINY)
    found = weights.copy()
    found[..., :tgt, :src] = np.where(total > 0, known * scale, before)
    return found


def of_next_steps(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return for each row the next one, whose step has the token of the row as input; the last row stays."""
    return np.concatenate([weights[1:], weights[-1:]])


def with_next_steps(hypothesis: Hypothesis) -> Hypothesis:
    """Return a hypothesis whose tokens have the attention weights of the steps that have them as input."""
    if hypothesis.alignment is None:
        return hypothesis
    return replace(hypothesis, alignment=of_next_steps(hypothesis.alignment))


def with_likelihoods(hypothesis: Hypothesis, likely: NDArray[np.float32]) -> Hypothesis:
    """Return a hypothesis with the attention weights given its words. Shapes: likely [tgt, src]."""
    if hypothesis.alignment is None:
        return hypothesis
    return replace(hypothesis, alignment=lexical_posterior(hypothesis.alignment, likely))


def weigh_by_likelihoods(chunks: Sequence[Chunk], lexical: LexicalLikelihoods) -> None:
    """Replace the attention weights of all hypotheses by those given their words."""
    rows = [
        (chunk, place, chunk.ids, hypothesis)
        for chunk in chunks
        for place, hypothesis in enumerate(chunk.hypotheses)
        if hypothesis.alignment is not None and hypothesis.tokens and chunk.ids
    ]
    pairs = [(chunk.normalized, ids, hypothesis.tokens) for chunk, _, ids, hypothesis in rows]
    for (chunk, place, _, before), likely in zip(rows, lexical.between_tokens(pairs), strict=True):
        chunk.hypotheses[place] = with_likelihoods(before, likely)
