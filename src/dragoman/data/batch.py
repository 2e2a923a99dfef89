"""A batch of sentence pairs as padded tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.errors import DataError
from dragoman.text import BOS_ID, EOS_ID, PAD_ID


@dataclass(frozen=True)
class Batch:
    """Sentence pairs padded to one shape.

    The decoder reads `inputs` (``<s> y_1 … y_n``) and predicts `labels` (``y_1 … y_n </s>``); the source also ends in
    ``</s>``. `rows` identifies each pair, for instance by its slot in the epoch: random operations on a pair depend on
    this id only, not on the other pairs of the batch.

    `links` are links between tokens, if they are known: index in the batch, step of the decoder that is to attend, and
    source position.

    Shapes: source [batch, src]; inputs, labels [batch, tgt]; source_lengths, target_lengths, rows [batch]; links
    [links, 3].
    """

    source: Tensor
    source_lengths: Tensor
    inputs: Tensor
    labels: Tensor
    target_lengths: Tensor
    rows: Tensor
    links: Tensor | None = None

    @classmethod
    def from_pairs(
        cls, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], rows: Sequence[int] | None = None
    ) -> Batch:
        """Make a batch from pairs of token ids without special tokens."""
        flat = Pairs(*(_flat([pair[side] for pair in pairs]) for side in range(2)))
        return cls.from_flat(flat, np.arange(len(pairs)) if rows is None else np.asarray(rows))

    @classmethod
    def from_flat(cls, pairs: Pairs, rows: NDArray[np.integer]) -> Batch:
        """Make a batch from flat pairs, as shards return them. Shapes: rows [batch]."""
        if not len(pairs):
            raise DataError("a batch has no pairs; leave empty batches out")
        source, target = _padded(pairs.source), _padded(pairs.target)
        inputs = np.empty_like(target)
        inputs[:, 0] = BOS_ID
        inputs[:, 1:] = target[:, :-1]
        return cls(
            source=torch.from_numpy(_ended(source, pairs.source.lengths)),
            source_lengths=torch.from_numpy(pairs.source.lengths.astype(np.int64) + 1),
            inputs=torch.from_numpy(inputs),
            labels=torch.from_numpy(_ended(target, pairs.target.lengths)),
            target_lengths=torch.from_numpy(pairs.target.lengths.astype(np.int64) + 1),
            rows=torch.from_numpy(rows.astype(np.int64)),
            links=None if pairs.links is None else _links(pairs.links),
        )

    @property
    def target_tokens(self) -> int:
        """Number of target tokens to predict, including end tokens."""
        return int(self.target_lengths.sum())

    @property
    def cells(self) -> int:
        """Number of positions on both sides, including padding; memory is proportional to it."""
        return self.source.numel() + self.labels.numel()

    def parts(self, most_cells: int) -> list[Batch]:
        """Split into batches of at most `most_cells` cells, but at least one pair each."""
        rows = max(1, most_cells // (self.source.size(1) + self.labels.size(1)))
        cuts = [slice(start, start + rows) for start in range(0, len(self.rows), rows)]
        return [self] if len(cuts) == 1 else [self._rows(cut) for cut in cuts]

    def _rows(self, rows: slice) -> Batch:
        source_lengths, target_lengths = self.source_lengths[rows], self.target_lengths[rows]
        src, tgt = int(source_lengths.max()), int(target_lengths.max())
        links = self.links
        if links is not None:
            links = links[(links[:, 0] >= rows.start) & (links[:, 0] < rows.stop)] - links.new_tensor(
                [rows.start, 0, 0]
            )
        return Batch(
            source=self.source[rows, :src],
            source_lengths=source_lengths,
            inputs=self.inputs[rows, :tgt],
            labels=self.labels[rows, :tgt],
            target_lengths=target_lengths,
            rows=self.rows[rows],
            links=links,
        )

    def twice(self) -> Batch:
        """Return a batch with every pair twice: all of them, then all again."""
        found = {each.name: torch.cat([getattr(self, each.name)] * 2) for each in fields(self) if each.name != "links"}
        links = self.links
        if links is not None:
            links = torch.cat([links, links + links.new_tensor([len(self.rows), 0, 0])])
        return Batch(**found, links=links)

    def to(self, device: torch.device | str) -> Batch:
        """Return the batch on another device; lengths stay on the host."""
        tokens = {name: getattr(self, name).to(device) for name in ("source", "inputs", "labels", "rows")}
        return replace(self, **tokens, links=None if self.links is None else self.links.to(device))


def _flat(sentences: Sequence[Sequence[int]]) -> Sentences:
    lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    ids = np.fromiter(chain.from_iterable(sentences), dtype=np.int64, count=int(lengths.sum()))
    return Sentences(ids, lengths)


def _links(links: Pairs) -> Tensor:
    rows = np.repeat(np.arange(len(links)), links.target.lengths)
    return torch.from_numpy(np.stack([rows, links.target.ids, links.source.ids], 1).astype(np.int64))


def _padded(sentences: Sentences) -> NDArray[np.int64]:
    """Pad sentences to one more than the longest. Shapes: -> [batch, longest + 1]."""
    longest = int(sentences.lengths.max())
    padded = np.full((len(sentences), longest + 1), PAD_ID, dtype=np.int64)
    padded[np.arange(longest + 1) < sentences.lengths[:, None]] = sentences.ids
    return padded


def _ended(padded: NDArray[np.int64], lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Write the end token of each sentence in place."""
    padded[np.arange(len(padded)), lengths] = EOS_ID
    return padded
