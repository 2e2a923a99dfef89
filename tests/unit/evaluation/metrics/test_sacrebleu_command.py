"""Scores, intervals and tests are those of sacreBLEU's command, to the last digit and the last letter."""

from pathlib import Path

import pytest

from dragoman.config.evaluation import TestName
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.evaluation.significance import paired_tests
from tests.unit.evaluation.sacrebleu_command import as_printed, lines_of, paired, sacrebleu, spoilt

SETS = [
    ("multi30k/test_2016_flickr.de", "de"),
    ("newstest/newstest2014.de-en.en", "en"),
    ("newstest/newstest2019.en-zh.zh", "zh"),
]
OPTIONS: dict[TestName, str] = {"bootstrap": "--paired-bs", "randomization": "--paired-ar"}


@pytest.mark.parametrize("count", [60, pytest.param(None, marks=pytest.mark.long)])
@pytest.mark.parametrize(("name", "language"), SETS)
def test_scores_and_intervals(name: str, language: str, count: int | None, corpora: Path, tmp_path: Path) -> None:
    references = lines_of(corpora, name)[:count]
    hypotheses = spoilt(references)
    resamples = 1000 if count is None else 50
    wanted = sacrebleu(
        tmp_path, references, [hypotheses], "--confidence", "--confidence-n", str(resamples), "-l", f"xx-{language}"
    )
    found = corpus_scores(hypotheses, references, language=language, resamples=resamples)
    assert [score.metric for score in found] == ["bleu", "chrf++", "ter"]
    assert len({score["score"] for score in wanted}) == 3
    for ours, theirs in zip(found, wanted, strict=True):
        assert as_printed(ours) == {key: theirs[key] for key in as_printed(ours)}
        assert ours.interval is not None
        assert ours.interval.half_width > 0


def test_scores_without_intervals(tmp_path: Path) -> None:
    references = ["The cat sat on a mat.", "", "It cost 3.5 million, he said."]
    hypotheses = ["A cat sat on the mat .", "Nothing", ""]
    wanted = sacrebleu(tmp_path, references, [hypotheses])
    found = corpus_scores(hypotheses, references)
    assert [as_printed(score) for score in found] == [
        {"score": each["score"], "signature": each["signature"]} for each in wanted
    ]


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
@pytest.mark.parametrize(
    ("name", "count", "trials"),
    [("multi30k/test_2016_flickr.de", 60, 70), pytest.param(SETS[1][0], 1000, None, marks=pytest.mark.long)],
)
def test_paired_tests(name: str, count: int, trials: int | None, test: TestName, corpora: Path, tmp_path: Path) -> None:
    references = lines_of(corpora, name)[:count]
    baseline, near, far = (spoilt(references, seed) for seed in "123")
    far = [
        line if number % 8 else reference for number, (line, reference) in enumerate(zip(far, references, strict=True))
    ]
    found = paired_tests(baseline, [near, far], references, test=test, trials=trials)
    options = [OPTIONS[test], *([] if trials is None else [f"{OPTIONS[test]}-n", str(trials)])]
    wanted, signatures = paired(tmp_path, references, [baseline, near, far], *options)
    before = {score.metric: score.value for score in corpus_scores(baseline, references)}
    for ours, theirs in zip(found, wanted, strict=True):
        for result in ours:
            score, p_value = theirs[result.metric]
            assert f"{result.p_value:.4f}" == p_value
            assert result.difference == score - before[result.metric]
            assert f" {result.signature}\n" in signatures
    assert len({result.p_value for results in found for result in results}) > 2


def test_identical_systems_do_not_differ_though_sacrebleu_says_so(tmp_path: Path) -> None:
    references = [f"The {number}th cat sat on the mat." for number in range(20)]
    baseline = spoilt(references)
    for test, option in OPTIONS.items():
        (found,) = paired_tests(baseline, [list(baseline)], references, test=test, trials=20)
        assert [(result.difference, result.p_value) for result in found] == [(0, 1)] * 3
        (theirs,), _ = paired(tmp_path, references, [baseline, baseline], option, f"{option}-n", "20")
        assert {p_value for _, p_value in theirs.values()} == {f"{1 / 21:.4f}"}
