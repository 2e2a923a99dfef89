"""Check the models, the test set and the settings of an evaluation before translation starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.api.evaluation.system_arguments import System
from dragoman.config.evaluation import EvaluationSettings
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.metrics.sentence_statistics import signed_metric
from dragoman.evaluation.significance.bootstrap import seed_setting

__all__ = ["check_language", "check_systems", "copied_side_note"]


def check_systems(
    systems: Sequence[System], sources: Sequence[str], references: Sequence[str], settings: EvaluationSettings
) -> None:
    """Reject systems and texts that cannot be evaluated with these settings."""
    if not systems:
        raise ConfigError("there must be at least one system, got none; name a bundle, a run or a file of translations")
    if len(sources) != len(references) or not references:
        raise DataError(
            f"sources and references must have the same number of lines, at least one, got {len(sources):,} and "
            f"{len(references):,}; add the missing lines"
        )
    names = [system.name for system in systems]
    if duplicates := [name for name in names if names.count(name) > 1]:
        raise ConfigError(
            f"names of systems must differ, got {duplicates[0]} twice; join members of one system by commas"
        )
    if settings.baseline is not None and settings.baseline not in names:
        raise ConfigError(f"baseline must be one of {', '.join(names)}, got {settings.baseline}; or leave it out")
    if len(systems) > 1 or settings.resamples:
        seed_setting()


def check_language(language: str, settings: EvaluationSettings) -> None:
    """Reject metrics without a tokenizer for the target language."""
    for metric in settings.metrics:
        signed_metric(metric, language)


def copied_side_note(path: Path, lines: Sequence[str], sources: Sequence[str], references: Sequence[str]) -> str:
    """Return a note if a file of translations is a copy of the references or of the sources, else nothing."""
    for name, side in (("references", references), ("sources", sources)):
        if list(lines) == list(side):
            return f"{path} has the same lines as the {name}, so its scores mean nothing; name a file of translations"
    return ""
