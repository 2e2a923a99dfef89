"""Every setting there is, with its type, its range and its default. Nothing else is accepted."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.closed import Closed, Rate, Size
from dragoman.config.combinations import check_rnn
from dragoman.config.corpora import DataConfig
from dragoman.config.training import StartConfig, TrainingConfig
from dragoman.errors import ConfigError

__all__ = [
    "AttentionConfig",
    "Config",
    "ModelConfig",
    "RnnConfig",
    "RnnDecoderConfig",
    "RnnEncoderConfig",
    "TokenizerConfig",
    "TransformerConfig",
]

CellName = Literal["rnn", "lstm", "gru-published", "gru-fused"]
Tie = Literal["none", "target", "all"]


class TokenizerConfig(Closed):
    """How text becomes pieces."""

    kind: Literal["sentencepiece", "word", "character"] = "sentencepiece"
    """Subwords learnt from the corpus, whole words, or single characters."""
    algorithm: Literal["unigram", "bpe"] = "unigram"
    """How SentencePiece learns its pieces."""
    size: Annotated[int, Field(ge=8)] = 8000
    """The number of pieces, of each side where `joint` is false."""
    joint: bool = True
    """One vocabulary for both languages."""
    normal_form: Literal["nfc", "nfkc", "none"] = "nfc"
    """The Unicode normal form text is brought to first."""
    character_coverage: Annotated[float, Field(ge=0.98, le=1.0)] = 0.9995
    """SentencePiece: the share of the text whose characters are pieces of their own; rarer ones are spelt in bytes."""
    sample_sentences: Size = 200_000
    """The most sentences it is learnt from, both sides together; memory grows with them."""


class RnnEncoderConfig(Closed):
    """The reader of a recurrent model."""

    cell: CellName = "lstm"
    """gru-published is the paper's, gru-fused is what cuDNN computes; they are different functions."""
    layers: Size = 2
    """How many layers lie on each other."""
    hidden: Size = 512
    """The size of an encoder state, both directions together."""
    bidirectional: bool = True
    """Read from both ends."""
    join: Literal["concat", "linear"] = "concat"
    """How the two directions become one state: side by side (each has half the size), or by a learnt linear map."""


class RnnDecoderConfig(Closed):
    """The writer of a recurrent model."""

    cell: CellName = "lstm"
    """As for the encoder."""
    layers: Size = 2
    """How many layers lie on each other."""
    hidden: Size = 512
    """The size of a decoder state."""
    attend: Literal["before", "after", "none"] = "after"
    """Attend before the cell's step (Bahdanau), after it (Luong), or not at all."""
    input_feeding: bool = False
    """Hand the attentional state to the next step (Luong, section 3.3)."""
    context: Literal["initial", "every-step"] = "initial"
    """Without attention: the source vector only starts the decoder (Sutskever), or enters every step (Cho)."""
    output: Literal["linear", "deep"] = "linear"
    """What precedes the softmax: nothing, or a maxout layer over state, previous word and context."""
    output_hidden: Size | None = None
    """The size of the maxout layer; that of a word vector if not given."""
    start: Literal["copy", "project"] = "project"
    """The first state: the encoder's last, layer by layer, or tanh of a learnt map of it."""


class AttentionConfig(Closed):
    """Attention of a recurrent model: score × alignment, over a memory. Unused where `decoder.attend` is none."""

    score: Literal["dot", "scaled-dot", "general", "concat", "location"] = "general"
    """How well a decoder state fits a source position."""
    alignment: Literal["global", "local-m", "local-p", "hard"] = "global"
    """Where to look: everywhere, in a window around t or around a predicted place, or at one sampled place."""
    memory: Literal["shared", "split"] = "shared"
    """Encoder states are keys and values at once, or one half is the key and the other the value."""
    window: Size = 10
    """D of local attention: it sees positions p − D to p + D. The paper uses 10."""
    positions: Size = 100
    """How many source positions a location score knows. Words of a longer source beyond that are not attended to."""
    hidden: Size | None = None
    """The inner size of concat and of local-p's predictor; the decoder's hidden size if not given."""


