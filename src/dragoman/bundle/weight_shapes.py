"""Compute the names and shapes of the weights of a model from its configuration, without building the model."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.config import ModelConfig, RnnConfig, TransformerConfig
from dragoman.config.attention_scores import score_rules

NamedShape = tuple[str, tuple[int, ...]]

_GATES = {"rnn": 1, "lstm": 4, "gru-published": 3, "gru-fused": 3}


def weight_shapes(config: ModelConfig, source_vocab: int, target_vocab: int) -> Iterator[NamedShape]:
    """Yield the name and shape of each weight, tied ones once, one by one, so that a caller can stop early."""
    if isinstance(config, TransformerConfig):
        dim, features = config.dim, config.dim
    else:
        dim, features = config.embedding, config.features
    yield "encoder.embedding.weight", (source_vocab, dim)
    if config.tie != "all":
        yield "decoder.embedding.weight", (target_vocab, dim)
    if config.tie == "none":
        yield "decoder.output.weight", (target_vocab, features)
    yield "decoder.output.bias", (target_vocab,)
    yield from _transformer(config) if isinstance(config, TransformerConfig) else _rnn(config)


def _linear(name: str, out: int, size: int, *, bias: bool = True) -> Iterator[NamedShape]:
    yield f"{name}.weight", (out, size)
    if bias:
        yield f"{name}.bias", (out,)


def _norm(name: str, dim: int) -> Iterator[NamedShape]:
    yield f"{name}.weight", (dim,)
    yield f"{name}.bias", (dim,)


# ------------------------------------------------------------------------------------------------------- Transformer


def _transformer(config: TransformerConfig) -> Iterator[NamedShape]:
    sides = (
        ("encoder", config.encoder_layers, {"attention": "around_attention"}),
        ("decoder", config.decoder_layers, {"self_attention": "around_self", "source_attention": "around_source"}),
    )
    for side, layers, attentions in sides:
        if config.positions == "learned":
            yield f"{side}.positions.weight", (config.max_positions + config.position_offset, config.dim)
        if config.norm == "pre":
            yield from _norm(f"{side}.norm", config.dim)
        for layer in range(layers):
            yield from _transformer_layer(config, f"{side}.layers.{layer}", attentions)


def _transformer_layer(config: TransformerConfig, name: str, attentions: dict[str, str]) -> Iterator[NamedShape]:
    dim = config.dim
    for attention, residual in attentions.items():
        if attention == "self_attention" and config.decoder == "ssru":
            yield f"{name}.ssru.W", (dim, dim)
            yield f"{name}.ssru.W_f", (dim, dim)
            yield f"{name}.ssru.b_f", (dim,)
        else:
            yield f"{name}.{attention}.W_qkv", (3 * dim, dim)
            yield f"{name}.{attention}.W_o", (dim, dim)
            if config.attention_bias:
                yield f"{name}.{attention}.b_qkv", (3 * dim,)
                yield f"{name}.{attention}.b_o", (dim,)
        yield from _norm(f"{name}.{residual}.norm", dim)
    yield from _linear(f"{name}.feedforward.W_1", config.feedforward, dim)
    yield from _linear(f"{name}.feedforward.W_2", dim, config.feedforward)
    yield from _norm(f"{name}.around_feedforward.norm", dim)


# --------------------------------------------------------------------------------------------------------- recurrent


def _rnn(config: RnnConfig) -> Iterator[NamedShape]:
    yield from _rnn_encoder(config)
    yield from _rnn_decoder(config)
    if config.decoder.attend != "none":
        yield from _attention(config)


def _cell(name: str, cell: str, inputs: int, hidden: int) -> Iterator[NamedShape]:
    rows = _GATES[cell] * hidden
    yield f"{name}.W", (rows, inputs)
    yield f"{name}.U", (rows, hidden)
    yield f"{name}.b", (rows,)
    if cell == "gru-fused":
        yield f"{name}.b_U", (hidden,)


def _rnn_encoder(config: RnnConfig) -> Iterator[NamedShape]:
    encoder = config.encoder
    each = encoder.hidden // 2 if config.directions_halved else encoder.hidden
    for layer in range(encoder.layers):
        name = f"encoder.layers.{layer}"
        for side in ["left", "right"] if encoder.bidirectional else ["left"]:
            yield from _cell(f"{name}.{side}", encoder.cell, encoder.hidden if layer else config.embedding, each)
        if encoder.bidirectional and encoder.join == "linear":
            yield from _linear(f"{name}.join", encoder.hidden, 2 * encoder.hidden)
    if encoder.structured_rows:
        hidden = encoder.structured_hidden or encoder.hidden
        yield "encoder.structured.W_1", (hidden, encoder.hidden)
        yield "encoder.structured.W_2", (encoder.structured_rows, hidden)


def _rnn_decoder(config: RnnConfig) -> Iterator[NamedShape]:
    """Yield the cells, initial state and deep output of the decoder."""
    encoder, decoder = config.encoder, config.decoder
    attends, every_step = decoder.attend != "none", decoder.context == "every-step"
    context = config.value_size if attends else encoder.hidden
    enters = context if decoder.attend == "before" or every_step else decoder.hidden if decoder.input_feeding else 0
    for layer in range(decoder.layers):
        inputs = decoder.hidden if layer else config.embedding + enters
        yield from _cell(f"decoder.stack.cells.{layer}", decoder.cell, inputs, decoder.hidden)
    if decoder.start == "project":
        size = encoder.hidden // 2 if attends and config.directions_halved else encoder.hidden
        parts = 2 if decoder.cell == "lstm" else 1
        yield from _linear("decoder.begin.W_s", decoder.layers * parts * decoder.hidden, size)
    if every_step:
        yield from _linear("decoder.V", encoder.hidden, encoder.hidden)
    if decoder.output == "deep":
        out = 2 * config.features
        yield from _linear("decoder.deep.U_o", out, decoder.hidden)
        yield from _linear("decoder.deep.V_o", out, config.embedding, bias=False)
        yield from _linear("decoder.deep.C_o", out, context, bias=False)


def _attention(config: RnnConfig) -> Iterator[NamedShape]:
    attention, query, key = config.attention, config.query_size, config.value_size
    inner = attention.hidden or query
    name = "decoder.attention"
    if config.decoder.attend == "after":
        yield "decoder.W_c", (config.decoder.hidden, key + config.decoder.hidden)
    sizes = {"query": query, "key": key, "hidden": inner, "positions": attention.positions}
    for weight, shape in score_rules(attention.score).shapes(**sizes).items():
        yield f"{name}.score.{weight}", shape
    if attention.alignment == "local-p":
        yield f"{name}.aligner.W_p", (inner, query)
        yield f"{name}.aligner.v_p", (inner,)
