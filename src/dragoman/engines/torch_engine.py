"""Torch inference engine: supports every model family, and is the reference for the other engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.config.schema import has_guided_alignment
from dragoman.config.search import SearchSettings
from dragoman.data.batch import Batch
from dragoman.engines.protocol import Device, IncrementalEngine
from dragoman.models.base import Model
from dragoman.models.build import load_model
from dragoman.nn.attention.memory import split_positions
from dragoman.nn.batches import Rows
from dragoman.search import Hypothesis, StepOutput
from dragoman.search.decoding_protocol import Floats, Numbers
from dragoman.search.hypothesis import Penalties

Precision = Literal["float32", "bfloat16"]


class TorchEngine(IncrementalEngine):
    """A torch model. For bfloat16 the weights are cast once: a cast at every step would take longer than the step."""

    name = "torch"

    def __init__(self, model: Model[Any, Any], precision: Precision = "float32", *, is_guided: bool = False) -> None:
        self.precision, self.is_guided = precision, is_guided
        self.model = model if precision == "float32" else model.to(torch.bfloat16)
        self.longest = model.decoder.longest
        self.device = next(model.parameters()).device

    @staticmethod
    def has_cuda() -> bool:
        """Whether the package finds a CUDA device."""
        return bool(torch.cuda.is_available())

    @classmethod
    def open(
        cls, bundle: Bundle, *, precision: Precision = "float32", threads: int | None = None, device: Device = "cpu"
    ) -> Self:
        """The model of a bundle. `threads` sets the number of threads of the process."""
        if threads is not None:
            torch.set_num_threads(threads)
        model = load_model(bundle).to(device)
        return cls(model, precision, is_guided=has_guided_alignment(bundle.config.model))

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]], return_attention: bool) -> _TorchDecodingState:
        batch = Batch.from_pairs([(source, ()) for source in sources]).to(self.device)
        memory = self.model.encode(batch.source, batch.source_lengths)
        return _TorchDecodingState(
            self, memory, self.model.decoder.start(memory), batch.source.size(1), return_attention
        )

    @torch.inference_mode()
    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, return_attention: bool = False
    ) -> list[Hypothesis]:
        """All words at once, teacher-forced."""
        if not sources:
            return []
        batch = Batch.from_pairs(list(zip(sources, targets, strict=True))).to(self.device)
        decoded = self.model(
            batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, return_attention=return_attention
        )
        log_probs = self.model.decoder.output(decoded.features)  # [batch, tgt, vocab]
        gained = log_probs.gather(-1, batch.labels.unsqueeze(-1)).squeeze(-1).double().cpu().numpy()  # [batch, tgt]
        maps = None
        if return_attention and decoded.alignment is not None:
            maps = decoded.alignment.one_map(batch.source.size(1), guided=self.is_guided).float().cpu().numpy()
        return [
            _scored(gained[row], None if maps is None else maps[row], len(sources[row]), list(target))
            for row, target in enumerate(targets)
        ]

    @torch.inference_mode()
    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Floats | None]:
        """Attention weights of translations. Shapes: each [layers, heads, tgt + 1, src + 1], the ends last; or None."""
        if not sources:
            return []
        batch = Batch.from_pairs(list(zip(sources, targets, strict=True))).to(self.device)
        decoded = self.model(
            batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, return_attention=True
        )
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
        """log p of tokens if steps attend to one position ([shankar2019]). Shapes: each [tgt + 1, src + 1]; or None."""
        if not sources:
            return []
        batch = Batch.from_pairs(list(zip(sources, targets, strict=True))).to(self.device)
        decoder, src = self.model.decoder, batch.source.size(1)
        encoded = self.model.encoder(batch.source, batch.source_lengths, None)
        memory, of_words = decoder.make_memory(encoded), decoder.make_memory(encoded.words or encoded)
        alone, state = split_positions(of_words, src), decoder.start(memory)
        rows = torch.arange(len(sources), device=self.device).repeat_interleave(src)  # [batch × src]
        found = []
        for number in range(batch.inputs.size(1)):
            tokens, labels = batch.inputs[:, number], batch.labels[:, number]
            log_probs = decoder.step(tokens[rows], state.select(rows), alone, return_attention=False).log_probs
            found.append(log_probs.gather(-1, labels[rows].unsqueeze(-1)).view(-1, src))  # [batch, src]
            step = decoder.step(tokens, state, memory, return_attention=number == 0)
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
class _TorchDecodingState:
    """Decoding state on a torch model."""

    engine: TorchEngine
    memory: Rows
    state: Rows
    src: int
    return_attention: bool

    @torch.inference_mode()
    def step(self, tokens: Numbers) -> StepOutput:
        decoder = self.engine.model.decoder
        step = decoder.step(self._tensor(tokens), self.state, self.memory, return_attention=self.return_attention)
        weights = None
        if self.return_attention and step.alignment is not None:
            chosen = step.alignment.one_map(self.src, guided=self.engine.is_guided)  # [rows, 1, src]
            weights = chosen[:, 0].float().cpu().numpy()
        return StepOutput(step.log_probs.cpu().numpy(), weights, replace(self, state=step.state))

    @torch.inference_mode()
    def reorder(self, rows: Numbers) -> Self:
        return replace(self, state=self.state.select(self._tensor(rows)))

    @torch.inference_mode()
    def select(self, rows: Numbers) -> Self:
        places = self._tensor(rows)
        return replace(self, memory=self.memory.select(places), state=self.state.select(places))

    def _tensor(self, numbers: Numbers) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self.engine.device)
