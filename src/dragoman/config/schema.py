"""Schema of the configuration file: all keys with types, ranges and defaults; unknown keys are rejected."""

from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.base import Layers, Positive, Rate, Settings, Size, Width
from dragoman.config.corpus import DataConfig
from dragoman.config.rnn import RnnConfig, Tie
from dragoman.config.search import InferenceConfig
from dragoman.config.training import StartConfig, TrainingConfig
from dragoman.errors import ConfigError

Positions = Literal["sinusoidal", "sinusoidal-halves", "sinusoidal-tensor2tensor", "learned", "none"]


class TokenizerConfig(Settings):
    """Tokenization of text."""

    kind: Literal["sentencepiece", "word", "character", "imported"] = "sentencepiece"
    """Subwords learned from the corpus, words, or characters. imported: that of a model from `dragoman import`."""
    algorithm: Literal["unigram", "bpe"] = "unigram"
    """Algorithm of SentencePiece."""
    size: Annotated[int, Field(ge=8)] = 8000
    """Number of tokens; per side if `joint` is false."""
    joint: bool = True
    """Use one vocabulary for both languages."""
    normal_form: Literal["nfc", "nfkc", "none"] = "nfc"
    """Unicode normal form of the text."""
    character_coverage: Annotated[float, Field(ge=0.98, le=1.0)] = 0.9995
    """SentencePiece: share of the text whose characters are tokens; rarer characters are encoded as bytes."""
    sample_sentences: Size = 200_000
    """Maximum number of sentences to learn from, both sides together; memory grows with it."""
    symbols: list[str] | None = None
    """SentencePiece: texts that are always one token, such as the tag of a synthetic corpus."""

    def _check(self) -> None:
        if self.symbols and self.kind != "sentencepiece":
            raise ConfigError(f"symbols must come with the kind sentencepiece, got {self.kind}; leave them out")
        for symbol in self.symbols or ():
            if not symbol or any(character.isspace() or character == "▁" for character in symbol):
                raise ConfigError(f"symbols must be texts without spaces, got {symbol!r}; shorten it")


class TransformerConfig(Settings):
    """Transformer."""

    family: Literal["transformer"]
    """Model family."""
    dim: Width = 256
    """Model dimension: embeddings, states and outputs."""
    heads: Size = 4
    """Number of attention heads; it must divide the model dimension."""
    encoder_layers: Layers = 3
    """Number of encoder layers."""
    decoder_layers: Layers = 3
    """Number of decoder layers."""
    decoder: Literal["self-attention", "ssru"] = "self-attention"
    """How the decoder reads previous target words; ssru is a recurrent unit with a state of constant size."""
    alignment_map: Literal["penultimate", "guided", "guided-input"] = "penultimate"
    """Attention map for word links: the mean over the heads of the last layer but one, or the first head of the last
    layer, which `training.guided_alignment` trains to align. It aligns each token at the step that predicts it, as in
    models of Marian (guided), or at the next step, whose input it is (guided-input)."""
    feedforward: Width = 1024
    """Inner size of the feed-forward layers."""
    norm: Literal["post", "pre"] = "pre"
    """Layer normalization after the residual sum, as published, or before the sub-layer, which trains more stably."""
    norm_epsilon: Positive = 1e-5
    """Number that layer normalization adds to the variance, or to the standard deviation."""
    norm_form: Literal["variance", "deviation"] = "variance"
    """Divisor of layer normalization: the root of the variance plus epsilon, or the unbiased standard deviation plus
    epsilon (engine torch only)."""
    activation: Literal["relu", "gelu", "swish"] = "relu"
    """Activation function of the feed-forward layers; gelu is the exact form, with the error function."""
    attention_bias: bool = False
    """Add biases to the projections of attention."""
    positions: Positions = "sinusoidal"
    """Position encoding. sinusoidal-halves: all sines, then all cosines; sinusoidal-tensor2tensor: the same with its
    frequencies."""
    max_positions: Annotated[int, Field(ge=1, le=1 << 20)] = 1024
    """Maximum sentence length of learned positions; the other encodings have none."""
    position_offset: Annotated[int, Field(ge=0, le=1024)] = 0
    """Number of the first position."""
    scale_embeddings: bool = True
    """Multiply embeddings by the square root of the model dimension."""
    source_end: bool = True
    """Encode the end-of-sentence token of the source; models of OpenNMT-py do not."""
    tie: Tie = "all"
    """Shared weights: output and target embedding, or these and the source embedding."""
    dropout: Rate = 0.1
    """Dropout of the sum of embeddings and positions, and of the output of each sub-layer."""
    attention_dropout: Rate = 0.0
    """Dropout of attention weights."""
    activation_dropout: Rate = 0.0
    """Dropout inside the feed-forward layers."""
    initialization: Literal["scaled", "glorot"] = "scaled"
    """Initial embeddings: of a size that fits the model, or, as all other matrices, Glorot's uniform distribution."""

    def _check(self) -> None:
        if self.dim % self.heads:
            raise ConfigError(
                f"model.heads must divide model.dim = {self.dim}, got {self.heads}; "
                f"for instance {_divisor(self.dim, self.heads)} does"
            )


