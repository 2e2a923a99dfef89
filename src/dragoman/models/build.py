"""Build a model from its configuration or a bundle, or compute its cost without allocating its weights."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from dragoman.bundle import Bundle
from dragoman.config.rnn import RnnConfig
from dragoman.config.schema import Config, ModelConfig, TransformerConfig
from dragoman.errors import ConfigError
from dragoman.models.attention_decoders import BahdanauDecoder, LuongDecoder
from dragoman.models.base import Decoder, Model
from dragoman.models.rnn_decoder import InitialState, PlainDecoder, RnnMemory, RnnState
from dragoman.models.rnn_encoder import RnnEncoder
from dragoman.models.transformer import TransformerDecoder, TransformerEncoder, TransformerMemory, TransformerState
from dragoman.nn.attention.single_head import build_attention
from dragoman.nn.embedding import (
    DeepOutput,
    Embedding,
    LearnedPositions,
    NoPositions,
    Output,
    Positions,
    SinusoidalPositions,
)
from dragoman.nn.stateless_noise import Noise
from dragoman.nn.transformer_layers import LayerSizes


def build_model(config: ModelConfig, source_vocab: int, target_vocab: int, seed: int = 1) -> Model[Any, Any]:
    """Build the model of a configuration for vocabularies of these sizes, with new weights drawn with `seed`."""
    if config.tie == "all" and source_vocab != target_vocab:
        raise ConfigError(
            f"model.tie must be target or none with vocabularies of {source_vocab} and {target_vocab} tokens, got all"
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            if isinstance(config, TransformerConfig):
                return _transformer(config, source_vocab, target_vocab)
            return _rnn(config, source_vocab, target_vocab)
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, MemoryError) or "allocate memory" in str(error):
                raise ConfigError("The weights of the model do not fit into memory; use a smaller model") from None
            raise


def _embeddings(
    config: RnnConfig | TransformerConfig, dim: int, source_vocab: int, target_vocab: int, *, scaled: bool
) -> tuple[Embedding, Embedding]:
    """The two embeddings; they share one weight if tied."""
    # Recurrent models learn much faster with embeddings of unit size, but these are poor output weights.
    std = 1.0 if config.tie == "none" and not scaled else dim**-0.5
    source = _vectors(source_vocab, dim, std)
    target = source if config.tie == "all" else _vectors(target_vocab, dim, std)
    return Embedding(source, config.dropout, scaled=scaled), Embedding(target, config.dropout, scaled=scaled)


def _vectors(vocab: int, dim: int, std: float) -> nn.Parameter:
    return nn.Parameter(nn.init.normal_(torch.empty(vocab, dim), std=std))


def _output(config: RnnConfig | TransformerConfig, dim: int, target_vocab: int, embedding: Embedding) -> Output:
    return Output(dim, target_vocab, None if config.tie == "none" else embedding.weight)


def _rnn(config: RnnConfig, source_vocab: int, target_vocab: int) -> Model[RnnMemory, RnnState]:
    source, target = _embeddings(config, config.embedding, source_vocab, target_vocab, scaled=False)
    output = _output(config, config.features, target_vocab, target)
    return Model(RnnEncoder(config, source), _rnn_decoder(config, target, output))


def _rnn_decoder(config: RnnConfig, embedding: Embedding, output: Output) -> Decoder[RnnMemory, RnnState]:
    encoder, decoder = config.encoder, config.decoder
    if decoder.attend == "none":
        return PlainDecoder(
            config, embedding, InitialState(config, encoder.hidden), _deep(config, encoder.hidden), output
        )
    attention = build_attention(config.attention, config.query_size, config.value_size)
    start = InitialState(config, encoder.hidden // 2 if config.directions_halved else encoder.hidden)
    if decoder.attend == "before":
        return BahdanauDecoder(config, embedding, attention, start, _deep(config, config.value_size), output)
    return LuongDecoder(config, embedding, attention, start, output)


def _deep(config: RnnConfig, context: int) -> DeepOutput | None:
    if config.decoder.output == "linear":
        return None
    return DeepOutput(config.decoder.hidden, config.embedding, context, config.features)


def _positions(config: TransformerConfig) -> Positions:
    if config.positions == "learned":
        return LearnedPositions(config.dim, config.max_positions, config.position_offset)
    if config.positions == "none":
        return NoPositions()
    layout = config.positions.removeprefix("sinusoidal").removeprefix("-") or "pairs"
    return SinusoidalPositions(config.dim, layout, config.position_offset)


def _transformer(
    config: TransformerConfig, source_vocab: int, target_vocab: int
) -> Model[TransformerMemory, TransformerState]:
    source, target = _embeddings(config, config.dim, source_vocab, target_vocab, scaled=config.scale_embeddings)
    sizes = LayerSizes(
        dim=config.dim,
        heads=config.heads,
        feedforward=config.feedforward,
        norm_first=config.norm == "pre",
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        activation_dropout=config.activation_dropout,
        activation=config.activation,
        attention_bias=config.attention_bias,
        epsilon=config.norm_epsilon,
        norm_form=config.norm_form,
    )
    encoder = TransformerEncoder(sizes, config.encoder_layers, source, _positions(config), source_end=config.source_end)
    output = _output(config, config.dim, target_vocab, target)
    ssru = config.decoder == "ssru"
    decoder = TransformerDecoder(sizes, config.decoder_layers, target, _positions(config), output, ssru=ssru)
    model = Model(encoder, decoder)
    if config.initialization == "glorot":
        for parameter in model.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
    return model


def load_model(bundle: Bundle) -> Model[Any, Any]:
    """Build the model of a bundle, whose sizes were checked against its weights, and load the weights."""
    tokenizers = bundle.tokenizers()
    model = build_model(bundle.config.model, tokenizers["source"].size, tokenizers["target"].size)
    weights = {name: torch.from_numpy(array) for name, array in bundle.weights().items()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    return model.requires_grad_(False)


@dataclass(frozen=True)
class Cost:
    """The number of parameters, and the cost of a target token in a sentence pair.

    FLOPs are those of matrix products only; a multiplication and an addition count as two. Bytes in fp32: activations
    for the backward pass, without the output layer, which is processed in chunks.
    """

    parameters: int
    forward_flops: int
    training_flops: int
    training_bytes: int


def model_cost(config: Config, length: int = 25) -> Cost:
    """Compute the cost of a model with the configured vocabulary size, for pairs of `length` tokens per side."""
    vocab, masks = config.tokenizer.size, 2 if config.training.r_drop else 1
    with torch.device("meta"):
        model = build_model(config.model, vocab, vocab)
    tokens = torch.zeros(1, length, dtype=torch.long, device="meta")
    lengths = torch.tensor([length])
    noise = Noise.of(1, 1, torch.zeros(1, dtype=torch.long, device="meta"))
    own = {_storage(parameter) for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(x: Tensor) -> Tensor:
        if _storage(x) not in own:
            kept[_storage(x)] = x.untyped_storage().nbytes()
        return x

    with FlopCounterMode(display=False) as forward, saved_tensors_hooks(keep, lambda x: x):
        decoded = model(tokens, lengths, tokens, lengths, noise)
        scores = model.decoder.output.weight @ decoded.features.mT  # [1, vocab, length]
    with FlopCounterMode(display=False) as backward:
        scores.sum().backward()
    flops = forward.get_total_flops()
    return Cost(
        sum(parameter.numel() for parameter in model.parameters()),
        flops // length,
        masks * (flops + backward.get_total_flops()) // length,
        masks * sum(kept.values()) // length,
    )


def _storage(x: Tensor) -> int:
    """Identifier of the storage of a tensor; views have the same."""
    return x.untyped_storage()._cdata  # noqa: SLF001 -- on the meta device there is no address
