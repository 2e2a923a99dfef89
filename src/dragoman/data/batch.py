"""One batch of sentence pairs, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dragoman.errors import DataError
from dragoman.text import BOS_ID, EOS_ID, PAD_ID

__all__ = ["Batch"]


@dataclass(frozen=True)
class Batch:
    """Sentence pairs padded to one shape.

    The decoder reads `inputs` (``<s> y_1 … y_n``) and is to predict `labels` (``y_1 … y_n </s>``); the source ends in
    ``</s>`` too. `rows` names each pair, for instance by its place in the epoch: what is random about a pair depends on
    that name and not on its company.

    Shapes: source [batch, src]; inputs, labels [batch, tgt]; source_lengths, target_lengths, rows [batch].
    """

    source: Tensor
    source_lengths: Tensor
    inputs: Tensor
    labels: Tensor
    target_lengths: Tensor
    rows: Tensor

    @classmethod
    def of(cls, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], rows: Sequence[int] | None = None) -> Batch:
        """A batch of pairs of piece numbers without specials."""
        if not pairs:
            raise DataError("a batch must have at least one pair, got none; leave empty batches out")
        sources = [[*source, EOS_ID] for source, _ in pairs]
        inputs = [[BOS_ID, *target] for _, target in pairs]
        labels = [[*target, EOS_ID] for _, target in pairs]
        return cls(
            source=_padded(sources),
            source_lengths=torch.tensor([len(s) for s in sources]),
            inputs=_padded(inputs),
            labels=_padded(labels),
            target_lengths=torch.tensor([len(s) for s in inputs]),
            rows=torch.arange(len(pairs)) if rows is None else torch.tensor(rows),
        )

    @property
    def target_tokens(self) -> int:
        """How many target pieces there are to predict, ends of sentences among them."""
        return int(self.target_lengths.sum())

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device; its lengths stay on the host, which plans by them."""
        tokens = {name: getattr(self, name).to(device) for name in ("source", "inputs", "labels", "rows")}
        return replace(self, **tokens)


def _padded(sentences: list[list[int]]) -> Tensor:
    """Shapes: -> [batch, longest]."""
    longest = max(len(sentence) for sentence in sentences)
    return torch.tensor([sentence + [PAD_ID] * (longest - len(sentence)) for sentence in sentences])
