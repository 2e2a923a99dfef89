"""Every setting there is, with its type, its range and its default. Nothing else is accepted."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.closed import Closed, NotNegative, Positive, Rate, Size
from dragoman.config.combinations import check_rnn
from dragoman.config.corpora import DataConfig
from dragoman.errors import ConfigError

__all__ = [
    "AttentionConfig",
    "Config",
    "ModelConfig",
    "RnnConfig",
    "RnnDecoderConfig",
    "RnnEncoderConfig",
    "StartConfig",
    "TokenizerConfig",
    "TrainingConfig",
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


class TrainingConfig(Closed):
    """How the model learns."""

    seed: Annotated[int, Field(ge=0)] = 1
    """Everything random is a function of it."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """What products are computed in; weights, sums and losses stay fp32."""
    optimizer: Literal["adam", "adamw", "adadelta", "sgd"] = "adam"
    """The rule that turns gradients into updates."""
    learning_rate: Positive = 1e-3
    """The rate, or the peak rate of a schedule."""
    beta1: Rate = 0.9
    """Adam's memory of the gradient."""
    beta2: Rate = 0.999
    """Adam's memory of its square."""
    rho: Rate = 0.95
    """Adadelta's memory of the squared gradient."""
    epsilon: Positive = 1e-8
    """Adam's and Adadelta's floor under the square root."""
    weight_decay: NotNegative = 0.0
    """adamw: decoupled; otherwise added to the gradient."""
    schedule: Literal["constant", "inverse-sqrt", "halving", "cosine"] = "constant"
    """How the rate changes: Vaswani's, Luong's and Sutskever's halving, or a cosine."""
    warmup_updates: Annotated[int, Field(ge=0)] = 0
    """Updates over which the rate rises from zero."""
    halve_from: Annotated[int, Field(ge=0)] = 0
    """halving: the first update at half the rate."""
    halve_every: Size = 1000
    """halving: updates between two halvings."""
    max_updates: Size = 10_000
    """Where training ends at the latest; the cosine ends there."""
    batch_tokens: Size = 4096
    """The most pieces of either side in one batch, padding included."""
    clip_norm: NotNegative = 1.0
    """Gradients with a larger norm are scaled to it; 0 leaves them alone."""
    label_smoothing: Rate = 0.0
    """Probability taken from the right word and spread over all."""
    coverage_weight: NotNegative = 0.0
    """λ of the doubly stochastic term: every source word should be looked at about once."""
    reinforce_weight: NotNegative = 1.0
    """Hard attention: weight of the REINFORCE term."""
    entropy_weight: NotNegative = 0.01
    """Hard attention: reward for spread-out distributions."""
    baseline_decay: Rate = 0.9
    """Hard attention: memory of the moving-average baseline."""
    micro_batches: Size = 1
    """Batches that make one update, over all processes together; a multiple of their number."""
    max_epochs: Annotated[int, Field(ge=0)] = 0
    """Training also ends after so many passes over the data; 0 sets no such end."""
    validate_every: Size = 500
    """Updates between two looks at the validation set."""
    validation_sentences: Annotated[int, Field(ge=0)] = 500
    """So many of its sentences are translated at each look, for scores and samples; 0 looks at the loss alone."""
    stop_on: Literal["loss", "bleu", "chrf"] = "loss"
    """What decides which validation was the best: its loss, or the score of its translations."""
    patience: Annotated[int, Field(ge=0)] = 0
    """Training ends after so many validations without a better one; 0 never ends it early."""
    checkpoint_every: Size = 500
    """Updates between two checkpoints; there is one at each validation too."""
    keep_last: Size = 3
    """How many of the newest checkpoints stay; the best one stays too."""
    ema_decay: Rate = 0.0
    """Validate and keep a moving average of the weights with this memory; 0 keeps the weights themselves."""
    average_last: Annotated[int, Field(ge=0)] = 0
    """The bundle's weights are the mean of so many of the newest checkpoints; 0 takes the best checkpoint."""
    spike: NotNegative = 3.0
    """An update whose loss is more than this above the recent mean is skipped; 0 skips only what is not finite."""
    freeze: list[str] = Field(default_factory=list)
    """Patterns of parameter names that do not learn, for instance encoder.*"""
    log_every: Size = 50
    """Updates between two entries of the log and the curves."""
    reproducible: bool = False
    """Sum gradients batch by batch in one order, so that any number of processes gives the same bits."""
    sharded: bool = False
    """Divide weights, gradients and optimizer state among the processes (FSDP2) instead of copying them (DDP)."""
    recompute: bool = False
    """Transformers: compute activations again in the backward pass instead of keeping them; less memory, slower."""
    compile: bool = False
    """Let torch.compile fuse operations; slow to start, and rarely worth it on a CPU."""

    @model_validator(mode="after")
    def _sums_whole_gradients(self) -> Self:
        if self.reproducible and self.sharded:
            raise ConfigError(
                "training.reproducible must be false where training.sharded is true, got true; "
                "shards of a gradient are summed in another order"
            )
        return self

    @model_validator(mode="after")
    def _scores_what_it_stops_on(self) -> Self:
        if self.stop_on != "loss" and not self.validation_sentences:
            raise ConfigError(
                f"training.validation_sentences must be at least 1 where training.stop_on is {self.stop_on}, got 0; "
                "some sentences have to be translated to score them"
            )
        return self

    @model_validator(mode="after")
    def _compiles_what_is_whole(self) -> Self:
        if self.compile and self.sharded:
            raise ConfigError(
                "training.compile must be false where training.sharded is true, got true; leave one of them out"
            )
        return self

    @model_validator(mode="after")
    def _averages_what_is_kept(self) -> Self:
        if self.average_last > self.keep_last:
            raise ConfigError(
                f"training.average_last must be at most training.keep_last = {self.keep_last}, got "
                f"{self.average_last}; keep more checkpoints to average them"
            )
        return self


class StartConfig(Closed):
    """Training begins with the weights of another model: fine-tuning."""

    bundle: str
    """The folder of the model to begin with, relative to the configuration file."""
    vocabulary: Literal["same", "extend"] = "same"
    """Keep its pieces, or add new ones learnt from the new corpora; the old ones keep their numbers and vectors."""
    new_pieces: Size = 1000
    """extend: at most so many are added."""


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
