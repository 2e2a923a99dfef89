"""Compute the expected names and shapes of the weights of a recurrent model."""

from __future__ import annotations

from dragoman.config.schema import RnnConfig

Shapes = dict[str, tuple[int, ...]]

_GATES = {"rnn": 1, "lstm": 4, "gru-published": 3, "gru-fused": 3}


def weight_shapes(config: RnnConfig, source_vocab: int, target_vocab: int) -> Shapes:
    """The shapes of all weights by name, for vocabularies of these sizes; tied weights occur once."""
    shapes = _encoder(config) | _stack(config)
    shapes["encoder.embedding.weight"] = (source_vocab, config.embedding)
    shapes["decoder.output.bias"] = (target_vocab,)
    if config.tie != "all":
        shapes["decoder.embedding.weight"] = (target_vocab, config.embedding)
    if config.tie == "none":
        shapes["decoder.output.weight"] = (target_vocab, config.features)
    if config.decoder.attend != "none":
        shapes |= _attention(config)
    return shapes


def _linear(name: str, out: int, size: int, *, bias: bool = True) -> Shapes:
    return {f"{name}.weight": (out, size)} | ({f"{name}.bias": (out,)} if bias else {})


def _cell(name: str, cell: str, inputs: int, hidden: int) -> Shapes:
    rows = _GATES[cell] * hidden
    shapes: Shapes = {f"{name}.W": (rows, inputs), f"{name}.U": (rows, hidden), f"{name}.b": (rows,)}
    return shapes | ({f"{name}.b_U": (hidden,)} if cell == "gru-fused" else {})


def _encoder(config: RnnConfig) -> Shapes:
    encoder, shapes = config.encoder, Shapes()
    each = encoder.hidden // 2 if config.directions_halved else encoder.hidden
    for layer in range(encoder.layers):
        name = f"encoder.layers.{layer}"
        for side in ["left", "right"] if encoder.bidirectional else ["left"]:
            shapes |= _cell(f"{name}.{side}", encoder.cell, encoder.hidden if layer else config.embedding, each)
        if encoder.bidirectional and encoder.join == "linear":
            shapes |= _linear(f"{name}.join", encoder.hidden, 2 * encoder.hidden)
    return shapes


def _stack(config: RnnConfig) -> Shapes:
    """The cells, initial state and deep output of the decoder."""
    encoder, decoder, shapes = config.encoder, config.decoder, Shapes()
    attends, every_step = decoder.attend != "none", decoder.context == "every-step"
    context = config.value_size if attends else encoder.hidden
    enters = context if decoder.attend == "before" or every_step else decoder.hidden if decoder.input_feeding else 0
    for layer in range(decoder.layers):
        inputs = decoder.hidden if layer else config.embedding + enters
        shapes |= _cell(f"decoder.stack.cells.{layer}", decoder.cell, inputs, decoder.hidden)
    if decoder.start == "project":
        size = encoder.hidden // 2 if attends and config.directions_halved else encoder.hidden
        parts = 2 if decoder.cell == "lstm" else 1
        shapes |= _linear("decoder.begin.W_s", decoder.layers * parts * decoder.hidden, size)
    if every_step:
        shapes |= _linear("decoder.V", encoder.hidden, encoder.hidden)
    if decoder.output == "deep":
        out = 2 * config.features
        shapes |= _linear("decoder.deep.U_o", out, decoder.hidden)
        shapes |= _linear("decoder.deep.V_o", out, config.embedding, bias=False)
        shapes |= _linear("decoder.deep.C_o", out, context, bias=False)
    return shapes


def _attention(config: RnnConfig) -> Shapes:
    attention, query, key = config.attention, config.decoder.hidden, config.value_size
    inner = attention.hidden or query
    name = "decoder.attention"
    shapes: Shapes = {"decoder.W_c": (query, key + query)} if config.decoder.attend == "after" else {}
    if attention.score == "general":
        shapes[f"{name}.score.W_a"] = (query, key)
    elif attention.score == "location":
        shapes[f"{name}.score.W_a"] = (attention.positions, query)
    elif attention.score == "concat":
        shapes |= {
            f"{name}.score.W_q": (inner, query),
            f"{name}.score.U_k": (inner, key),
            f"{name}.score.v_a": (inner,),
        }
    if attention.alignment == "local-p":
        shapes |= {f"{name}.aligner.W_p": (inner, query), f"{name}.aligner.v_p": (inner,)}
    return shapes
