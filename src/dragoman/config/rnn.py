"""Settings of recurrent models, and rules on which decoder type, attention and output layer can be combined."""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from dragoman.config.attention_scores import ALIGNMENTS, SCORES, score_rules
from dragoman.config.base import Layers, PartName, Rate, Settings, Size, Width
from dragoman.errors import CombinationError, ConfigError

CellName = Literal["rnn", "lstm", "gru-published", "gru-fused"]
Tie = Literal["none", "target", "all"]

ROW_ALIGNMENTS = ("global", "hard")
"""Alignments to the rows of structured self-attention, which have no order."""


class RnnEncoderConfig(Settings):
    """Encoder of a recurrent model."""

    cell: CellName = "lstm"
    """Recurrent cell; gru-published is the one of the paper, gru-fused the one of cuDNN: different functions."""
    layers: Layers = 2
    """Number of layers."""
    hidden: Width = 512
    """Size of an encoder state, both directions together."""
    bidirectional: bool = True
    """Encode in both directions."""
    join: Literal["concat", "linear"] = "concat"
    """Combination of both directions: concatenation (each has half the size), or a learned linear map."""
    structured_rows: Annotated[int, Field(ge=0, le=1000)] = 0
    """Structured self-attention: number of weighted means of the states that replace them in the memory of the decoder;
    0 is none. Without attention in the decoder, 1: the source vector."""
    structured_hidden: Width | None = None
    """Inner size of structured self-attention; the size of an encoder state by default."""


class RnnDecoderConfig(Settings):
    """Decoder of a recurrent model."""

    cell: CellName = "lstm"
    """Recurrent cell, as for the encoder."""
    layers: Layers = 2
    """Number of layers."""
    hidden: Width = 512
    """Size of a decoder state."""
    attend: Literal["before", "after", "none"] = "after"
    """Attend before the step of the cell (Bahdanau), after it (Luong), or not at all."""
    input_feeding: bool = False
    """Pass the attentional state to the next step (Luong, section 3.3)."""
    query_context: bool = False
    """Add the previous context to the query of attention, so that it depends on past alignments."""
    context: Literal["initial", "every-step"] = "initial"
    """Without attention: the source vector initializes the decoder (Sutskever), or is an input of every step (Cho)."""
    output: Literal["linear", "deep"] = "linear"
    """Layer before the softmax: none, or maxout over state, previous word and context."""
    output_hidden: Width | None = None
    """Size of the maxout layer; the embedding size by default."""
    start: Literal["copy", "project"] = "project"
    """First state: the last state of the encoder, layer by layer, or tanh of a learned map of it."""


class AttentionConfig(Settings):
    """Attention of a recurrent model: score × alignment, over a memory. Unused if `decoder.attend` is none."""

    score: Annotated[str, PartName("scores", tuple(SCORES))] = "general"
    """Score function of a decoder state and a source position."""
    alignment: Literal["global", "local-m", "local-p", "hard"] = "global"
    """Positions: all, a window around t or around a predicted position, or one sampled position."""
    memory: Literal["shared", "split"] = "shared"
    """Encoder states are both keys and values, or one half is the key and the other the value."""
    window: Annotated[int, Field(ge=1, le=1000)] = 10
    """D of local attention: positions p − D to p + D. The paper uses 10."""
    positions: Size = 100
    """Number of source positions of the location score; later words of a source get no attention."""
    hidden: Width | None = None
    """Inner size of the concat score and of the predictor of local-p; the size of the query by default."""


class RnnConfig(Settings):
    """Recurrent encoder and decoder."""

    family: Literal["rnn"]
    """Model family."""
    embedding: Width = 512
    """Embedding size."""
    tie: Tie = "none"
    """Shared weights: output and target embedding, or these and the source embedding."""
    dropout: Rate = 0.2
    """Dropout of embeddings, between layers and before the output."""
    reverse_source: bool = False
    """Encode the source in reverse order (Sutskever, section 3.3). Alignments keep the original order."""
    encoder: RnnEncoderConfig = Field(default_factory=RnnEncoderConfig)
    """Encoder."""
    decoder: RnnDecoderConfig = Field(default_factory=RnnDecoderConfig)
    """Decoder."""
    attention: AttentionConfig = Field(default_factory=AttentionConfig)
    """Attention of the decoder."""

    @property
    def directions_halved(self) -> bool:
        """Whether each direction has half of the encoder's hidden size."""
        return self.encoder.bidirectional and self.encoder.join == "concat"

    @property
    def value_size(self) -> int:
        """Size of a key, and of a value."""
        return self.encoder.hidden // 2 if self.attention.memory == "split" else self.encoder.hidden

    @property
    def query_size(self) -> int:
        """Size of a query of attention: a decoder state, and the previous context if it is part of the query."""
        return self.decoder.hidden + (self.value_size if self.decoder.query_context else 0)

    @property
    def features(self) -> int:
        """Size of the input of the output layer."""
        if self.decoder.output == "deep":
            return self.decoder.output_hidden or self.embedding
        return self.decoder.hidden

    def _check(self) -> None:
        _check_wiring(self)
        _check_sizes(self)
        if self.encoder.structured_rows:
            _check_structured(self)
        if self.decoder.attend != "none":
            _check_attention(self)


