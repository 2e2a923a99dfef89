"""The equations of the Transformer, read literally: one sentence, one head, one position at a time, in float64.

This code has no batches or padding. Weights come by the names the shipped modules give them; that is all the two
have in common. Sections and numbers are those of [vaswani2017] in docs/papers.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dragoman.config.schema import TransformerConfig
from tests.equations.literal_recurrent import Weights, log_softmax, output, within

Vectors = list[Tensor]
SeenFrom = Callable[[int, int], bool]
"""May position t attend to position s?"""

EPSILON = 1e-5
"""What the layer norm adds to the variance."""


def everything(t: int, s: int) -> bool:
    """Every position sees every position."""
    return True


def the_past(t: int, s: int) -> bool:
    """A position sees itself and those before it."""
    return s <= t


def attend(query: Tensor, keys: Vectors, values: Vectors) -> tuple[Tensor, Vectors]:
    """Σ_s a(s) v_s with a = softmax(q⊤k_s / √d_k), and a. (1)."""
    scores = [query @ key / math.sqrt(len(query)) for key in keys]
    weights = list(torch.exp(log_softmax(torch.stack(scores))))
    context = torch.zeros_like(values[0])
    for weight, value in zip(weights, values, strict=True):
        context = context + weight * value
    return context, weights


def multi_head(
    weights: Weights, heads: int, queries: Vectors, others: Vectors, sees: SeenFrom
) -> tuple[Vectors, dict[tuple[int, int, int], Tensor]]:
    """[head_1; …; head_h] W^O for each query, and the weight of (head, t, s) where t may attend to s. Section 3.2.2.

    A head that may attend to nothing gives zeros.
    """
    dim = len(queries[0])
    size = dim // heads
    W_q, W_k, W_v = weights["W_qkv"].split(dim)
    contexts: list[Vectors] = [[] for _ in queries]
    shown = {}
    for head in range(heads):
        rows = slice(head * size, (head + 1) * size)
        keys = [W_k[rows] @ other for other in others]
        values = [W_v[rows] @ other for other in others]
        for t, query in enumerate(queries):
            seen = [s for s in range(len(others)) if sees(t, s)]
            if not seen:
                contexts[t].append(torch.zeros(size, dtype=torch.float64))
                continue
            context, align = attend(W_q[rows] @ query, [keys[s] for s in seen], [values[s] for s in seen])
            contexts[t].append(context)
            shown.update({(head, t, s): weight for s, weight in zip(seen, align, strict=True)})
    return [weights["W_o"] @ torch.cat(parts) for parts in contexts], shown


def feed_forward(weights: Weights, x: Tensor) -> Tensor:
    """max(0, x W_1 + b_1) W_2 + b_2. (2)."""
    inner = weights["W_1.weight"] @ x + weights["W_1.bias"]
    return weights["W_2.weight"] @ torch.where(inner > 0, inner, 0.0) + weights["W_2.bias"]


def layer_norm(weights: Weights, x: Tensor) -> Tensor:
    """(x − mean) / √(variance + ε), scaled and shifted."""
    mean = x.sum() / len(x)
    variance = ((x - mean) ** 2).sum() / len(x)
    return weights["weight"] * (x - mean) / torch.sqrt(variance + EPSILON) + weights["bias"]


def sub_layer(weights: Weights, norm: str, x: Vectors, function: Callable[[Vectors], Vectors]) -> Vectors:
    """post-norm: LN(x + f(x)) as published; pre-norm: x + f(LN(x))."""
    if norm == "post":
        return [layer_norm(weights, a + b) for a, b in zip(x, function(x), strict=True)]
    return [a + b for a, b in zip(x, function([layer_norm(weights, a) for a in x]), strict=True)]


def position_vector(position: int, dim: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)); PE(pos, 2i+1) = cos(pos / 10000^(2i/d)). Section 3.5."""
    numbers = []
    for place in range(dim):
        angle = position / 10000 ** ((place - place % 2) / dim)
        numbers.append(math.sin(angle) if place % 2 == 0 else math.cos(angle))
    return torch.tensor(numbers, dtype=torch.float64)


def embed(config: TransformerConfig, weights: Weights, words: Sequence[int]) -> Vectors:
    """√d × the word's vector + the position's. Sections 3.4 and 3.5."""
    vectors = []
    for position, word in enumerate(words):
        vector = weights["embedding.weight"][word] * math.sqrt(config.dim)
        if config.positions == "sinusoidal":
            vector = vector + position_vector(position, config.dim)
        elif config.positions == "learned":
            vector = vector + weights["positions.weight"][position]
        vectors.append(vector)
    return vectors


def encoder_layer(weights: Weights, heads: int, norm: str, x: Vectors) -> Vectors:
    """Self-attention, feed-forward. Section 3.1."""
    attention, feedforward = within(weights, "attention."), within(weights, "feedforward.")
    x = sub_layer(
        within(weights, "around_attention.norm."), norm, x, lambda x: multi_head(attention, heads, x, x, everything)[0]
    )
    return sub_layer(
        within(weights, "around_feedforward.norm."), norm, x, lambda x: [feed_forward(feedforward, a) for a in x]
    )


def decoder_layer(weights: Weights, heads: int, norm: str, x: Vectors, source: Vectors) -> Vectors:
    """Self-attention to the past, attention to the source, feed-forward. Section 3.1."""
    to_past, to_source = within(weights, "self_attention."), within(weights, "source_attention.")
    feedforward = within(weights, "feedforward.")
    x = sub_layer(
        within(weights, "around_self.norm."), norm, x, lambda x: multi_head(to_past, heads, x, x, the_past)[0]
    )
    x = sub_layer(
        within(weights, "around_source.norm."),
        norm,
        x,
        lambda x: multi_head(to_source, heads, x, source, everything)[0],
    )
    return sub_layer(
        within(weights, "around_feedforward.norm."), norm, x, lambda x: [feed_forward(feedforward, a) for a in x]
    )


def encode(config: TransformerConfig, weights: Weights, source: Sequence[int]) -> Vectors:
    """The encoder's stack; with pre-norm one more norm on top of it."""
    own = within(weights, "encoder.")
    x = embed(config, own, source)
    for layer in range(config.encoder_layers):
        x = encoder_layer(within(own, f"layers.{layer}."), config.heads, config.norm, x)
    return [layer_norm(within(own, "norm."), a) for a in x] if config.norm == "pre" else x


def decode(config: TransformerConfig, weights: Weights, source: Vectors, inputs: Sequence[int]) -> Vectors:
    """log p of every word, given those before it and the source."""
    own = within(weights, "decoder.")
    x = embed(config, own, inputs)
    for layer in range(config.decoder_layers):
        x = decoder_layer(within(own, f"layers.{layer}."), config.heads, config.norm, x, source)
    if config.norm == "pre":
        x = [layer_norm(within(own, "norm."), a) for a in x]
    return [output(weights, a) for a in x]
