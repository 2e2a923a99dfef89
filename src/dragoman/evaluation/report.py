"""What an evaluation found, as plain values: of every system, of its members, and of what sets systems apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from dragoman.evaluation.metrics import Score

__all__ = ["Evaluation", "LengthScores", "Member", "PairedResult", "Probe", "Speed", "Spread", "SystemScores"]


@dataclass(frozen=True)
class LengthScores:
    """The scores of the sentences whose source has from `low` to `high` words (None: and more)."""

    low: int
    high: int | None
    sentences: int
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class PairedResult:
    """How a system differs from the baseline, and how likely such a difference is where there is none."""

    metric: str
    test: Literal["bootstrap", "randomization"]
    difference: float
    p_value: float
    signature: str


@dataclass(frozen=True)
class Probe:
    """The scores of texts that were spoilt in one way, and what they lost against the same texts as they were.

    Of `sentences` that were looked at only the texts that `changed` are translated and scored. A drop is positive where
    the translations are worse, TER among them. Where there can be no reference, `shares` say what is measured in place
    of scores.
    """

    name: str
    sentences: int
    changed: int
    scores: tuple[Score, ...]
    drops: Mapping[str, float]
    shares: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Speed:
    """What translating took: by the clock, of the processor, and of memory at its peak.

    A few sentences are translated before the clocks start, so that no system pays for what is set up once. Translations
    are counted for their scores meanwhile, in another thread: its processor time is taken off, but where every core is
    busy the two slow each other down a little. `peak_bytes` is the most memory that the process had meanwhile, all it
    had before among it.
    """

    sentences: int
    source_words: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    engine: str


@dataclass(frozen=True)
class Member:
    """One translator, or one file of translations; a system trained with several seeds has several."""

    name: str
    digest: str
    scores: tuple[Score, ...]
    hypotheses: tuple[str, ...]
    seed: int | None = None
    parameters: int | None = None
    by_length: tuple[LengthScores, ...] = ()
    flags: Mapping[str, int] | None = None
    probes: tuple[Probe, ...] = ()
    speed: Speed | None = None
    against_baseline: tuple[PairedResult, ...] = ()
    """Against the baseline's member in the same place, or its first where it has none there. The only member of a
    system is held against all of the baseline's: the mean difference, and the largest p-value."""
    path: str = ""
    """Where it was found, as it was named."""


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over members, and half the width of the mean's 95 % interval (Student's t)."""

    metric: str
    mean: float
    deviation: float | None
    half_width: float | None
    members: int


@dataclass(frozen=True)
class SystemScores:
    """A system: its members, and what they have in common."""

    name: str
    members: tuple[Member, ...]
    spreads: tuple[Spread, ...]
    seeds_differ: Mapping[str, float] = field(default_factory=dict)
    """For each metric the p-value of Welch's test over seeds against the baseline; empty unless both have several.

    A metric by which no member differs from another of its system has none.
    """


@dataclass(frozen=True)
class Evaluation:
    """Everything: the set, the systems, the baseline's name if there is one, and how to do it again."""

    test: str
    sentences: int
    source_digest: str
    reference_digest: str
    systems: tuple[SystemScores, ...]
    baseline: str | None
    search: Mapping[str, Any]
    versions: Mapping[str, str]
    machine: str
    command: str
    languages: tuple[str, str] = ("", "")
    resamples: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    """By the clock: "all", of which "translating" (models are opened in it too) and "scoring" (waiting for scores)."""

    def to_json(self, *, hypotheses: bool = False) -> dict[str, Any]:
        """Return plain values; translations are left out unless they are asked for."""
        value = asdict(self)
        if not hypotheses:
            for system in value["systems"]:
                for member in system["members"]:
                    del member["hypotheses"]
        return value
