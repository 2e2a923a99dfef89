"""The equations of the Transformer, read literally: one sentence, one head, one position at a time, in float64.

This code has no batches or padding. Weights come by the names the shipped modules give them; that is all the two
have in common. Sections and numbers are those of [vaswani2017] in docs/papers.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from dragoman.config.schema import TransformerConfig
from tests.equations.literal_recurrent import Weights, log_softmax, output, within

Vectors = list[Tensor]
SeenFrom = Callable[[int, int], bool]
"""May position t attend to position s?"""
Normalize = Callable[[Weights, Tensor], Tensor]

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
    none = torch.zeros(3 * dim, dtype=torch.float64)
    b_q, b_k, b_v = weights.get("b_qkv", none).split(dim)
    contexts: list[Vectors] = [[] for _ in queries]
    shown = {}
    for head in range(heads):
        rows = slice(head * size, (head + 1) * size)
        keys = [W_k[rows] @ other + b_k[rows] for other in others]
        values = [W_v[rows] @ other + b_v[rows] for other in others]
        for t, query in enumerate(queries):
            seen = [s for s in range(len(others)) if sees(t, s)]
            if not seen:
                contexts[t].append(torch.zeros(size, dtype=torch.float64))
                continue
            own = W_q[rows] @ query + b_q[rows]
            context, align = attend(own, [keys[s] for s in seen], [values[s] for s in seen])
            contexts[t].append(context)
            shown.update({(head, t, s): weight for s, weight in zip(seen, align, strict=True)})
    return [weights["W_o"] @ torch.cat(parts) + weights.get("b_o", none[:dim]) for parts in contexts], shown


def activate(activation: str, x: Tensor) -> Tensor:
    """max(0, x), x Φ(x) with the normal distribution Φ, or x / (1 + e^−x)."""
    if activation == "relu":
        return torch.where(x > 0, x, 0.0)
    if activation == "gelu":
        return x * (1 + torch.erf(x / math.sqrt(2))) / 2
    return x / (1 + torch.exp(-x))


def feed_forward(weights: Weights, x: Tensor, activation: str = "relu") -> Tensor:
    """max(0, x W_1 + b_1) W_2 + b_2. (2)."""
    inner = weights["W_1.weight"] @ x + weights["W_1.bias"]
    return weights["W_2.weight"] @ activate(activation, inner) + weights["W_2.bias"]


def layer_norm(weights: Weights, x: Tensor, epsilon: float = EPSILON, form: str = "variance") -> Tensor:
    """(x − mean) / √(variance + ε), scaled and shifted; in the notes, (x − mean) / (unbiased deviation + ε)."""
    mean = x.sum() / len(x)
    if form == "deviation":
        deviation = torch.sqrt(((x - mean) ** 2).sum() / (len(x) - 1))
        return weights["weight"] * (x - mean) / (deviation + epsilon) + weights["bias"]
    variance = ((x - mean) ** 2).sum() / len(x)
    return weights["weight"] * (x - mean) / torch.sqrt(variance + epsilon) + weights["bias"]


def sub_layer(
    weights: Weights, norm: str, x: Vectors, function: Callable[[Vectors], Vectors], normalize: Normalize = layer_norm
) -> Vectors:
    """post-norm: LN(x + f(x)) as published; pre-norm: x + f(LN(x))."""
    if norm == "post":
        return [normalize(weights, a + b) for a, b in zip(x, function(x), strict=True)]
    return [a + b for a, b in zip(x, function([normalize(weights, a) for a in x]), strict=True)]


def position_vector(position: int, dim: int, layout: str = "sinusoidal") -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)); PE(pos, 2i+1) = cos(pos / 10000^(2i/d)). Section 3.5.

    In halves: the numbers of the even places, then those of the odd ones. Of tensor2tensor: place i of each half has
    the angle pos / 10000^(i/(d/2 − 1)), and an odd width ends with 0.
    """
    if layout == "sinusoidal-halves":
        paired = position_vector(position, dim)
        return torch.cat([paired[0::2], paired[1::2]])
    if layout == "sinusoidal-tensor2tensor":
        half = dim // 2
        angles = [position / 10000 ** (place / max(half - 1, 1)) for place in range(half)]
        numbers = [*map(math.sin, angles), *map(math.cos, angles), 0.0]
        return torch.tensor(numbers[:dim], dtype=torch.float64)
    numbers = []
    for place in range(dim):
        angle = position / 10000 ** ((place - place % 2) / dim)
        numbers.append(math.sin(angle) if place % 2 == 0 else math.cos(angle))
    return torch.tensor(numbers, dtype=torch.float64)


