"""The attention equations, read literally: one sentence, one target step t, one source position s at a time; float64.

This code has no batches, padding or windows of tensors. Weights come by the names the shipped modules give them.
Numbers in brackets are those of docs/papers.md. Steps and positions count from 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.config.rnn import AttentionConfig, RnnConfig
from tests.equations.literal_recurrent import (
    Encoding,
    Weights,
    deep_output,
    first_states,
    output,
    sigma,
    step_layers,
    within,
)

# --------------------------------------------------------------------------------------------------------------- scores


def score(config: AttentionConfig, weights: Weights, h: Tensor, key: Tensor, s: int) -> Tensor | None:
    """How well the state h fits position s; None where it cannot be attended to. [luong2015] 3.1, [vaswani2017] (1)."""
    if config.score == "dot":
        return h @ key
    if config.score == "scaled-dot":
        return h @ key / math.sqrt(len(key))
    if config.score == "general":
        return h @ (weights["score.W_a"] @ key)
    if config.score == "concat":
        W_a = torch.cat([weights["score.W_q"], weights["score.U_k"]], 1)
        return weights["score.v_a"] @ torch.tanh(W_a @ torch.cat([h, key]))
    W_a = weights["score.W_a"]
    return W_a[s] @ h if s < len(W_a) else None


def softmax(scores: dict[int, Tensor]) -> dict[int, Tensor]:
    """exp(score(s)) / Σ_u exp(score(u)), over the positions there are."""
    total = torch.zeros((), dtype=torch.float64)
    for value in scores.values():
        total = total + torch.exp(value)
    return {s: torch.exp(value) / total for s, value in scores.items()}


def align(
    config: AttentionConfig, weights: Weights, h: Tensor, keys: Sequence[Tensor], places: Sequence[int]
) -> dict[int, Tensor]:
    """The softmax of the scores of these positions. [luong2015] (7), [bahdanau2015] (6)."""
    scores = {s: score(config, weights, h, keys[s], s) for s in places}
    return softmax({s: value for s, value in scores.items() if value is not None})


# ----------------------------------------------------------------------------------------------------------- alignments


@dataclass(frozen=True)
class Attended:
    """Attention of one step: one weight per source position, and the context; the rest depends on the alignment."""

    weights: list[Tensor]
    context: Tensor
    centre: Tensor | None = None
    log_prob: Tensor | None = None
    entropy: Tensor | None = None


def take(weights: dict[int, Tensor], values: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
    """c_t = Σ_s a_t(s) h̄_s; a position without a weight has weight zero. [bahdanau2015] (5)."""
    every = [weights.get(s, torch.zeros((), dtype=torch.float64)) for s in range(len(values))]
    context = torch.zeros_like(values[0])
    for weight, value in zip(every, values, strict=True):
        context = context + weight * value
    return every, context


def window(centre: float, reach: int, length: int) -> list[int]:
    """The positions of the sentence in [p_t − D, p_t + D]."""
    return [s for s in range(length) if centre - reach <= s <= centre + reach]


def predicted_centre(weights: Weights, h: Tensor, length: int) -> Tensor:
    """p_t = S · σ(v_p^T tanh(W_p h_t)). [luong2015] (9)."""
    return length * sigma(weights["aligner.v_p"] @ torch.tanh(weights["aligner.W_p"] @ h))


def attend_local_p(
    config: AttentionConfig, weights: Weights, h: Tensor, keys: Sequence[Tensor], values: Sequence[Tensor]
) -> Attended:
    """a_t(s) = align(h_t, h̄_s) · exp(−(s − p_t)² / 2σ²), σ = D / 2. [luong2015] (10)."""
    centre = predicted_centre(weights, h, len(keys))
    deviation = config.window / 2
    aligned = align(config, weights, h, keys, window(float(centre.detach()), config.window, len(keys)))
    favoured = {s: a * torch.exp(-((s - centre) ** 2) / (2 * deviation**2)) for s, a in aligned.items()}
    return Attended(*take(favoured, values), centre=centre)


def attend_hard(
    config: AttentionConfig,
    weights: Weights,
    h: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor],
    place: int | None,
) -> Attended:
    """One place s_t, the given or the most likely; with log p(s_t) and H = −Σ_s a(s) log a(s). [xu2015] (8)-(9)."""
    likely = align(config, weights, h, keys, range(len(keys)))
    if place is None:
        place = max(likely, key=lambda s: float(likely[s].detach()))
    entropy = torch.zeros((), dtype=torch.float64)
    for a in likely.values():
        entropy = entropy - a * torch.log(a)
    one = torch.ones((), dtype=torch.float64)
    return Attended(*take({place: one}, values), log_prob=torch.log(likely[place]), entropy=entropy)


def attend(
    config: AttentionConfig,
    weights: Weights,
    h: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor],
    t: int,
    place: int | None = None,
) -> Attended:
    """What the state h of step t sees of a sentence, with any score and any alignment."""
    if config.alignment == "local-p":
        return attend_local_p(config, weights, h, keys, values)
    if config.alignment == "hard":
        return attend_hard(config, weights, h, keys, values, place)
    if config.alignment == "local-m":  # p_t = t. [luong2015] 3.2
        return Attended(
            *take(align(config, weights, h, keys, window(t, config.window, len(keys))), values),
            centre=torch.tensor(float(t), dtype=torch.float64),
        )
    return Attended(*take(align(config, weights, h, keys, range(len(keys))), values))


# ------------------------------------------------------------------------------------------------------------- decoders


@dataclass(frozen=True)
class Written:
    """One step of a decoder: log p of every word, attention, and state."""

    log_probs: Tensor
    attended: Attended
    state: Tensor


def keys_and_values(config: RnnConfig, states: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """A state is key and value at once, or its first half is the key, its second the value. [daniluk2017] (7)-(10)."""
    if config.attention.memory == "shared":
        return list(states), list(states)
    half = len(states[0]) // 2
    return [state[:half] for state in states], [state[half:] for state in states]


def queried(config: RnnConfig, h: Tensor, context: Tensor) -> Tensor:
    """The query of attention: h, or [h; c_{t-1}] with c_0 = 0."""
    return torch.cat([h, context]) if config.decoder.query_context else h


def decode_before(
    config: RnnConfig, weights: Weights, source: Encoding, inputs: Sequence[int], places: Sequence[int] | None = None
) -> list[Written]:
    """h_{t-1} → a_t → c_t → [y_{t-1}; c_t], h_{t-1} → h_t → predict. [bahdanau2015] (4)-(6), A.2.2.

    `places` are the positions of hard attention, step by step.
    """
    keys, values = keys_and_values(config, source.states)
    states = first_states(config, weights, source.last, source.final)
    context = torch.zeros(config.value_size, dtype=torch.float64)
    written = []
    for t, token in enumerate(inputs):
        word = weights["decoder.embedding.weight"][token]
        before = queried(config, states[-1][0], context)
        place = None if places is None else places[t]
        seen = attend(config.attention, within(weights, "decoder.attention."), before, keys, values, t, place)
        context = seen.context
        states = step_layers(config, weights, torch.cat([word, seen.context]), states)
        features = states[-1][0]
        if config.decoder.output == "deep":
            features = deep_output(within(weights, "decoder.deep."), features, word, seen.context)
        written.append(Written(output(weights, features), seen, states[-1][0]))
    return written


def decode_after(
    config: RnnConfig, weights: Weights, source: Encoding, inputs: Sequence[int], places: Sequence[int] | None = None
) -> list[Written]:
    """[y_{t-1}; h̃_{t-1}], h_{t-1} → h_t → a_t → c_t → h̃_t = tanh(W_c [c_t; h_t]) → softmax(W_s h̃_t).

    Without feeding the input is y_{t-1} alone; with it, h̃_0 is zero. [luong2015] (5)-(7), section 3.3.
    """
    keys, values = keys_and_values(config, source.states)
    states = first_states(config, weights, source.last, source.final)
    attentional = torch.zeros(config.decoder.hidden, dtype=torch.float64)
    context = torch.zeros(config.value_size, dtype=torch.float64)
    written = []
    for t, token in enumerate(inputs):
        word = weights["decoder.embedding.weight"][token]
        states = step_layers(
            config, weights, torch.cat([word, attentional]) if config.decoder.input_feeding else word, states
        )
        h = states[-1][0]
        place = None if places is None else places[t]
        query = queried(config, h, context)
        seen = attend(config.attention, within(weights, "decoder.attention."), query, keys, values, t, place)
        context = seen.context
        attentional = torch.tanh(weights["decoder.W_c"] @ torch.cat([seen.context, h]))
        written.append(Written(output(weights, attentional), seen, h))
    return written


def over_words(weights: Sequence[Tensor], structured: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    """The weights of words, Σ_r a_t(r) A_rs, where the decoder attends to the rows of structured self-attention."""
    found = []
    for s in range(len(structured[0])):
        total = torch.zeros((), dtype=torch.float64)
        for a, row in zip(weights, structured, strict=True):
            total = total + a * row[s]
        found.append(total)
    return found


DECODERS = {"before": decode_before, "after": decode_after}
"""By when the decoder attends: before its cell steps, or after."""
