"""The recurrent equations, read literally: one sentence, one step, one gate at a time, on vectors, in float64.

This code has no batches or padding. Weights come by the names the shipped modules give them; that is all the two
have in common. Numbers in brackets are those of docs/papers.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.config.rnn import RnnConfig

Weights = Mapping[str, Tensor]
State = tuple[Tensor, ...]


def within(weights: Weights, prefix: str) -> dict[str, Tensor]:
    """The weights of one part, by their names inside it."""
    return {name.removeprefix(prefix): weight for name, weight in weights.items() if name.startswith(prefix)}


def sigma(x: Tensor) -> Tensor:
    """The logistic function."""
    return 1.0 / (1.0 + torch.exp(-x))


# ---------------------------------------------------------------------------------------------------------------- cells


@dataclass(frozen=True)
class Gate:
    """The rows of W, U and b that belong to one gate."""

    W: Tensor
    U: Tensor
    b: Tensor

    def __call__(self, x: Tensor, h: Tensor) -> Tensor:
        return self.W @ x + self.U @ h + self.b


def gates(weights: Weights, order: str) -> list[Gate]:
    """One gate a letter."""
    parts = [weights[name].chunk(len(order)) for name in ("W", "U", "b")]
    return [Gate(*rows) for rows in zip(*parts, strict=True)]


def rnn_step(weights: Weights, x: Tensor, state: State) -> State:
    """h_t = tanh(W x_t + U h_{t-1} + b)."""
    (h,) = state
    (plain,) = gates(weights, "h")
    return (torch.tanh(plain(x, h)),)


def lstm_step(weights: Weights, x: Tensor, state: State) -> State:
    """f, i, o = σ(…); C̃ = tanh(…); C_t = f∗C_{t-1} + i∗C̃; h_t = o∗tanh(C_t)."""
    h, C = state
    input_gate, forget_gate, candidate, output_gate = gates(weights, "ifgo")
    i, f, o = sigma(input_gate(x, h)), sigma(forget_gate(x, h)), sigma(output_gate(x, h))
    C = f * C + i * torch.tanh(candidate(x, h))
    return o * torch.tanh(C), C


def gru_published_step(weights: Weights, x: Tensor, state: State) -> State:
    """z, r = σ(W[h_{t-1}, x_t]); h̃ = tanh(W[r∗h_{t-1}, x_t]); h_t = (1−z)∗h_{t-1} + z∗h̃."""
    (h,) = state
    update, reset, candidate = gates(weights, "zrh")
    z, r = sigma(update(x, h)), sigma(reset(x, h))
    return ((1 - z) * h + z * torch.tanh(candidate(x, r * h)),)


def gru_fused_step(weights: Weights, x: Tensor, state: State) -> State:
    """r, z = σ(…); n = tanh(W x_t + b + r∗(U h_{t-1} + b_U)); h_t = (1−z)∗n + z∗h_{t-1}: the page of torch.nn.GRU."""
    (h,) = state
    reset, update, new = gates(weights, "rzn")
    r, z = sigma(reset(x, h)), sigma(update(x, h))
    n = torch.tanh(new.W @ x + new.b + r * (new.U @ h + weights["b_U"]))
    return ((1 - z) * n + z * h,)


STEPS: dict[str, Callable[[Weights, Tensor, State], State]] = {
    "rnn": rnn_step,
    "lstm": lstm_step,
    "gru-published": gru_published_step,
    "gru-fused": gru_fused_step,
}


def nothing(cell: str, hidden: int) -> State:
    """The state before the first word."""
    return tuple(torch.zeros(hidden, dtype=torch.float64) for _ in range(2 if cell == "lstm" else 1))


def read(cell: str, weights: Weights, words: Sequence[Tensor], state: State) -> list[State]:
    """The state after each word."""
    states = []
    for word in words:
        state = STEPS[cell](weights, word, state)
        states.append(state)
    return states


# -------------------------------------------------------------------------------------------------------------- encoder


@dataclass(frozen=True)
class Read:
    """One layer's reading of a sentence: a vector a word, and where the reading ended (as in `Encoding`)."""

    states: list[Tensor]
    final: State
    summary: Tensor
    last: Tensor


def read_layer(cell: str, weights: Weights, words: Sequence[Tensor]) -> Read:
    """From the left; where there are weights for it, also from the right; joined word by word. [bahdanau2015] (7)."""
    hidden = weights["left.U"].size(1)
    from_left = read(cell, within(weights, "left."), words, nothing(cell, hidden))
    if "right.U" not in weights:
        return Read([state[0] for state in from_left], from_left[-1], from_left[-1][0], from_left[-1][0])
    from_right = read(cell, within(weights, "right."), words[::-1], nothing(cell, hidden))[::-1]

    def joined(left: State, right: State) -> Tensor:
        both = torch.cat([left[0], right[0]])
        return weights["join.weight"] @ both + weights["join.bias"] if "join.weight" in weights else both

    states = [joined(left, right) for left, right in zip(from_left, from_right, strict=True)]
    final = tuple(torch.cat(pair) for pair in zip(from_left[-1], from_right[0], strict=True))
    return Read(states, final, joined(from_left[-1], from_right[0]), from_right[0][0])


