"""Data classes of a comparison report: the evaluation, details of each model, and example sentences."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.results import Evaluation

TRAINING_LOSS, VALIDATION_LOSS = "training loss", "validation loss"
"""Quantities of curves that are losses."""
OTHER_QUANTITIES = ("learning rate", "gradient norm")
"""Quantities that are neither losses nor scores."""


@dataclass(frozen=True)
class Curve:
    """One quantity during training; all four sequences have the same length."""

    quantity: str
    updates: tuple[float, ...]
    tokens: tuple[float, ...]
    seconds: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class TrainingSummary:
    """A summary of the record of a run; `data_fingerprint` identifies the pairs, `config_digest` the configuration."""

    updates: int
    tokens: int
    seconds: float
    tokens_per_second: float | None
    pairs: Mapping[str, int]
    ended: str
    best: Mapping[str, float]
    """Scores and loss of the best validation."""
    best_update: int | None
    machine: str
    versions: Mapping[str, str]
    data_fingerprint: str = ""
    config_digest: str = ""


@dataclass(frozen=True)
class ModelDetails:
    """A member of a system: a run, a bundle or a file of translations; `settings` are those of `config` as TOML."""

    name: str
    kind: Literal["run", "bundle", "translations"]
    digest: str = ""
    seed: int | None = None
    parameters: int | None = None
    size_bytes: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    config: str = ""
    curves: tuple[Curve, ...] = ()
    training: TrainingSummary | None = None


@dataclass(frozen=True)
class SystemTranslation:
    """A system's translation of a sentence, and its sentence score."""

    system: str
    text: str
    score: float


@dataclass(frozen=True)
class SentenceComparison:
    """A sentence of the test set, counted from 1, and its translations."""

    number: int
    source: str
    reference: str
    translations: tuple[SystemTranslation, ...]


@dataclass(frozen=True)
class SystemAttention:
    """A system's attention map for its own translation, [target words, source words], or a `note` why there is none."""

    system: str
    translation: str
    source_words: tuple[str, ...] = ()
    target_words: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None
    note: str = ""
    description: str = ""


@dataclass(frozen=True)
class AttentionComparison:
    """A sentence of the test set, counted from 1, and the attention map of every model."""

    number: int
    source: str
    reference: str
    maps: tuple[SystemAttention, ...]


@dataclass(frozen=True)
class ComparisonReport:
    """All values of the report. Without an evaluation it compares only the records of runs."""

    models: Mapping[str, tuple[ModelDetails, ...]]
    """Members by system, in order."""
    evaluation: Evaluation | None
    versions: Mapping[str, str]
    machine: str
    command: str
    sentences: tuple[SentenceComparison, ...] = ()
    attention: tuple[AttentionComparison, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.models)

    @property
    def members(self) -> tuple[ModelDetails, ...]:
        return tuple(member for members in self.models.values() for member in members)

    @property
    def baseline(self) -> str | None:
        return None if self.evaluation is None else self.evaluation.baseline
