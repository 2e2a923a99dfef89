"""The settings of training: how a model learns, when it stops, what is kept, what it begins with."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dragoman.config.closed import Closed, NotNegative, Positive, Rate, Size
from dragoman.errors import ConfigError

__all__ = ["StartConfig", "TrainingConfig"]


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
    """Patterns of names of parameters that do not learn; encoder.* stands for the whole reader."""
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
