"""Transformer encoder and decoder. Paper: [vaswani2017]."""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dragoman.models.base import Decoded, Decoder, Encoded, Encoder, Step
from dragoman.nn.attention import Alignment, Memory
from dragoman.nn.batches import Rows, is_real
from dragoman.nn.embedding import Embedding, Output, Positions
from dragoman.nn.stateless_noise import Noise
from dragoman.nn.transformer_layers import DecoderLayer, EncoderLayer, LayerSizes, PastState, SsruDecoderLayer


@dataclass(frozen=True)
class TransformerMemory(Rows):
    """Source memory of each decoder layer, [batch, heads, src, dim/heads]."""

    layers: tuple[Memory, ...]


@dataclass(frozen=True)
class TransformerState(Rows):
    """State between two steps: one cache per layer, and the number of words so far, position [batch]."""

    caches: tuple[PastState, ...]
    position: Tensor


class TransformerEncoder(Encoder):
    """N layers of self-attention and feed-forward. Shapes: source [batch, src] -> states [batch, src, dim]."""

    def __init__(
        self, sizes: LayerSizes, layers: int, embedding: Embedding, positions: Positions, *, source_end: bool = True
    ) -> None:
        super().__init__()
        self.source_end = source_end
        self.embedding = embedding
        self.positions = positions
        self.layers = cast("list[EncoderLayer]", nn.ModuleList(EncoderLayer(sizes) for _ in range(layers)))
        self.norm = sizes.normalization() if sizes.norm_first else nn.Identity()

    def forward(self, source: Tensor, lengths: Tensor, noise: Noise | None) -> Encoded:
        lengths = lengths.to(source.device)
        if not self.source_end:  # the end is treated as padding; an empty sentence keeps it
            lengths = (lengths - 1).clamp(min=1)
        may_attend = is_real(lengths, source.size(1)).unsqueeze(1).unsqueeze(1)  # [batch, 1, 1, src]
        positions = torch.arange(source.size(1), device=source.device)
        x = _embed(self.embedding, self.positions, source, positions, noise)
        for layer in self.layers:
            x = _run(layer, x, may_attend, noise, recompute=self.recompute)
        return Encoded(self.norm(x), lengths)


class TransformerDecoder(Decoder[TransformerMemory, TransformerState]):
    """N layers of masked self-attention (or an SSRU), attention to the source and feed-forward."""

    def __init__(
        self,
        sizes: LayerSizes,
        layers: int,
        embedding: Embedding,
        positions: Positions,
        output: Output,
        *,
        ssru: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = positions
        self.longest = positions.longest
        layer = SsruDecoderLayer if ssru else DecoderLayer
        self.layers = cast("list[DecoderLayer]", nn.ModuleList(layer(sizes) for _ in range(layers)))
        self.norm = sizes.normalization() if sizes.norm_first else nn.Identity()
        self.output = output

    def make_memory(self, encoded: Encoded) -> TransformerMemory:
        return TransformerMemory(tuple(layer.make_memory(encoded.states, encoded.lengths) for layer in self.layers))

    def start(self, memory: TransformerMemory) -> TransformerState:
        like = memory.layers[0].keys
        nothing_yet = torch.zeros(like.size(0), dtype=torch.long, device=like.device)
        return TransformerState(tuple(layer.start(like) for layer in self.layers), nothing_yet)

    def step(
        self, tokens: Tensor, state: TransformerState, memory: TransformerMemory, *, return_attention: bool = True
    ) -> Step[TransformerState]:
        x = _embed(self.embedding, self.positions, tokens.unsqueeze(1), state.position.unsqueeze(1), None)
        caches: list[PastState] = []
        maps: list[Alignment | None] = []
        for layer, cache, seen in zip(self.layers, state.caches, memory.layers, strict=True):
            x, cache, alignment = layer.step(x, cache, seen, return_attention=return_attention)
            caches.append(cache)
            maps.append(alignment)
        after = TransformerState(tuple(caches), state.position + 1)
        return Step(self.output(self.norm(x).squeeze(1)), after, _by_layer(maps))

    def forward(
        self,
        inputs: Tensor,
        lengths: Tensor,
        memory: TransformerMemory,
        noise: Noise | None = None,
        *,
        return_attention: bool = False,
    ) -> Decoded:
        positions = torch.arange(inputs.size(1), device=inputs.device)
        x = _embed(self.embedding, self.positions, inputs, positions, noise)
        maps: list[Alignment | None] = []
        for layer, seen in zip(self.layers, memory.layers, strict=True):
            x, alignment = _run(layer, x, seen, noise, return_attention, recompute=self.recompute)
            maps.append(alignment)
        return Decoded(self.norm(x), _by_layer(maps))


def _run(layer: nn.Module, *inputs: Any, recompute: bool) -> Any:
    """Run a layer; with `recompute` its activations are recomputed in the backward pass."""
    if not (recompute and torch.is_grad_enabled()):
        return layer(*inputs)
    # Dropout is stateless, so no random state must be saved.
    return checkpoint(layer, *inputs, use_reentrant=False, preserve_rng_state=False)


def _embed(embedding: Embedding, positions: Positions, tokens: Tensor, places: Tensor, noise: Noise | None) -> Tensor:
    """Words plus positions, then dropout. Paper: [vaswani2017] (section 5.4). Shapes: [batch, n] -> [batch, n, dim]."""
    return embedding.dropout(embedding.vectors(tokens) + positions(places), noise)


def _by_layer(maps: list[Alignment | None]) -> Alignment | None:
    """One alignment of all layers, if they return theirs. Shapes: [batch, heads, tgt, src] -> [batch, layers, …]."""
    weights = [each.weights for each in maps if each is not None]
    return Alignment(torch.stack(weights, dim=1)) if weights else None
