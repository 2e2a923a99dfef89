"""What the paired tests refuse; that they are sacreBLEU's is shown beside its command."""

import numpy as np
import pytest
from sacrebleu.significance import PairedTest

from dragoman.errors import ConfigError, DataError
from dragoman.evaluation import intervals
from dragoman.evaluation.metrics import corpus_scores
from dragoman.evaluation.sentence_statistics import corpus_statistics, signed_metric
from dragoman.evaluation.significance import TestName, paired_result, paired_tests
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
    monkeypatch.setattr(intervals, "_CELLS", cells)
    metrics = {"BLEU": signed_metric("bleu", ""), "TER": signed_metric("ter", "")}
    signatures, wanted = PairedTest([("1", FIRST), ("2", SECOND)], metrics, [REFERENCES], theirs, 90)()
    (found,) = paired_tests(FIRST, [SECOND], REFERENCES, metrics=["bleu", "ter"], test=test, trials=90)
    for result, name in zip(found, metrics, strict=True):
        first, second = wanted[name]
        assert not isinstance(first, str)
        assert not isinstance(second, str)
        assert (result.p_value, result.difference) == (second.p_value, second.score - first.score)
        assert result.signature == str(signatures[name])


def test_the_difference_is_that_of_the_scores() -> None:
    (found,) = paired_tests(FIRST, [SECOND], REFERENCES, trials=1)
    before, after = corpus_scores(FIRST, REFERENCES), corpus_scores(SECOND, REFERENCES)
    for result, first, second in zip(found, before, after, strict=True):
        assert result.metric == first.name
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
        paired_result(whole, whole.select(np.arange(39)))


def test_no_system_gives_no_result() -> None:
    assert paired_tests(FIRST, [], REFERENCES) == []