class RnnConfig(Closed):
    """A recurrent encoder and decoder."""

    family: Literal["rnn"]
    """Which kind of model."""
    embedding: Size = 512
    """The size of a word vector."""
    tie: Tie = "none"
    """Share weights: the output with the target embedding, or those with the source embedding too."""
    dropout: Rate = 0.2
    """On word vectors, between layers and before the output."""
    reverse_source: bool = False
    """Read the source from its end (Sutskever, section 3.3). Alignments still count from its beginning."""
    encoder: RnnEncoderConfig = RnnEncoderConfig()
    """The reader."""
    decoder: RnnDecoderConfig = RnnDecoderConfig()
    """The writer."""
    attention: AttentionConfig = AttentionConfig()
    """What the writer sees of the source."""

    @property
    def directions_halved(self) -> bool:
        """Whether each reading direction has half of the encoder's hidden size."""
        return self.encoder.bidirectional and self.encoder.join == "concat"

    @property
    def value_size(self) -> int:
        """The size of a key, and of a value, that the decoder attends to."""
        return self.encoder.hidden // 2 if self.attention.memory == "split" else self.encoder.hidden

    @property
    def features(self) -> int:
        """The size of what the output layer sees."""
        if self.decoder.output == "deep":
            return self.decoder.output_hidden or self.embedding
        return self.decoder.hidden

    @model_validator(mode="after")
    def _composes(self) -> Self:
        check_rnn(self)
        return self


class TransformerConfig(Closed):
    """A Transformer."""

    family: Literal["transformer"]
    """Which kind of model."""
    dim: Size = 256
    """The width of the model: word vectors, states, outputs."""
    heads: Size = 4
    """Attention heads; they divide the width among them."""
    encoder_layers: Size = 3
    """How many layers the reader has."""
    decoder_layers: Size = 3
    """How many layers the writer has."""
    feedforward: Size = 1024
    """The inner size of the feed-forward layers."""
    norm: Literal["post", "pre"] = "pre"
    """Normalise after the residual sum as published, or before the sub-layer, which trains more steadily."""
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal"
    """How word order is known."""
    max_positions: Size = 1024
    """The longest sentence learnt positions can number; the others have none."""
    tie: Tie = "all"
    """Share weights: the output with the target embedding, or those with the source embedding too."""
    dropout: Rate = 0.1
    """On the sum of word vectors and positions, and on each sub-layer's output."""
    attention_dropout: Rate = 0.0
    """On attention weights."""
    activation_dropout: Rate = 0.0
    """Inside the feed-forward layers."""

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.dim % self.heads:
            raise ConfigError(
                f"model.heads must divide model.dim = {self.dim}, got {self.heads}; "
                f"for instance {next(n for n in range(self.heads, 0, -1) if self.dim % n == 0)} does"
            )
        return self


ModelConfig = Annotated[RnnConfig | TransformerConfig, Field(discriminator="family")]


class Config(Closed):
    """A whole experiment."""

    description: str = ""
    """What this configuration is for, in a line."""
    data: DataConfig | None = None
    """Which corpora, and how they are prepared; presets leave it to you."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    """How text becomes pieces."""
    model: ModelConfig
    """What is trained."""
    training: TrainingConfig = TrainingConfig()
    """How it is trained."""
    start: StartConfig | None = None
    """The model to begin with, for fine-tuning; without it weights are drawn at random."""

    @model_validator(mode="after")
    def _recomputes_layers(self) -> Self:
        if self.training.recompute and self.model.family != "transformer":
            raise ConfigError(
                "training.recompute must be false for recurrent models, got true; lower training.batch_tokens, and "
                "raise training.micro_batches, to use less memory"
            )
        return self

    @model_validator(mode="after")
    def _tied_needs_joint(self) -> Self:
        if self.model.tie == "all" and not self.tokenizer.joint:
            raise ConfigError(
                "model.tie must be target or none where tokenizer.joint is false, got all; "
                "make the vocabulary joint to share its vectors"
            )
        return self

    @model_validator(mode="after")
    def _pairs_fit_a_batch(self) -> Self:
        if self.data is not None and self.data.max_pieces >= self.training.batch_tokens:
            raise ConfigError(
                f"data.max_pieces must be less than training.batch_tokens = {self.training.batch_tokens}, so that a "
                f"sentence and its end fit a batch, got {self.data.max_pieces}; lower it, or raise batch_tokens"
            )
        return self

    @model_validator(mode="after")
    def _coverage_needs_soft_attention(self) -> Self:
        model = self.model
        soft = model.family == "transformer" or (model.decoder.attend != "none" and model.attention.alignment != "hard")
        if self.training.coverage_weight and not soft:
            raise ConfigError(
                f"training.coverage_weight must be 0 without attention and with hard attention, whose weights have no "
                f"gradient, got {self.training.coverage_weight}; take another alignment to use it"
            )
        return self
