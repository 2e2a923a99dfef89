"""The engine that every family runs on, and the reference for the others: torch, a step at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.data.batch import Batch
from dragoman.engines.stepping import SteppingEngine
from dragoman.models.load import load_model
from dragoman.models.protocol import Model
from dragoman.nn.attention.memory import apart
from dragoman.nn.rows import Rows
from dragoman.search import Hypothesis, Prediction
from dragoman.search.penalties import Penalties
from dragoman.search.protocol import Floats, Numbers
from dragoman.search.settings import SearchSettings

__all__ = ["Precision", "TorchEngine"]

Precision = Literal["float32", "bfloat16"]


class TorchEngine(SteppingEngine):
    """A torch model. In bfloat16 its weights are cast once, here: casting them at every step would take longer than the
    step.
    """

    name = "torch"

    def __init__(self, model: Model[Any, Any], precision: Precision = "float32") -> None:
        self.precision = precision
        self.model = model if precision == "float32" else model.to(torch.bfloat16)
        self.longest = model.decoder.longest
        self.device = next(model.parameters()).device

    @classmethod
    def open(
        cls,
        bundle: Bundle,
        *,
        precision: Precision = "float32",
        threads: int | None = None,
        device: str | torch.device = "cpu",
    ) -> Self:
        """The model of a bundle. `threads` is torch's own setting, of the whole process."""
        if threads is not None:
            torch.set_num_threads(threads)
        return cls(load_model(bundle).to(device), precision)

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]], show: bool) -> _TorchWriting:
        batch = Batch.of([(source, ()) for source in sources]).to(self.device)
        memory = self.model.encode(batch.source, batch.source_lengths)
        return _TorchWriting(self, memory, self.model.decoder.start(memory), batch.source.size(1), show)

    @torch.inference_mode()
    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, show: bool = False
    ) -> list[Hypothesis]:
        """All words at once: teacher-forced."""
        if not sources:
            return []
        batch = Batch.of(list(zip(sources, targets, strict=True))).to(self.device)
        decoded = self.model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, show=show)
        log_probs = self.model.decoder.output(decoded.features)  # [batch, tgt, vocab]
        gained = log_probs.gather(-1, batch.labels.unsqueeze(-1)).squeeze(-1).double().cpu().numpy()  # [batch, tgt]
        maps = None
        if show and decoded.alignment is not None:
            maps = decoded.alignment.one_map(batch.source.size(1)).float().cpu().numpy()  # [batch, tgt, src]
        return [
            _scored(gained[row], None if maps is None else maps[row], len(sources[row]), list(target))
            for row, target in enumerate(targets)
        ]

    @torch.inference_mode()
    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Floats | None]:
        """Every map of every layer and head while these translations are written; None where there is no attention.

        Shapes: each [layers, heads, tgt + 1, src + 1], the ends last; a recurrent model has one layer and one head.
        """
        if not sources:
            return []
        batch = Batch.of(list(zip(sources, targets, strict=True))).to(self.device)
        decoded = self.model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, show=True)
        if decoded.alignment is None:
            return [None] * len(sources)
        maps = decoded.alignment.dense(batch.source.size(1)).float().cpu().numpy()  # [batch, *, tgt, src]
        maps = maps if maps.ndim > 3 else maps[:, None, None]  # [batch, layers, heads, tgt, src]
        return [
            row[:, :, : len(target) + 1, : len(source) + 1].copy()
            for row, source, target in zip(maps, sources, targets, strict=True)
        ]

    @torch.inference_mode()
    def likelihoods(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Floats | None]:
        """log p of each piece, had the model seen one place of the source alone at that step; None without attention.

        Paper: [shankar2019] (section 2). Shapes: each [tgt + 1, src + 1], the ends last.
        """
        if not sources:
            return []
        batch = Batch.of(list(zip(sources, targets, strict=True))).to(self.device)
        decoder, src = self.model.decoder, batch.source.size(1)
        memory = self.model.encode(batch.source, batch.source_lengths)
        alone, state = apart(memory, src), decoder.start(memory)
        rows = torch.arange(len(sources), device=self.device).repeat_interleave(src)  # [batch × src]
        found = []
        for number in range(batch.inputs.size(1)):
            tokens, labels = batch.inputs[:, number], batch.labels[:, number]
            log_probs = decoder.step(tokens[rows], state.select(rows), alone, show=False).log_probs
            found.append(log_probs.gather(-1, labels[rows].unsqueeze(-1)).view(-1, src))  # [batch, src]
            step = decoder.step(tokens, state, memory, show=number == 0)
            state = step.state
            if number == 0 and step.alignment is None:
                return [None] * len(sources)
        maps = torch.stack(found, 1).float().cpu().numpy()  # [batch, tgt, src]
        return [
            row[: len(target) + 1, : len(source) + 1].copy()
            for row, source, target in zip(maps, sources, targets, strict=True)
        ]


def _scored(gained: np.ndarray, weights: Floats | None, src: int, target: list[int]) -> Hypothesis:
    length = len(target) + 1
    log_prob = float(gained[:length].sum())
    alignment = None if weights is None else weights[:length, : src + 1].copy()
    return Hypothesis(target, log_prob, alignment, Penalties(SearchSettings()).score(log_prob, length, None))


@dataclass(frozen=True)
class _TorchWriting:
    """Rows in the making on a torch model."""

    engine: TorchEngine
    memory: Rows
    state: Rows
    src: int
    show: bool

    @torch.inference_mode()
    def step(self, tokens: Numbers) -> Prediction:
        decoder = self.engine.model.decoder
        step = decoder.step(self._tensor(tokens), self.state, self.memory, show=self.show)
        weights = None
        if self.show and step.alignment is not None:
            weights = step.alignment.one_map(self.src)[:, 0].float().cpu().numpy()  # [rows, src]
        return Prediction(step.log_probs.cpu().numpy(), weights, replace(self, state=step.state))

    @torch.inference_mode()
    def reorder(self, rows: Numbers) -> Self:
        return replace(self, state=self.state.select(self._tensor(rows)))

    @torch.inference_mode()
    def select(self, rows: Numbers) -> Self:
        places = self._tensor(rows)
        return replace(self, memory=self.memory.select(places), state=self.state.select(places))

    def _tensor(self, numbers: Numbers) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self.engine.device)