def embed(config: TransformerConfig, weights: Weights, words: Sequence[int]) -> Vectors:
    """√d × the word's vector + the position's. Sections 3.4 and 3.5."""
    vectors = []
    for position, word in enumerate(words):
        vector = weights["embedding.weight"][word] * (math.sqrt(config.dim) if config.scale_embeddings else 1)
        if config.positions == "learned":
            vector = vector + weights["positions.weight"][config.position_offset + position]
        elif config.positions != "none":
            vector = vector + position_vector(config.position_offset + position, config.dim, config.positions)
        vectors.append(vector)
    return vectors


def encoder_layer(
    weights: Weights, heads: int, norm: str, x: Vectors, activation: str = "relu", normalize: Normalize = layer_norm
) -> Vectors:
    """Self-attention, feed-forward. Section 3.1."""
    attention, feedforward = within(weights, "attention."), within(weights, "feedforward.")
    x = sub_layer(
        within(weights, "around_attention.norm."),
        norm,
        x,
        lambda x: multi_head(attention, heads, x, x, everything)[0],
        normalize,
    )
    return sub_layer(
        within(weights, "around_feedforward.norm."),
        norm,
        x,
        lambda x: [feed_forward(feedforward, a, activation) for a in x],
        normalize,
    )


def ssru(weights: Weights, x: Vectors) -> Vectors:
    """f_t = σ(W_f x_t + b_f); c_t = f_t c_{t−1} + (1 − f_t) W x_t; o_t = max(0, c_t). [kim2019], section 3.1."""
    cell = torch.zeros_like(x[0])
    outputs = []
    for vector in x:
        forget = 1 / (1 + torch.exp(-(weights["W_f"] @ vector + weights["b_f"])))
        cell = forget * cell + (1 - forget) * (weights["W"] @ vector)
        outputs.append(torch.where(cell > 0, cell, 0.0))
    return outputs


def decoder_layer(
    weights: Weights,
    heads: int,
    norm: str,
    x: Vectors,
    source: Vectors,
    activation: str = "relu",
    normalize: Normalize = layer_norm,
) -> Vectors:
    """Self-attention to the past, attention to the source, feed-forward. Section 3.1."""
    to_past, to_source = within(weights, "self_attention."), within(weights, "source_attention.")
    feedforward, unit = within(weights, "feedforward."), within(weights, "ssru.")

    def read_past(x: Vectors) -> Vectors:
        return ssru(unit, x) if unit else multi_head(to_past, heads, x, x, the_past)[0]

    x = sub_layer(within(weights, "around_self.norm."), norm, x, read_past, normalize)
    x = sub_layer(
        within(weights, "around_source.norm."),
        norm,
        x,
        lambda x: multi_head(to_source, heads, x, source, everything)[0],
        normalize,
    )
    return sub_layer(
        within(weights, "around_feedforward.norm."),
        norm,
        x,
        lambda x: [feed_forward(feedforward, a, activation) for a in x],
        normalize,
    )


def encode(config: TransformerConfig, weights: Weights, source: Sequence[int]) -> Vectors:
    """The encoder's stack; with pre-norm one more norm on top of it."""
    own = within(weights, "encoder.")
    if not config.source_end:
        source = source[:-1] or source
    x = embed(config, own, source)
    normalize = partial(layer_norm, epsilon=config.norm_epsilon, form=config.norm_form)
    for layer in range(config.encoder_layers):
        x = encoder_layer(within(own, f"layers.{layer}."), config.heads, config.norm, x, config.activation, normalize)
    return [normalize(within(own, "norm."), a) for a in x] if config.norm == "pre" else x


def decode(config: TransformerConfig, weights: Weights, source: Vectors, inputs: Sequence[int]) -> Vectors:
    """log p of every word, given those before it and the source."""
    own = within(weights, "decoder.")
    x = embed(config, own, inputs)
    normalize = partial(layer_norm, epsilon=config.norm_epsilon, form=config.norm_form)
    for layer in range(config.decoder_layers):
        part = within(own, f"layers.{layer}.")
        x = decoder_layer(part, config.heads, config.norm, x, source, config.activation, normalize)
    if config.norm == "pre":
        x = [normalize(within(own, "norm."), a) for a in x]
    return [output(weights, a) for a in x]
