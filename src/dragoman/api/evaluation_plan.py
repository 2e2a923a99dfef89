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
from dragoman.evaluation.intervals import DEFAULT_RESAMPLES, seed_setting
from dragoman.evaluation.metrics import METRICS
from dragoman.evaluation.sentence_statistics import signed_metric
from dragoman.evaluation.significance import TestName, check_test
from dragoman.search.settings import SearchSettings

__all__ = ["EvaluateOptions", "EvaluatePlan", "check_language", "check_plan"]


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
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"names of systems must differ, got {twice[0]} twice; members of one system belong together")
    if plan.baseline is not None and plan.baseline not in names:
        raise ConfigError(f"the baseline must be one of {', '.join(names)}, got {plan.baseline}; or leave it out")
    _check_figures(plan, has_tests=len(systems) > 1)
    if plan.comet is not None:
        plan.comet.check()


def check_language(language: str, plan: EvaluatePlan) -> None:
    """Refuse metrics that cannot be computed of translations into this language, for want of a tokenizer."""
    for metric in plan.metrics:
        signed_metric(metric, language)


def _check_figures(plan: EvaluatePlan, *, has_tests: bool) -> None:
    wanted = f"metrics must be one or several of {', '.join(METRICS)}"
    if not plan.metrics:
        raise ConfigError(f"{wanted}, got none; leave it out for all of them")
    for number, metric in enumerate(plan.metrics):
        if metric not in METRICS:
            raise ConfigError(f"{wanted}, got {metric}; name only these")
        if metric in plan.metrics[:number]:
            raise ConfigError(f"{wanted}, got {metric} twice; name each once")
    if plan.resamples < 0 or plan.resamples == 1:
        raise ConfigError(f"resamples must be at least 2, or 0 for no intervals, got {plan.resamples}; 1000 is usual")
    check_test(plan.test, plan.trials)
    if has_tests or plan.resamples:
        seed_setting()
