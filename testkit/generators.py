"""Inputs of the equation tests: sizes, sentence lengths, padded batches and weights, all small and in float64.

Hypothesis draws the shapes, and one seed for the numbers in them: a failing case shrinks to few, short sentences.
Values in the padding are as large as all others, so that a leak shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor, nn

ModuleT = TypeVar("ModuleT", bound=nn.Module)

many_cases = settings(max_examples=max(100, settings().max_examples))
"""At least a hundred generated cases in every profile."""

seeds = st.integers(0, 2**31)
"""For `Numbers` and `randomised`."""


def sizes(least: int = 1, most: int = 5) -> st.SearchStrategy[int]:
    """A dimension."""
    return st.integers(least, most)


@st.composite
def lengths(draw: st.DrawFn, *, most_rows: int = 4, longest: int = 6) -> Tensor:
    """Sentence lengths: any, all equal, all one word, or a one-word sentence and a full one. Shapes: -> [batch]."""
    rows = draw(st.integers(1, most_rows))
    kind = draw(st.sampled_from(["any", "equal", "extremes", "one word"]))
    if kind == "any":
        drawn = draw(st.lists(st.integers(1, longest), min_size=rows, max_size=rows))
    elif kind == "equal":
        drawn = [draw(st.integers(1, longest))] * rows
    elif kind == "extremes":
        drawn = draw(st.permutations([1, longest, *([longest // 2 + 1] * (rows - 1))]))
    else:
        drawn = [1] * rows
    return torch.tensor(drawn)


class Numbers:
    """Random tensors that follow from a seed."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Float64, normally distributed. Shapes: -> shape."""
        return torch.randn(shape, generator=self.generator, dtype=torch.float64) * scale

    def tokens(self, vocab: int, *shape: int) -> Tensor:
        """Numbers of words. Shapes: -> shape."""
        return torch.randint(vocab, shape, generator=self.generator)

    def chance(self, probability: float, *shape: int) -> Tensor:
        """True with this probability. Shapes: -> shape."""
        return torch.rand(shape, generator=self.generator, dtype=torch.float64) < probability


@dataclass(frozen=True)
class Padded:
    """Vectors in sentences. Shapes: values [batch, size, dim], float64, random also in the padding; lengths [batch]."""

    values: Tensor
    lengths: Tensor


@dataclass(frozen=True)
class Sentences:
    """Words in sentences. Shapes: tokens [batch, size], any word also in the padding; lengths [batch]."""

    tokens: Tensor
    lengths: Tensor


@st.composite
def padded_batches(draw: st.DrawFn, dim: int, *, most_rows: int = 4, longest: int = 6, spare: int = 2) -> Padded:
    """A batch of vectors, padded to its longest sentence or up to `spare` positions further."""
    drawn = draw(lengths(most_rows=most_rows, longest=longest))
    size = int(drawn.max()) + draw(st.integers(0, spare))
    return Padded(Numbers(draw(seeds)).normal(len(drawn), size, dim), drawn)


@st.composite
def sentence_batches(
    draw: st.DrawFn, vocab: int, *, rows: int | None = None, most_rows: int = 3, longest: int = 5, spare: int = 2
) -> Sentences:
    """A batch of words with the same padding; `rows` sets the number of sentences."""
    drawn = draw(lengths(most_rows=rows or most_rows, longest=longest))
    if rows is not None:
        drawn = drawn.repeat(rows)[:rows]
    size = int(drawn.max()) + draw(st.integers(0, spare))
    return Sentences(Numbers(draw(seeds)).tokens(vocab, len(drawn), size), drawn)


def randomised(module: ModuleT, seed: int, scale: float = 0.6) -> ModuleT:
    """The module in float64 with every parameter random: no zero or one of its initialisation is to hide a mistake."""
    numbers = Numbers(seed)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(numbers.normal(*parameter.shape, scale=scale))
    return module