def _divisor(number: int, below: int) -> int:
    """Return a divisor of a number up to a limit; a small one if the limit is large, to keep the search short."""
    return next(n for n in range(min(below, 1000), 0, -1) if number % n == 0)


ModelConfig = Annotated[RnnConfig | TransformerConfig, Field(discriminator="family")]


def has_guided_alignment(model: RnnConfig | TransformerConfig) -> bool:
    """Whether word links are those of the first head of the last layer."""
    return isinstance(model, TransformerConfig) and model.alignment_map != "penultimate"


def aligns_input(model: RnnConfig | TransformerConfig) -> bool:
    """Whether a target token is aligned by the step that has it as input, not by the step that predicts it."""
    return isinstance(model, TransformerConfig) and model.alignment_map == "guided-input"


class Config(Settings):
    """Configuration of one experiment."""

    description: str = ""
    """Purpose of this configuration in one line."""
    data: DataConfig | None = None
    """Corpora and their preparation; presets have none."""
    tokenizer: TokenizerConfig = Field(default_factory=TokenizerConfig)
    """Tokenization of text."""
    model: ModelConfig
    """Model architecture."""
    training: TrainingConfig = Field(default_factory=TrainingConfig)
    """Training."""
    start: StartConfig | None = None
    """Model to fine-tune; without it weights are initialized at random."""
    inference: InferenceConfig | None = None
    """How the model was made to be used; imported students have it, and models that are fine-tuned from them."""

    def _check(self) -> None:
        if self.training.lora is not None and self.start is None:
            raise ConfigError("[training.lora] needs a model to adapt; name its bundle as start.bundle")
        if self.training.lora is not None and self.start is not None and self.start.vocabulary != "same":
            raise ConfigError(
                f"start.vocabulary must be same where [training.lora] is given, got {self.start.vocabulary}; the "
                "embeddings of new tokens would not be trained: train all weights, without [training.lora]"
            )
        if self.training.recompute and self.model.family != "transformer":
            raise ConfigError(
                "training.recompute must be false for recurrent models, got true; lower training.batch_tokens, and "
                "raise training.micro_batches, to use less memory"
            )
        if self.model.tie == "all" and not self.tokenizer.joint and self.tokenizer.kind != "imported":
            raise ConfigError(
                "model.tie must be target or none where tokenizer.joint is false, got all; "
                "make the vocabulary joint to share its vectors"
            )
        if self.data is not None and self.data.max_tokens + self.data.is_multilingual >= self.training.batch_tokens:
            raise ConfigError(
                f"data.max_tokens must be less than training.batch_tokens = {self.training.batch_tokens}, so that a "
                f"sentence and its end fit a batch, got {self.data.max_tokens}; lower it, or raise batch_tokens"
            )
        if self.training.r_drop and not any(rate for name, rate in self.model if "dropout" in name):
            raise ConfigError(
                f"training.r_drop must be 0 where model.dropout is 0, got {self.training.r_drop}; it compares two "
                "dropout masks: set model.dropout"
            )
        rows = 0 if self.model.family == "transformer" else self.model.encoder.structured_rows
        if self.training.structured_penalty and not rows:
            raise ConfigError(
                f"training.structured_penalty must be 0 without structured self-attention, got "
                f"{self.training.structured_penalty}; set model.encoder.structured_rows of a recurrent model"
            )
        model = self.model
        soft = model.family == "transformer" or (model.decoder.attend != "none" and model.attention.alignment != "hard")
        if self.training.coverage_weight and not soft:
            raise ConfigError(
                f"training.coverage_weight must be 0 without attention and with hard attention, whose weights have no "
                f"gradient, got {self.training.coverage_weight}; use another alignment"
            )
        self._check_guided_alignment(has_soft_attention=soft)

    def _check_guided_alignment(self, *, has_soft_attention: bool) -> None:
        model = self.model
        if self.training.guided_alignment is None:
            return
        if model.family == "transformer" and not has_guided_alignment(model):
            raise ConfigError(
                "model.alignment_map must be guided or guided-input where [training.guided_alignment] is given, got "
                f"{model.alignment_map}; set it, so that word links are those of the head that learns them"
            )
        if not has_soft_attention or (model.family != "transformer" and model.encoder.structured_rows):
            raise ConfigError(
                "[training.guided_alignment] needs attention with a weight and a gradient for each source token; leave "
                "it out, or use another model"
            )
        if self.data is not None and self.data.sampling.subword_temperature:
            raise ConfigError(
                "data.sampling.subword_temperature must be 0 where [training.guided_alignment] is given, got "
                f"{self.data.sampling.subword_temperature}; links belong to one segmentation"
            )
