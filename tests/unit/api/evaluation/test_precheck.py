"""What is refused before anything is translated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.api.evaluation.precheck import check_language, check_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.config.evaluation import EvaluationSettings
from dragoman.config.validation_errors import validate
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation import significance

ONE, TWO = (System(name, (Path(name),)) for name in ("one", "two"))


@pytest.mark.parametrize(
    ("systems", "options", "message"),
    [
        ([], {}, "no system is given; name a bundle"),
        ([ONE, TWO, ONE], {}, "names of systems must differ, got one twice; join members"),
        ([ONE, TWO], {"baseline": "three"}, "baseline must be one of one, two, got three; or leave it out"),
        ([ONE], {"metrics": ()}, "metrics is empty; name one or several of bleu, chrf, ter, or leave it out"),
        ([ONE], {"metrics": ["rouge"]}, "metrics must be one of bleu, chrf, ter, got 'rouge'"),
        ([ONE], {"resamples": 1}, "resamples must be at least 2, or 0 for no intervals, got 1; 1000 is usual"),
        ([ONE, TWO], {"test_kind": "t"}, "test_kind must be one of bootstrap, randomization, got 't'"),
        ([ONE, TWO], {"trials": 0}, "trials must be greater than or equal to 1, got 0"),
    ],
)
def test_what_cannot_be(systems: list[System], options: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        check_systems(systems, ["a"], ["b"], validate(EvaluationSettings, options))


def test_texts():
    with pytest.raises(DataError, match="must have the same number of lines, at least one, got 2 and 1"):
        check_systems([ONE], ["a", "b"], ["c"], EvaluationSettings())
    with pytest.raises(DataError, match="at least one, got 0 and 0"):
        check_systems([ONE], [], [], EvaluationSettings())


def test_a_seed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SACREBLEU_SEED", "-1")
    check_systems([ONE], ["a"], ["b"], EvaluationSettings(resamples=0))  # nothing is drawn
    for systems, resamples in (([ONE], 1000), ([ONE, TWO], 0)):
        with pytest.raises(ConfigError, match="SACREBLEU_SEED must be"):
            check_systems(systems, ["a"], ["b"], EvaluationSettings(resamples=resamples))


def test_a_tokenizer_that_is_not_installed(monkeypatch: pytest.MonkeyPatch):
    def missing(**_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(significance, "BLEU", missing)
    with pytest.raises(ConfigError, match=r"tokenizer for ja is not installed; pip install 'sacrebleu\[ja\]'"):
        check_language("ja", EvaluationSettings())
    check_language("ja", EvaluationSettings(metrics=("chrf", "ter")))
