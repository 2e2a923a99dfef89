"""What is refused before anything is translated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.api.evaluation_plan import EvaluatePlan, check_language, check_plan
from dragoman.api.systems import System
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation import sentence_statistics

ONE, TWO = (System(name, (Path(name),)) for name in ("one", "two"))


@pytest.mark.parametrize(
    ("systems", "options", "message"),
    [
        ([], {}, "there must be at least one system, got none; name a bundle"),
        ([ONE, TWO, ONE], {}, "names of systems must differ, got one twice; members of one"),
        ([ONE, TWO], {"baseline": "three"}, "the baseline must be one of one, two, got three; or leave it out"),
        ([ONE], {"metrics": ()}, "metrics must be one or several of bleu, chrf, ter, got none; leave it out"),
        ([ONE], {"metrics": ["rouge"]}, "metrics must be one or several of bleu, chrf, ter, got rouge; name only"),
        ([ONE], {"metrics": ["bleu", "bleu"]}, "metrics must be .*, got bleu twice; name each once"),
        ([ONE], {"resamples": 1}, "resamples must be at least 2, or 0 for no intervals, got 1; 1000 is usual"),
        ([ONE, TWO], {"test": "t"}, "test must be one of bootstrap, randomization, got 't'; bootstrap is usual"),
        ([ONE, TWO], {"trials": 0}, "trials must be at least 1, got 0; 1000 are usual"),
    ],
)
def test_what_cannot_be(systems: list[System], options: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        check_plan(systems, ["a"], ["b"], EvaluatePlan(**options))


def test_texts():
    with pytest.raises(DataError, match="must be as many, and at least one, got 2 and 1 lines; see which"):
        check_plan([ONE], ["a", "b"], ["c"], EvaluatePlan())
    with pytest.raises(DataError, match="at least one, got 0 and 0"):
        check_plan([ONE], [], [], EvaluatePlan())


def test_a_seed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SACREBLEU_SEED", "-1")
    check_plan([ONE], ["a"], ["b"], EvaluatePlan(resamples=0))  # nothing is drawn
    for systems, resamples in (([ONE], 1000), ([ONE, TWO], 0)):
        with pytest.raises(ConfigError, match="SACREBLEU_SEED must be"):
            check_plan(systems, ["a"], ["b"], EvaluatePlan(resamples=resamples))


def test_a_tokenizer_that_is_not_installed(monkeypatch: pytest.MonkeyPatch):
    def missing(**_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(sentence_statistics, "BLEU", missing)
    with pytest.raises(
        ConfigError, match=r"tokenizer for ja must be installed, got none; pip install 'sacrebleu\[ja\]'"
    ):
        check_language("ja", EvaluatePlan())
    check_language("ja", EvaluatePlan(metrics=("chrf", "ter")))
