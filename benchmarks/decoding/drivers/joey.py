"""JoeyNMT's search with our weights in its Transformer, which may have its norms first as ours has."""

from __future__ import annotations

import argparse
from types import SimpleNamespace
from typing import Any

import torch
from joeynmt.batch import Batch
from joeynmt.model import build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary
from torch import nn

from benchmarks.decoding.drivers.serving import BOS, EOS, PAD, UNK, Ask, Task, Translate, cut, in_batches, limit, serve
from benchmarks.decoding.drivers.weights import read

NORM_EPSILON = 1e-5
ALPHA = 1.0  # of GNMT's length penalty, the one it has

Weights = dict[str, torch.Tensor]


def build(facts: dict[str, Any]) -> nn.Module:
    """An empty model of the right sizes; its vocabulary begins with other specials than ours, whose ids it takes."""
    part = {
        "type": "transformer",
        "num_layers": facts["layers"],
        "num_heads": facts["heads"],
        "hidden_size": facts["dim"],
        "ff_size": facts["feedforward"],
        "embeddings": {"embedding_dim": facts["dim"], "scale": True, "dropout": 0.0},
        "dropout": 0.0,
        "layer_norm": "pre",
    }
    start = {"initializer": "xavier_uniform", "embed_initializer": "xavier_uniform"}
    config = {**start, "tied_embeddings": True, "tied_softmax": True, "encoder": part, "decoder": part}
    special = SimpleNamespace(
        unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>", sep_token=None, lang_tags=[]
    )
    special.unk_id, special.pad_id, special.bos_id, special.eos_id, special.sep_id = 0, 1, 2, 3, None
    words = Vocabulary([str(number) for number in range(4, facts["vocab"])], special)
    model: nn.Module = build_model(config, words, words)
    return model.eval()


@torch.no_grad()
def fill(model: Any, weights: Weights) -> None:
    """Our weights; where it has a bias and we none, zero, and a bias of the output, which it has not."""
    order = [UNK, PAD, BOS, EOS, *range(4, len(weights["bias"]))]
    model.src_embed.lut.weight.copy_(weights["embedding"][order])
    model.decoder.output_layer.bias = nn.Parameter(weights["bias"][order])
    for side, part in (("encoder", model.encoder), ("decoder", model.decoder)):
        _copy(part.layer_norm, weights, f"{side}.norm")
        for number, layer in enumerate(part.layers):
            name = f"{side}.{number}"
            if side == "encoder":
                _attention(layer.src_src_att, weights, f"{name}.self")
                _copy(layer.layer_norm, weights, f"{name}.self.norm")
            else:
                _attention(layer.trg_trg_att, weights, f"{name}.self")
                _attention(layer.src_trg_att, weights, f"{name}.source")
                _copy(layer.x_layer_norm, weights, f"{name}.self.norm")
                _copy(layer.dec_layer_norm, weights, f"{name}.source.norm")
            _copy(layer.feed_forward.layer_norm, weights, f"{name}.feedforward.norm")
            _copy(layer.feed_forward.pwff_layer[0], weights, f"{name}.up")
            _copy(layer.feed_forward.pwff_layer[3], weights, f"{name}.down")
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = NORM_EPSILON


def _attention(attention: Any, weights: Weights, name: str) -> None:
    linears = (attention.q_layer, attention.k_layer, attention.v_layer, attention.output_layer)
    for linear, key in zip(linears, "qkvo", strict=True):
        linear.weight.copy_(weights[f"{name}.{key}"])
        linear.bias.zero_()


def _copy(module: Any, weights: Weights, name: str) -> None:
    module.weight.copy_(weights[f"{name}.weight"])
    module.bias.copy_(weights[f"{name}.bias"])


THEIRS = {PAD: 1, UNK: 0}
"""Their ids of the specials that differ; it works both ways."""


def load(task: Task, options: argparse.Namespace) -> Translate:
    torch.set_num_threads(options.threads)
    model: Any = build(task.facts["transformer"])
    fill(model, read(task.folder, torch.from_numpy))
    cpu = torch.device("cpu")

    def batch(sources: list[list[int]], beam: int) -> list[list[int]]:
        lengths = torch.tensor([len(source) + 1 for source in sources])
        padded = torch.full((len(sources), int(lengths.max())), THEIRS[PAD])
        for row, source in enumerate(sources):
            padded[row, : len(source) + 1] = torch.tensor([*(THEIRS.get(token, token) for token in source), EOS])
        rows = torch.arange(len(sources))
        made = Batch(padded, lengths, None, None, None, rows, cpu, THEIRS[PAD], EOS, is_train=False)
        found, _, _ = search(model, made, limit(sources), beam, ALPHA)
        return [cut([THEIRS.get(token, token) for token in tokens]) for tokens in found.tolist()]

    def translate(ask: Ask) -> list[list[int]]:
        return in_batches(ask, lambda sources: batch(sources, ask.beam))

    return translate


if __name__ == "__main__":
    serve(load)
