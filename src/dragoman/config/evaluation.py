"""Evaluation settings: metrics, confidence intervals and significance tests."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from dragoman.config.base import Cli, PartName, Settings, Size
from dragoman.config.validation_errors import SettingError

METRICS = ("bleu", "chrf", "ter")

TestName = Literal["bootstrap", "randomization"]
"""Paired significance tests."""

_SCORES, _COMET = "Scores", "COMET"


def _metric_names(value: Any) -> Any:
    """Return names in lower case, each once."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value
    return tuple(dict.fromkeys(name.lower() if isinstance(name, str) else name for name in value))


def _language_pair(value: Any) -> Any:
    """Return ``en-de`` as a pair; codes that contain a hyphen are joined by a colon."""
    if not isinstance(value, str):
        return value
    source, _, target = value.partition(":" if ":" in value else "-")
    if not source or not target:
        raise SettingError("{languages} must be two language codes joined by -, got {value}; en-de is one", value=value)
    return source, target


class EvaluationSettings(Settings):
    """How systems are scored and compared."""

    baseline: Annotated[str | None, Cli(default="the first system", metavar="NAME")] = None
    """System that the others are compared with."""
    languages: Annotated[
        tuple[str, str] | None, BeforeValidator(_language_pair), Cli(default="from the bundles", metavar="SRC-TGT")
    ] = None
    """Languages of the test set, such as en-de or en:zh-Hant; they choose the direction of a model with several."""
    metrics: Annotated[
        tuple[Annotated[str, PartName("metrics", METRICS)], ...],
        BeforeValidator(_metric_names),
        Cli(_SCORES, metavar="NAME,…"),
    ] = METRICS
    """Metrics, separated by commas: bleu, chrf, ter, and those of plug-ins."""
    resamples: Annotated[int, Cli(_SCORES, metavar="N")] = 1000
    """Number of bootstrap resamples of confidence intervals; 0 disables intervals."""
    test_kind: Annotated[TestName, Cli(_SCORES)] = "bootstrap"
    """Paired significance test."""
    trials: Annotated[Size | None, Cli(_SCORES, default="1000 or 10000", metavar="N")] = None
    """Number of trials of the paired test."""
    by_length: Annotated[bool, Cli(_SCORES)] = True
    """Score by source length."""
    flags: Annotated[bool, Cli(_SCORES)] = True
    """Count quality flags."""
    probes: Annotated[bool, Cli(_SCORES)] = False
    """Measure the effect of typos, case, missing punctuation, single words and long input."""
    comet: Annotated[str | None, Cli(_COMET, metavar="MODEL")] = None
    """COMET model to score with."""
    comet_python: Annotated[str | None, Cli(_COMET, default="$DRAGOMAN_COMET_PYTHON", metavar="PATH")] = None
    """Python interpreter with the package unbabel-comet."""

    def _check(self) -> None:
        if not self.metrics:
            raise SettingError(
                "{metrics} is empty; name one or several of {legal}, or leave it out for all", legal=", ".join(METRICS)
            )
        if self.resamples < 0 or self.resamples == 1:
            raise SettingError(
                "{resamples} must be at least 2, or 0 for no intervals, got {value}; 1000 is usual",
                value=self.resamples,
            )
        if self.comet_python is not None and self.comet is None:
            raise SettingError("{comet_python} needs {comet}; name a COMET model")