class Wiring(NamedTuple):
    """Connections of a recurrent decoder: when it attends, what it feeds back, and the input of its output layer."""

    attend: str
    input_feeding: bool
    context: str
    output: str


LEGAL_WIRINGS = (
    Wiring("none", False, "initial", "linear"),
    Wiring("none", False, "every-step", "linear"),
    Wiring("none", False, "every-step", "deep"),
    Wiring("before", False, "initial", "linear"),
    Wiring("before", False, "initial", "deep"),
    Wiring("after", False, "initial", "linear"),
    Wiring("after", True, "initial", "linear"),
)


def _check_wiring(config: RnnConfig) -> None:
    decoder = config.decoder
    wiring = Wiring(decoder.attend, decoder.input_feeding, decoder.context, decoder.output)
    if wiring not in LEGAL_WIRINGS:
        legal = "; ".join(_describe(w) for w in LEGAL_WIRINGS)
        raise CombinationError(f"model.decoder must be wired in a legal way, got {_describe(wiring)}; legal: {legal}")
    if decoder.query_context and decoder.attend == "none":
        raise CombinationError(
            "model.decoder.query_context must be false where model.decoder.attend is none, got true; "
            "legal: attend=before, attend=after"
        )


def _describe(wiring: Wiring) -> str:
    feeding = str(wiring.input_feeding).lower()
    return f"attend={wiring.attend} input_feeding={feeding} context={wiring.context} output={wiring.output}"


def _check_structured(config: RnnConfig) -> None:
    """Structured self-attention: rows have no order for a window; without attention they must be one vector."""
    rows, decoder, alignment = config.encoder.structured_rows, config.decoder, config.attention.alignment
    if decoder.attend == "none" and rows != 1:
        raise CombinationError(
            f"model.encoder.structured_rows must be 0 or 1 where model.decoder.attend is none, got {rows}; legal for "
            "more: attend=before, attend=after"
        )
    if decoder.attend == "none" and (decoder.start, decoder.context) == ("copy", "initial"):
        raise CombinationError(
            "model.decoder.start must be project where the source vector of structured self-attention only initializes "
            "the decoder, got copy; legal: start=project, context=every-step"
        )
    if decoder.attend != "none" and alignment not in ROW_ALIGNMENTS:
        raise CombinationError(
            f"model.attention.alignment must be {' or '.join(ROW_ALIGNMENTS)} where model.encoder.structured_rows is "
            f"not 0, got {alignment}; the rows of structured self-attention have no order"
        )


def _check_attention(config: RnnConfig) -> None:
    attention, rules = config.attention, score_rules(config.attention.score)
    if attention.alignment not in rules.alignments:
        legal = {each: [name for name, own in SCORES.items() if each in own.alignments] for each in ALIGNMENTS}
        pairs = "; ".join(f"{name}: {', '.join(fit)}" for name, fit in legal.items())
        raise CombinationError(
            f"model.attention.score must be one of {', '.join(legal[attention.alignment])} with alignment "
            f"{attention.alignment}, got {attention.score}; legal pairs: {pairs}"
        )
    if attention.memory not in rules.memories:
        pairs = "; ".join(f"{name}: {', '.join(each.memories)}" for name, each in SCORES.items())
        raise CombinationError(
            f"model.attention.memory must be {' or '.join(rules.memories)} with score {attention.score}, "
            f"got {attention.memory}; legal pairs: {pairs}"
        )
    if rules.needs_equal_sizes and config.decoder.query_context:
        *most, last = (name for name, own in SCORES.items() if not own.needs_equal_sizes)
        raise CombinationError(
            f"model.attention.score must be {', '.join(most)} or {last} where model.decoder.query_context is true, got "
            f"{attention.score}; the query and the keys have different sizes"
        )
    if rules.needs_equal_sizes and config.value_size != config.decoder.hidden:
        raise CombinationError(
            f"model.decoder.hidden must be {config.value_size}, the size of a key, with score {attention.score}, "
            f"got {config.decoder.hidden}; or use score general or concat, which need no equal sizes"
        )


def _check_sizes(config: RnnConfig) -> None:
    encoder, decoder = config.encoder, config.decoder
    halves = config.directions_halved
    splits = decoder.attend != "none" and config.attention.memory == "split"
    if encoder.hidden % 2 and (halves or splits):
        why = "each direction has half of it" if halves else "keys and values have half of it each"
        raise ConfigError(f"model.encoder.hidden must be even, got {encoder.hidden}; {why}")
    same = (encoder.cell, encoder.layers, encoder.hidden) == (decoder.cell, decoder.layers, decoder.hidden)
    if decoder.start == "copy" and not (same and (not encoder.bidirectional or halves)):
        raise CombinationError(
            "model.decoder.start must be project where the encoder's and the decoder's cell, layers or hidden size "
            "differ or its directions are joined by a linear map, got copy; legal: project always, copy where all agree"
        )
    if config.tie != "none" and config.features != config.embedding:
        raise ConfigError(
            f"model.tie must be none where the output layer has {config.features} features and embeddings have "
            f"{config.embedding}, got {config.tie}; make the two sizes equal to tie them"
        )
