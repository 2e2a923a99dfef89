"""Systems side by side, as plain values: all that a report of a comparison shows. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.data.check.scores import SIGNIFICANT

__all__ = [
    "AlignedMap",
    "AlignedSentence",
    "Compared",
    "ComparedSystem",
    "Comparison",
    "Curve",
    "DifferingSentence",
    "Estimate",
    "LengthPoint",
    "Measured",
    "SpeedFacts",
    "TRAINING_LOSS",
    "TextFacts",
    "TrainingFacts",
    "Translated",
    "VALIDATION_LOSS",
    "Versus",
]

TRAINING_LOSS, VALIDATION_LOSS = "training loss", "validation loss"
"""The quantities of curves that are losses; all others are scores."""


@dataclass(frozen=True)
class Estimate:
    """A figure, and half the width of its 95 % interval where that is known."""

    value: float
    half_width: float | None = None


@dataclass(frozen=True)
class Versus:
    """How far a figure is from the baseline's, and how likely such a difference is where there is none."""

    difference: float
    p_value: float
    test: str
    signature: str = ""

    @property
    def is_significant(self) -> bool:
        """Whether it is a difference that one may count on."""
        return self.p_value < SIGNIFICANT


@dataclass(frozen=True)
class Measured:
    """One score of a system, or of a member of it."""

    metric: str
    estimate: Estimate
    signature: str
    versus: Versus | None = None


@dataclass(frozen=True)
class LengthPoint:
    """Scores of the sentences whose source has from `low` to `high` words (None: and more)."""

    low: int
    high: int | None
    sentences: int
    scores: Mapping[str, Estimate]

    @property
    def label(self) -> str:
        """The span as people write it: 10–19, 60+."""
        return f"{self.low}+" if self.high is None else f"{self.low}–{self.high}"


@dataclass(frozen=True)
class Curve:
    """What became of one quantity in training, as it was written down; all four are as long."""

    quantity: str
    updates: tuple[float, ...]
    tokens: tuple[float, ...]
    seconds: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class TrainingFacts:
    """What a training took, from the record of the run.

    `data_fingerprint` tells the pairs that it learnt from, `config_digest` the configuration, from any other.
    """

    updates: int
    tokens: int
    seconds: float
    tokens_per_second: float | None
    pairs: Mapping[str, int]
    ended: str
    best: str
    machine: str
    versions: Mapping[str, str]
    data_fingerprint: str = ""
    config_digest: str = ""


@dataclass(frozen=True)
class SpeedFacts:
    """What translating the test set took."""

    engine: str
    sentences_per_second: float
    words_per_second: float
    seconds: float
    cpu_seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Compared:
    """One run, bundle or file of translations; it has the name of its system, numbered where that has several.

    `settings` are those of its configuration by their dotted names, each as TOML; `config` is the whole of it.
    """

    name: str
    kind: Literal["run", "bundle", "translations"]
    digest: str = ""
    seed: int | None = None
    parameters: int | None = None
    size_bytes: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    config: str = ""
    curves: tuple[Curve, ...] = ()
    training: TrainingFacts | None = None
    speed: SpeedFacts | None = None
    flags: Mapping[str, int] | None = None
    scores: tuple[Measured, ...] = ()


@dataclass(frozen=True)
class ComparedSystem:
    """A system: its members, which are alike but for their seeds, and what they reach together."""

    name: str
    members: tuple[Compared, ...]
    scores: tuple[Measured, ...] = ()
    lengths: tuple[LengthPoint, ...] = ()


@dataclass(frozen=True)
class Translated:
    """A translation by a system, and its sentence score against the reference."""

    system: str
    text: str
    score: float


@dataclass(frozen=True)
class DifferingSentence:
    """A sentence of the test set, counted from 1, and what each system makes of it."""

    number: int
    source: str
    reference: str
    translations: tuple[Translated, ...]


@dataclass(frozen=True)
class AlignedMap:
    """Where a model looks while it writes its translation; without weights, `note` says why there are none.

    `which` of its maps it is: the layer, the heads, and whose look a step is.

    Shapes: weights [target words, source words].
    """

    system: str
    translation: str
    source_words: tuple[str, ...] = ()
    target_words: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None
    note: str = ""
    which: str = ""


@dataclass(frozen=True)
class AlignedSentence:
    """A sentence of the test set, counted from 1, under the eyes of every model."""

    number: int
    source: str
    reference: str
    maps: tuple[AlignedMap, ...]


@dataclass(frozen=True)
class TextFacts:
    """The test set: its name, what tells it from any other, and the settings of the search that say something."""

    name: str
    sentences: int
    source_digest: str
    reference_digest: str
    search: Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """Everything that a report shows."""

    systems: tuple[ComparedSystem, ...]
    baseline: str | None
    test: TextFacts | None
    versions: Mapping[str, str]
    machine: str
    command: str
    differing: tuple[DifferingSentence, ...] = ()
    sentence_metric: str = ""
    aligned: tuple[AlignedSentence, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the scores, in order."""
        return tuple(dict.fromkeys(score.metric for system in self.systems for score in system.scores))
