"""Probes: times and numerical properties of single parts, measured in one process.

A probe returns one value per condition and round. The conditions of a round are measured directly after each other, so
that the load of the machine affects all of them. Times are CPU times of one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from claims.measurement.first_word_latency import first_word_latency
from claims.measurement.gradient_distance import gradient_distance
from claims.measurement.hard_attention import gradient_noise, reversed_strings
from claims.measurement.reading_order import reading_order
from claims.measurement.recall_task import clipping_rates, recall_reach
from claims.measurement.samples import Samples, interleaved
from claims.measurement.toy_language import toy_language
from claims.measurement.word_order import word_order
from dragoman.config import RnnConfig, TransformerConfig
from dragoman.data.batch import Batch
from dragoman.models.base import Encoded
from dragoman.models.build import build_model
from dragoman.nn.attention import MultiHeadAttention
from dragoman.text import EOS_ID

_HIDDEN = 256
_VOCAB = 64


def attention_step(seed: int, lengths: tuple[int, ...] = (32, 128, 512, 2048, 8192, 32768)) -> Samples:
    """Time of one decoding step by source length, for global and local attention (general score, D = 10)."""
    actions = {
        f"{alignment} {length}": _decoding_step(alignment, length, seed)
        for length in lengths
        for alignment in ("global", "local-m", "local-p")
    }
    return interleaved(actions)


def _decoding_step(alignment: str, length: int, seed: int, batch: int = 4) -> Callable[[], object]:
    part = {"layers": 1, "hidden": _HIDDEN}
    config = RnnConfig.model_validate(
        {
            "family": "rnn",
            "embedding": _HIDDEN,
            "encoder": part,
            "decoder": part,
            "attention": {"alignment": alignment, "window": 10},
        }
    )
    decoder = build_model(config, _VOCAB, _VOCAB, seed=seed).decoder
    draws = torch.Generator().manual_seed(seed)
    states = torch.randn(batch, length, _HIDDEN, generator=draws)
    first = torch.zeros(batch, _HIDDEN)
    encoded = Encoded(states, torch.full((batch,), length), ((first, first),), last=first[:, : _HIDDEN // 2])
    with torch.inference_mode():
        memory = decoder.make_memory(encoded)
        state = decoder.start(memory)
    tokens = torch.zeros(batch, dtype=torch.long)

    def step() -> object:
        with torch.inference_mode():
            return decoder.step(tokens, state, memory)

    return step


def training_throughput(seed: int, lengths: tuple[int, ...] = (8, 32, 128), tokens: int = 1024) -> Samples:
    """Time of one forward and backward pass over the same number of tokens, by sentence length."""
    rnn = {"family": "rnn", "embedding": 128, "dropout": 0.0}
    part: dict[str, Any] = {"layers": 1, "hidden": 128}
    feeding = part | {"input_feeding": True}
    small = {"encoder_layers": 2, "decoder_layers": 2, "feedforward": 256, "dropout": 0.0}
    configs: dict[str, RnnConfig | TransformerConfig] = {
        "rnn": RnnConfig.model_validate(rnn | {"encoder": part, "decoder": part}),
        "rnn-feeding": RnnConfig.model_validate(rnn | {"encoder": part, "decoder": feeding}),
        "transformer": TransformerConfig.model_validate({"family": "transformer", "dim": 128} | small),
    }
    actions = {
        f"{name} {length}": _training_pass(config, length, tokens // length, seed)
        for length in lengths
        for name, config in configs.items()
    }
    return interleaved(actions, rounds=8, repeats=2)


def _training_pass(
    config: RnnConfig | TransformerConfig, length: int, sentences: int, seed: int
) -> Callable[[], object]:
    model = build_model(config, _VOCAB, _VOCAB, seed=seed)
    draws = torch.Generator().manual_seed(seed)
    drawn = torch.randint(EOS_ID + 1, _VOCAB, (2, sentences, length - 1), generator=draws).tolist()
    batch = Batch.from_pairs(list(zip(*drawn, strict=True)))

    def step() -> object:
        model.zero_grad(set_to_none=True)
        decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
        log_probs: Tensor = model.decoder.output(decoded.features)
        log_probs.mean().backward()
        return log_probs

    return step


def cell_speed(seed: int, length: int = 24, sentences: int = 40) -> Samples:
    """Time of one forward and backward pass of recurrent models of 256 cells that differ in the cell only."""
    actions = {}
    for cell in ("lstm", "gru-fused", "gru-published", "rnn"):
        part = {"layers": 1, "hidden": _HIDDEN, "cell": cell}
        table = {"family": "rnn", "embedding": _HIDDEN, "dropout": 0.0, "encoder": part, "decoder": part}
        actions[cell] = _training_pass(RnnConfig.model_validate(table), length, sentences, seed)
    return interleaved(actions, rounds=8, repeats=2)


def head_cost(seed: int, heads: tuple[int, ...] = (1, 2, 4, 8, 16)) -> Samples:
    """Time of a forward and backward pass of self-attention by the number of heads (width 256, 16 × 64 words)."""
    draws = torch.Generator().manual_seed(seed)
    x = torch.randn(16, 64, _HIDDEN, generator=draws)
    return interleaved({str(number): _self_attention(number, x) for number in heads})


def _self_attention(heads: int, x: Tensor) -> Callable[[], object]:
    attention = MultiHeadAttention(x.size(-1), heads, dropout=0.0)
    inputs = x.clone().requires_grad_()

    def step() -> object:
        inputs.grad = None
        attention.zero_grad(set_to_none=True)
        y = attention.attend(*attention.project(inputs), may_attend=None, is_causal=False, noise=None)
        y.sum().backward()
        return y

    return step


def softmax_gradient(seed: int, sizes: tuple[int, ...] = (4, 16, 64, 256, 1024), words: int = 32) -> Samples:
    """Norm of the derivative of attention weights by their scores, with and without division by √d_k.

    Queries and keys have independent normal components. Each round is one query; the derivative of the softmax is
    diag(a) − a aᵀ. Paper: [vaswani2017] (section 3.2.1).
    """
    draws = torch.Generator().manual_seed(seed)
    samples: Samples = {}
    for size in sizes:
        queries = torch.randn(200, size, generator=draws, dtype=torch.float64)
        keys = torch.randn(200, words, size, generator=draws, dtype=torch.float64)
        scores = torch.einsum("qd,qwd->qw", queries, keys)  # [queries, words]
        for name, each in (("scaled", scores / size**0.5), ("unscaled", scores)):
            a = each.softmax(-1)
            jacobian = torch.diag_embed(a) - a.unsqueeze(-1) * a.unsqueeze(-2)  # [queries, words, words]
            samples[f"{name} {size}"] = jacobian.norm(dim=(-1, -2)).clamp_min(1e-12).tolist()
    return samples


PROBES: dict[str, Callable[[int], Samples]] = {
    "attention-noise": gradient_noise,
    "attention-step": attention_step,
    "cell-speed": cell_speed,
    "clipping-rates": clipping_rates,
    "first-word-latency": first_word_latency,
    "gradient-distance": gradient_distance,
    "head-cost": head_cost,
    "order-tasks": word_order,
    "reading-order": reading_order,
    "recall-reach": recall_reach,
    "reversed-strings": reversed_strings,
    "softmax-gradient": softmax_gradient,
    "toy-language": toy_language,
    "training-throughput": training_throughput,
}
"""Probes by name; the argument is a seed. The records of a probe that is not here any more are kept."""

TRAINING_PROBES = frozenset(
    ("clipping-rates", "order-tasks", "reading-order", "recall-reach", "reversed-strings", "toy-language")
)
"""Probes that train models on a small task; the others measure single parts."""
