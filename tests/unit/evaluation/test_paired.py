"""Paired tests: differences, seeds and errors; `test_sacrebleu_command` compares them with sacreBLEU."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sacrebleu.significance import PairedTest

from dragoman.config.evaluation import TestName
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation import significance
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.evaluation.significance import (
    Statistics,
    corpus_statistics,
    paired_test,
    paired_tests,
    signed_metric,
)
from tests.unit.evaluation.sacrebleu_command import spoilt

REFERENCES = [f"The {number}th cat of {number * 7} sat on the mat, and slept." for number in range(40)]
FIRST, SECOND = spoilt(REFERENCES, "a"), spoilt(REFERENCES, "b")


@pytest.mark.parametrize("cells", [1, 1 << 22])
@pytest.mark.parametrize(("test", "theirs"), [("bootstrap", "bs"), ("randomization", "ar")])
@pytest.mark.parametrize("seed", ["12345", "3"])
def test_as_sacrebleu_in_blocks_and_at_once(
    test: TestName, theirs: str, cells: int, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    monkeypatch.setattr(significance, "_CELLS", cells)
    metrics = {"BLEU": signed_metric("bleu", ""), "TER": signed_metric("ter", "")}
    signatures, wanted = PairedTest([("1", FIRST), ("2", SECOND)], metrics, [REFERENCES], theirs, 90)()
    (found,) = paired_tests(FIRST, [SECOND], REFERENCES, metrics=["bleu", "ter"], test=test, trials=90)
    for result, name in zip(found, metrics, strict=True):
        first, second = wanted[name]
        assert not isinstance(first, str)
        assert not isinstance(second, str)
        assert (result.p_value, result.difference) == (second.p_value, second.score - first.score)
        assert result.signature == str(signatures[name])


@pytest.mark.parametrize("seed", ["none", "None", "0"])
def test_without_a_seed_both_systems_are_drawn_alike(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", seed)  # in paired tests sacreBLEU takes 0 for none
    first, second = (
        Statistics("ter", "", np.array([[number % 10 + more, 10] for number in range(20)])) for more in (0, 1)
    )
    result = paired_test(first, second, trials=1000)
    assert result.difference == pytest.approx(10)
    assert result.p_value == 1 / 1001  # each sentence is worse by as much, so every draw is too
    theirs = PairedTest([("1", FIRST), ("2", SECOND)], {"TER": signed_metric("ter", "")}, [REFERENCES], "bs", 9)()[0]
    (found,) = paired_tests(FIRST, [SECOND], REFERENCES, metrics=["ter"], trials=9)
    assert found[0].signature == str(theirs["TER"])


@pytest.mark.parametrize(("seed", "is_same"), [("none", False), ("0", False), ("3", True)])
def test_other_draws_every_time_without_a_seed(seed: str, is_same: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    draws: list[list[float]] = []

    def kept(changes: NDArray[np.floating], _: float) -> float:
        draws.append(changes.tolist())
        return 1.0

    monkeypatch.setattr(significance, "_compute_p_value", kept)
    for _ in range(2):
        paired_tests(FIRST, [SECOND], REFERENCES, metrics=["ter"], trials=50)
    assert (draws[0] == draws[1]) is is_same


def test_the_difference_is_that_of_the_scores() -> None:
    (found,) = paired_tests(FIRST, [SECOND], REFERENCES, trials=1)
    before, after = corpus_scores(FIRST, REFERENCES), corpus_scores(SECOND, REFERENCES)
    for result, first, second in zip(found, before, after, strict=True):
        assert result.metric == first.metric
        assert result.difference == second.value - first.value


def test_a_much_better_system_is_seen() -> None:
    (found,) = paired_tests(FIRST, [REFERENCES], REFERENCES, trials=100, test="randomization")
    assert all(result.p_value == 1 / 101 for result in found)
    assert [np.sign(result.difference) for result in found] == [1, 1, -1]


def test_what_is_refused() -> None:
    with pytest.raises(DataError, match="must be as many"):
        paired_tests(FIRST, [SECOND[1:]], REFERENCES)
    with pytest.raises(ConfigError, match="trials must be at least 1, got 0; 1000 are usual"):
        paired_tests(FIRST, [SECOND], REFERENCES, trials=0)
    with pytest.raises(ConfigError, match="test must be one of bootstrap, randomization, got 't'"):
        paired_tests(FIRST, [SECOND], REFERENCES, test="t")  # type: ignore[arg-type]
    (whole,) = corpus_statistics(FIRST, REFERENCES, metrics=["bleu"])
    with pytest.raises(DataError, match="must have translated the same sentences, got 40 and 39"):
        paired_test(whole, whole.select(np.arange(39)))


def test_no_system_gives_no_result() -> None:
    assert paired_tests(FIRST, [], REFERENCES) == []
