"""OpenNMT-py's inference engine: our weights in its Transformer, or its nearest RNN with random ones."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from onmt.inference_engine import InferenceEnginePY
from onmt.inputters.inputter import dict_to_vocabs
from onmt.model_builder import build_base_model
from onmt.models.model_saver import ModelSaver
from onmt.opts import train_opts, translate_opts
from onmt.utils.parse import ArgumentParser
from torch import nn

from benchmarks.decoding.drivers.serving import BOS, EOS, PAD, UNK, Ask, Task, Translate, limit, serve
from benchmarks.decoding.drivers.weights import read

SPECIALS = {UNK: "<unk>", PAD: "<blank>", BOS: "<s>", EOS: "</s>"}
UNBOUND = 1000
"""More sentences than it would sort at once."""

Weights = dict[str, torch.Tensor]


def model_options(model: str, facts: dict[str, Any]) -> Any:
    """What a checkpoint of its own would carry."""
    found = {
        "share_vocab": True,
        "dropout": [0.0],
        "attention_dropout": [0.0],
        "param_init": 0,
        "param_init_glorot": True,
    }
    if model == "transformer":
        found |= {"encoder_type": "transformer", "decoder_type": "transformer", "layers": facts["layers"]}
        found |= {"hidden_size": facts["dim"], "word_vec_size": facts["dim"], "heads": facts["heads"]}
        found |= {"transformer_ff": facts["feedforward"], "position_encoding": True, "norm_eps": 1e-5}
        found |= {"share_embeddings": True, "share_decoder_embeddings": True, "add_ffnbias": True}
    else:
        found |= {"encoder_type": "brnn", "decoder_type": "rnn", "rnn_type": "GRU", "layers": 1, "input_feed": 1}
        found |= {"hidden_size": facts["hidden"], "word_vec_size": facts["embedding"], "global_attention": "mlp"}
    parser = ArgumentParser()
    train_opts(parser)
    nothing = ["-data", "{}", "-src_vocab", "-", "-save_model", "-"]
    options, _ = parser.parse_known_args(nothing)
    for name, value in found.items():
        setattr(options, name, value)
    ArgumentParser.update_model_opts(options)
    ArgumentParser.validate_model_opts(options)
    return options


def random_weights(model: nn.Module) -> None:
    """As its trainer begins."""
    torch.manual_seed(1)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)


@torch.no_grad()
def fill(model: Any, weights: Weights) -> None:
    """Our weights; it has biases just where we have."""
    order = [UNK, PAD, BOS, EOS, *range(4, len(weights["bias"]))]
    model.encoder.embeddings.word_lut.weight.copy_(weights["embedding"][order])
    model.generator.bias.copy_(weights["bias"][order])
    for side, part, layers in (
        ("encoder", model.encoder, model.encoder.transformer),
        ("decoder", model.decoder, model.decoder.transformer_layers),
    ):
        _copy(part.layer_norm, weights, f"{side}.norm")
        for number, layer in enumerate(layers):
            name = f"{side}.{number}"
            _attention(layer.self_attn, weights, f"{name}.self")
            _copy(layer.layer_norm if side == "encoder" else layer.layer_norm_1, weights, f"{name}.self.norm")
            if side == "decoder":
                _attention(layer.context_attn, weights, f"{name}.source")
                _copy(layer.layer_norm_2, weights, f"{name}.source.norm")
            _copy(layer.feed_forward.layer_norm, weights, f"{name}.feedforward.norm")
            _copy(layer.feed_forward.w_1, weights, f"{name}.up")
            _copy(layer.feed_forward.w_2, weights, f"{name}.down")


def _attention(attention: Any, weights: Weights, name: str) -> None:
    linears = (attention.linear_query, attention.linear_keys, attention.linear_values, attention.final_linear)
    for linear, key in zip(linears, "qkvo", strict=True):
        linear.weight.copy_(weights[f"{name}.{key}"])


def _copy(module: Any, weights: Weights, name: str) -> None:
    module.weight.copy_(weights[f"{name}.weight"])
    module.bias.copy_(weights[f"{name}.bias"])


def checkpoint(task: Task, kind: str) -> str:
    """A file such as its trainer saves, made once."""
    facts = task.facts[kind]
    base = task.folder / f"opennmt-{kind}"
    path = f"{base}_step_0.pt"
    if Path(path).exists():
        return path
    options = model_options(kind, facts)
    words = [*SPECIALS.values(), *(str(number) for number in range(4, facts["vocab"]))]
    vocabulary = {"src": words, "tgt": words, "data_task": "seq2seq", "decoder_start_token": "<s>"}
    vocabs = dict_to_vocabs(vocabulary)
    model = build_base_model(options, vocabs)
    random_weights(model)
    if kind == "transformer":
        fill(model, read(task.folder, torch.from_numpy))
    untrained = SimpleNamespace(state_dict=dict)
    ModelSaver(str(base), model, options, vocabs, untrained).save(0)
    return path


def engine(model: str, threads: int) -> InferenceEnginePY:
    """As onmt_translate makes it."""
    torch.set_num_threads(threads)
    parser = ArgumentParser()
    translate_opts(parser)
    options = parser.parse_args(
        ["-model", model, "-src", "-", "-output", os.devnull, "-length_penalty", "avg", "-gpu", "-1"]
    )
    ArgumentParser.validate_translate_opts(options)
    ArgumentParser.validate_translate_opts_dynamic(options)
    vars(options).update(_all_transform=set())  # lines are subwords already
    return InferenceEnginePY(options)


def load(task: Task, options: argparse.Namespace) -> Translate:
    made = engine(checkpoint(task, options.model), options.threads)
    steps = task.facts[options.model]["steps"]

    def translate(ask: Ask) -> list[list[int]]:
        translator = made.translator
        translator.beam_size, translator.max_length_ratio = ask.beam, 0
        if options.model == "rnn":
            translator.min_length = translator.max_length = round(steps[str(ask.beam)])
        else:
            translator.max_length = limit(ask.sources)
        made.opt.batch_size, made.opt.batch_type, made.opt.bucket_size = ask.batch, "sents", UNBOUND
        _, found = made.infer_list([" ".join([*map(word, source), "</s>"]) for source in ask.sources])
        return [[number(token) for token in best[0].split()] for best in found]

    return translate


def word(subword: int) -> str:
    return SPECIALS.get(subword) or str(subword)


def number(token: str) -> int:
    return int(token) if token.isdigit() else UNK  # a model that was never trained writes any special word


if __name__ == "__main__":
    serve(load)