@dataclass(frozen=True)
class Encoding:
    """What the encoder makes of a sentence.

    A vector a word, in the source's order; the final state of each layer; and of the top layer the summary, which is
    the final h joined like the vectors, and the last state of its last direction: ←h_1, or h_S if it reads one way.
    """

    states: list[Tensor]
    final: list[State]
    summary: Tensor
    last: Tensor
    structured: list[list[Tensor]] | None = None
    """A[r][s] of structured self-attention, whose rows are then the states."""


def encode(config: RnnConfig, weights: Weights, sentence: Sequence[int]) -> Encoding:
    """Word vectors, layer upon layer, from the end of the sentence if configured."""
    order = sentence[::-1] if config.reverse_source else sentence
    states = [weights["encoder.embedding.weight"][word] for word in order]
    layers: list[Read] = []
    for layer in range(config.encoder.layers):
        layers.append(read_layer(config.encoder.cell, within(weights, f"encoder.layers.{layer}."), states))
        states = layers[-1].states
    final = [layer.final for layer in layers]
    in_order = states[::-1] if config.reverse_source else states
    summary = layers[-1].summary
    if not config.encoder.structured_rows:
        return Encoding(in_order, final, summary, layers[-1].last)
    rows, A = structured_rows(within(weights, "encoder.structured."), in_order)
    return Encoding(rows, final, rows[0] if config.decoder.attend == "none" else summary, layers[-1].last, A)


def structured_rows(weights: Weights, states: Sequence[Tensor]) -> tuple[list[Tensor], list[list[Tensor]]]:
    """A = softmax(W_2 tanh(W_1 Hᵀ)), M = A H: the rows of M, and A[r][s]. [lin2017] (6)-(7)."""
    rows, A = [], []
    for vector in weights["W_2"]:
        energies = [torch.exp(vector @ torch.tanh(weights["W_1"] @ h)) for h in states]
        total = torch.zeros((), dtype=torch.float64)
        for energy in energies:
            total = total + energy
        A.append([energy / total for energy in energies])
        row = torch.zeros_like(states[0])
        for a, h in zip(A[-1], states, strict=True):
            row = row + a * h
        rows.append(row)
    return rows, A


# ------------------------------------------------------------------------------------------------------------- decoders


def first_states(config: RnnConfig, weights: Weights, vector: Tensor, final: list[State]) -> list[State]:
    """The encoder's final states, or tanh(W_s vector), a slice for each layer's h (and C)."""
    if config.decoder.start == "copy":
        return final
    flat = torch.tanh(weights["decoder.begin.W_s.weight"] @ vector + weights["decoder.begin.W_s.bias"])
    hidden, parts = config.decoder.hidden, 2 if config.decoder.cell == "lstm" else 1
    slices = [flat[n * hidden : (n + 1) * hidden] for n in range(config.decoder.layers * parts)]
    return [tuple(slices[layer * parts : (layer + 1) * parts]) for layer in range(config.decoder.layers)]


def step_layers(config: RnnConfig, weights: Weights, x: Tensor, states: list[State]) -> list[State]:
    """One step of every layer, each taking the hidden state of the one below."""
    new = []
    for layer, state in enumerate(states):
        state = STEPS[config.decoder.cell](within(weights, f"decoder.stack.cells.{layer}."), x, state)
        new.append(state)
        x = state[0]
    return new


def log_softmax(scores: Tensor) -> Tensor:
    """log p(v) = score(v) − log Σ_u exp score(u)."""
    return scores - torch.log(torch.exp(scores).sum())


def output(weights: Weights, features: Tensor) -> Tensor:
    """log softmax(W_s features + b). [luong2015] (6)."""
    return log_softmax(weights["decoder.output.weight"] @ features + weights["decoder.output.bias"])


def deep_output(weights: Weights, state: Tensor, previous: Tensor, context: Tensor) -> Tensor:
    """t̃ = U_o s_t + V_o y_{t-1} + C_o c_t; t_j = max(t̃_{2j-1}, t̃_{2j}). [bahdanau2015] A.2.2, [cho2014] A."""
    pre = weights["U_o.weight"] @ state + weights["U_o.bias"]
    pre = pre + weights["V_o.weight"] @ previous + weights["C_o.weight"] @ context
    return torch.stack([torch.max(pre[j], pre[j + 1]) for j in range(0, len(pre), 2)])


def decode_plain(config: RnnConfig, weights: Weights, source: Encoding, inputs: Sequence[int]) -> list[Tensor]:
    """log p of every word, the source being one vector.

    h_t = f(h_{t-1}, y_{t-1}), or h_t = f(h_{t-1}, y_{t-1}, c) with c = tanh(V h_S).
    """
    summary = source.summary
    if config.decoder.context == "every-step":
        summary = torch.tanh(weights["decoder.V.weight"] @ source.summary + weights["decoder.V.bias"])
    states = first_states(config, weights, summary, source.final)
    log_probs = []
    for token in inputs:
        word = weights["decoder.embedding.weight"][token]
        x = torch.cat([word, summary]) if config.decoder.context == "every-step" else word
        states = step_layers(config, weights, x, states)
        features = states[-1][0]
        if config.decoder.output == "deep":
            features = deep_output(within(weights, "decoder.deep."), features, word, summary)
        log_probs.append(output(weights, features))
    return log_probs
