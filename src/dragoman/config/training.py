"""Training settings: optimization, validation, checkpoints and fine-tuning."""

from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.base import NotNegative, PartName, Positive, Rate, Settings, Size
from dragoman.config.engine import DeviceName
from dragoman.errors import ConfigError


class LoraConfig(Settings):
    """Low-rank adaptation: train two small factors per weight matrix, W + (alpha / rank) · B A, instead of the weights.

    The bundle has the factors merged into its weights.
    """

    rank: Size = 8
    """Rank of the factors."""
    alpha: Positive = 16.0
    """Scale of the change, divided by the rank."""
    target_modules: Annotated[list[str], Field(min_length=1)] = Field(default=["*"])
    """Patterns of names of weight matrices; embeddings and the output layer are never among them."""


class GuidedAlignmentConfig(Settings):
    """Guided alignment: the first head of the last decoder layer learns word links with the translation."""

    weight: Positive = 0.05
    """Weight of the cross-entropy between the links of a target token and its attention weights."""


class TrainingConfig(Settings):
    """Training of a model."""

    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed of training."""
    precision: Literal["auto", "fp32", "bf16"] = "fp32"
    """Number format of matrix products; weights, sums and losses stay fp32. `auto`: the faster, measured."""
    optimizer: Literal["adam", "adamw", "adadelta", "sgd"] = "adam"
    """Optimizer."""
    learning_rate: Positive = 1e-3
    """Learning rate, or the peak of its schedule."""
    beta1: Rate = 0.9
    """Adam's decay of the mean gradient."""
    beta2: Rate = 0.999
    """Adam's decay of the mean squared gradient."""
    rho: Rate = 0.95
    """Adadelta's decay of the mean squared gradient."""
    epsilon: Positive = 1e-8
    """Term under the square root of Adam and Adadelta."""
    weight_decay: NotNegative = 0.0
    """Weight decay: decoupled with adamw, otherwise added to the gradient."""
    schedule: Literal["constant", "inverse-sqrt", "halving", "cosine"] = "constant"
    """Learning-rate schedule: constant, Vaswani's, Luong's and Sutskever's halving, or cosine."""
    warmup_updates: Annotated[int, Field(ge=0)] = 0
    """Number of updates in which the learning rate rises from zero."""
    halve_from: Annotated[int, Field(ge=0)] = 0
    """halving: first update at half the rate."""
    halve_every: Size = 1000
    """halving: number of updates between halvings."""
    max_updates: Size = 10_000
    """Maximum number of updates; the cosine ends there."""
    batch_tokens: Size = 4096
    """Maximum number of tokens per side in a batch, padding included."""
    clip_norm: NotNegative = 1.0
    """Maximum norm of the gradient; 0 disables clipping."""
    label_smoothing: Rate = 0.0
    """Probability taken from the reference word and spread over all words."""
    r_drop: NotNegative = 0.0
    """Weight of R-Drop, which makes two dropout masks give similar probabilities; 5 is usual, 0 disables it."""
    coverage_weight: NotNegative = 0.0
    """λ of the doubly stochastic term, which favours a total attention of 1 per source word."""
    structured_penalty: NotNegative = 0.0
    """Structured self-attention: weight of ‖A Aᵀ − I‖², which keeps its rows different; the mean over sentences."""
    reinforce_weight: NotNegative = 1.0
    """Hard attention: weight of the REINFORCE term."""
    entropy_weight: NotNegative = 0.01
    """Hard attention: weight of the entropy term."""
    baseline_decay: Rate = 0.9
    """Hard attention: decay of the moving-average baseline."""
    micro_batches: Size = 1
    """Number of batches per update, over all processes; a multiple of their number."""
    max_epochs: Annotated[int, Field(ge=0)] = 0
    """Maximum number of epochs; 0 is no limit."""
    validate_every: Size = 500
    """Number of updates between validations."""
    validation_sentences: Annotated[int, Field(ge=0)] = 500
    """Number of sentences translated at each validation, for scores and samples; 0 computes the loss only."""
    stop_on: Literal["loss", "bleu", "chrf"] = "loss"
    """Criterion of the best validation: the loss, or the score of its translations."""
    patience: Annotated[int, Field(ge=0)] = 0
    """Stop after this many validations without improvement; 0 disables early stopping."""
    checkpoint_every: Size = 500
    """Number of updates between checkpoints; each validation writes one too."""
    keep_last: Size = 3
    """Number of newest checkpoints to keep, in addition to the best one."""
    ema_decay: Rate = 0.0
    """Decay of the moving average of the weights that is validated and saved; 0 disables it."""
    average_last: Annotated[int, Field(ge=0)] = 0
    """Number of newest checkpoints averaged in the bundle; 0 uses the best checkpoint."""
    spike: NotNegative = 3.0
    """Skip updates whose loss exceeds the recent mean by more than this; 0 skips only losses that are not finite."""
    freeze: list[str] = Field(default_factory=list)
    """Patterns of parameter names that are not trained; encoder.* is the whole encoder."""
    lora: LoraConfig | None = None
    """Fine-tuning with LoRA."""
    guided_alignment: GuidedAlignmentConfig | None = None
    """Attention that learns word links, which `dragoman prepare` finds; none unless the table is there."""
    log_every: Size = 50
    """Number of updates between entries of the log and the curves."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Number of CPU threads; 0 chooses the fastest number for the current load of the machine, up to all cores."""
    device: DeviceName = "auto"
    """Device: the processor, a CUDA device per process, or a CUDA device if torch finds one."""
    reproducible: bool = False
    """Sum gradients in one order, so that any number of processes gives the same bits."""
    sharded: bool = False
    """Shard weights, gradients and optimizer state over the processes (FSDP2) instead of copying them (DDP)."""
    recompute: bool = False
    """Transformers: recompute activations in the backward pass instead of storing them; less memory, slower."""
    callbacks: list[Annotated[str, PartName("callbacks", ())]] | None = None
    """Plug-ins that receive the events of the training, such as loggers of experiments."""
    compile: bool = False
    """Use torch.compile; slow to start, and rarely useful on a CPU."""

    @property
    def has_fixed_end(self) -> bool:
        """Whether all learning rates depend on the number of updates, so that a resumed run cannot change it."""
        return self.schedule == "cosine"

    def batches_per_process(self, processes: int) -> int:
        """Return the number of batches per update of a process, which is the same for all of them."""
        if self.micro_batches % processes:
            raise ConfigError(
                f"training.micro_batches must be a multiple of the number of processes = {processes}, got "
                f"{self.micro_batches}; for instance --set training.micro_batches="
                f"{processes * -(-self.micro_batches // processes)}"
            )
        return self.micro_batches // processes

    def _check(self) -> None:
        if self.reproducible and self.sharded:
            raise ConfigError(
                "training.reproducible must be false where training.sharded is true, got true; "
                "shards of a gradient are summed in another order"
            )
        if self.reproducible and self.threads > 1:
            raise ConfigError(
                f"training.threads must be 0 or 1 where training.reproducible is true, got {self.threads}; "
                "several threads sum in another order"
            )
        if self.stop_on != "loss" and not self.validation_sentences:
            raise ConfigError(
                f"training.validation_sentences must be at least 1 where training.stop_on is {self.stop_on}, got 0; "
                "scores need translated sentences"
            )
        if self.compile and self.sharded:
            raise ConfigError(
                "training.compile must be false where training.sharded is true, got true; leave one of them out"
            )
        if self.lora is not None:
            for name, rule in (("freeze", "empty"), ("average_last", "0"), ("sharded", "false")):
                if value := getattr(self, name):
                    raise ConfigError(
                        f"training.{name} must be {rule} where [training.lora] is given, got {value}; leave it out"
                    )
        if self.average_last > self.keep_last:
            raise ConfigError(
                f"training.average_last must be at most training.keep_last = {self.keep_last}, got "
                f"{self.average_last}; keep more checkpoints to average them"
            )


class StartConfig(Settings):
    """Fine-tuning: training starts with the weights of another model."""

    bundle: str
    """Bundle of the base model, relative to the configuration file."""
    vocabulary: Literal["same", "extend"] = "same"
    """Keep its tokens, or add new ones learned from the new corpora; old tokens keep their ids and embeddings."""
    new_tokens: Size = 1000
    """extend: maximum number of new tokens."""
