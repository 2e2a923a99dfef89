"""Hugging Face's generate with our weights in its Pegasus model, which is its Marian model with the norms first."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from transformers import PegasusConfig, PegasusForConditionalGeneration
from transformers.utils import logging

from benchmarks.decoding.drivers.serving import BOS, EOS, PAD, Ask, Task, Translate, cut, in_batches, limit, serve
from benchmarks.decoding.drivers.weights import positions, read

LONGEST = 1024
Weights = dict[str, torch.Tensor]


def build(facts: dict[str, Any]) -> PegasusForConditionalGeneration:
    """An empty model of the right sizes."""
    config = PegasusConfig(
        vocab_size=facts["vocab"],
        d_model=facts["dim"],
        encoder_layers=facts["layers"],
        decoder_layers=facts["layers"],
        encoder_attention_heads=facts["heads"],
        decoder_attention_heads=facts["heads"],
        encoder_ffn_dim=facts["feedforward"],
        decoder_ffn_dim=facts["feedforward"],
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=LONGEST,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )
    return PegasusForConditionalGeneration(config).eval()


@torch.no_grad()
def fill(model: PegasusForConditionalGeneration, weights: Weights, dim: int) -> None:
    """Our weights; where it has a bias and we none, zero."""
    inner = model.model
    inner.shared.weight.copy_(weights["embedding"])
    model.final_logits_bias.copy_(weights["bias"].unsqueeze(0))
    for side, part in (("encoder", inner.encoder), ("decoder", inner.decoder)):
        part.embed_positions.weight.copy_(torch.from_numpy(positions(LONGEST, dim)))
        _copy(part.layer_norm, weights, f"{side}.norm")
        for number, layer in enumerate(part.layers):
            name = f"{side}.{number}"
            _attention(layer.self_attn, weights, f"{name}.self")
            _copy(layer.self_attn_layer_norm, weights, f"{name}.self.norm")
            if side == "decoder":
                _attention(layer.encoder_attn, weights, f"{name}.source")
                _copy(layer.encoder_attn_layer_norm, weights, f"{name}.source.norm")
            _copy(layer.fc1, weights, f"{name}.up")
            _copy(layer.fc2, weights, f"{name}.down")
            _copy(layer.final_layer_norm, weights, f"{name}.feedforward.norm")


def _attention(attention: Any, weights: Weights, name: str) -> None:
    linears = (attention.q_proj, attention.k_proj, attention.v_proj, attention.out_proj)
    for linear, key in zip(linears, "qkvo", strict=True):
        linear.weight.copy_(weights[f"{name}.{key}"])
        linear.bias.zero_()


def _copy(module: Any, weights: Weights, name: str) -> None:
    module.weight.copy_(weights[f"{name}.weight"])
    module.bias.copy_(weights[f"{name}.bias"])


def load(task: Task, options: argparse.Namespace) -> Translate:
    torch.set_num_threads(options.threads)
    logging.set_verbosity_error()
    facts = task.facts["transformer"]
    model = build(facts)
    fill(model, read(task.folder, torch.from_numpy), facts["dim"])

    @torch.inference_mode()
    def batch(sources: list[list[int]], beam: int) -> list[list[int]]:
        longest = max(map(len, sources)) + 1
        padded = np.full((len(sources), longest), PAD)
        for row, source in enumerate(sources):
            padded[row, : len(source) + 1] = [*source, EOS]
        ids = torch.from_numpy(padded)
        found = model.generate(
            input_ids=ids,
            attention_mask=(ids != PAD).long(),
            num_beams=beam,
            do_sample=False,
            max_length=limit(sources) + 1,
        )
        return [cut(tokens[1:]) for tokens in found.tolist()]

    def translate(ask: Ask) -> list[list[int]]:
        return in_batches(ask, lambda sources: batch(sources, ask.beam))

    return translate


if __name__ == "__main__":
    serve(load)
