"""What is wanted of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from dragoman.api.systems import System
from dragoman.data.progress import Progress
from dragoman.engines.choose import EngineName, PrecisionName
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.comet import Comet
from dragoman.evaluation.intervals import DEFAULT_RESAMPLES
from dragoman.evaluation.metrics import METRICS
from dragoman.evaluation.significance import TestName
from dragoman.search.settings import SearchSettings

__all__ = ["EvaluateOptions", "EvaluatePlan", "check_plan"]


class EvaluateOptions(TypedDict, total=False):
    """What `evaluate` takes besides systems and texts."""

    settings: SearchSettings | None
    engine: EngineName
    precision: PrecisionName
    threads: int | None
    batch_tokens: int | None
    metrics: Sequence[str]
    baseline: str | None
    resamples: int
    test: TestName
    trials: int | None
    probes: bool
    flags: bool
    by_length: bool
    comet: Comet | None
    languages: tuple[str, str] | None
    progress: Progress | None
    tell: Callable[[str], None] | None
    name: str
    command: str


@dataclass(frozen=True)
class EvaluatePlan:
    """The options, and what they are where they were left out."""

    settings: SearchSettings | None = None
    """How to search."""
    engine: EngineName = "auto"
    precision: PrecisionName = "auto"
    threads: int | None = None
    batch_tokens: int | None = None
    metrics: Sequence[str] = METRICS
    baseline: str | None = None
    """The name of the system that the others are held against: the first, where there are several."""
    resamples: int = DEFAULT_RESAMPLES
    """For bootstrap intervals; 0 for none."""
    test: TestName = "bootstrap"
    trials: int | None = None
    """Of the paired test; as many as sacreBLEU makes if not given."""
    probes: bool = False
    flags: bool = True
    by_length: bool = True
    comet: Comet | None = None
    languages: tuple[str, str] | None = None
    """Source and target; what the bundles say if not given."""
    progress: Progress | None = None
    tell: Callable[[str], None] | None = None
    """Is told which engine each translator runs on."""
    name: str = ""
    """What the test set is called."""
    command: str = ""
    """What was typed."""


def check_plan(
    systems: Sequence[System], sources: Sequence[str], references: Sequence[str], plan: EvaluatePlan
) -> None:
    """Refuse what cannot be done, before anything is translated."""
    if not systems:
        raise ConfigError("there must be at least one system, got none; name a bundle, a run or a file of translations")
    if len(sources) != len(references) or not references:
        raise DataError(
            f"sources and references must be as many, and at least one, got {len(sources):,} and {len(references):,} "
            "lines; see which of them lacks some"
        )
    names = [system.name for system in systems]
    if plan.baseline is not None and plan.baseline not in names:
        raise ConfigError(f"the baseline must be one of {', '.join(names)}, got {plan.baseline}; or leave it out")
    if unknown := [metric for metric in plan.metrics if metric not in METRICS]:
        raise ConfigError(f"metrics must be among {', '.join(METRICS)}, got {unknown[0]}")
    if plan.resamples < 0 or plan.resamples == 1:
        raise ConfigError(f"resamples must be at least 2, or 0 for no intervals, got {plan.resamples}; 1000 is usual")
    if plan.comet is not None:
        plan.comet.check()
