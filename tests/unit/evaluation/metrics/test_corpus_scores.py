"""Scores are sacreBLEU's own, with its signatures."""

import importlib

import pytest
import sacrebleu

from dragoman.config.evaluation import METRICS
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.metrics.corpus_scores import bleu, chrf, corpus_scores, exact_match
from dragoman.evaluation.results import Interval, Score
from dragoman.evaluation.significance import signed_metric
from tests.unit.evaluation.sacrebleu_command import spoilt

HYPOTHESES = ["The cat sat on the mat.", "A dog barks loudly at the moon", "Ein Vogel, 3.5 kg"]
REFERENCES = ["The cat sat on a mat.", "a dog barks loudly at the moon!", "Ein Vogel, 3,5 kg"]


def test_bleu_is_that_of_sacrebleu() -> None:
    score = bleu(HYPOTHESES, REFERENCES)
    assert score.value == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert 0 < score.value < 100
    assert score.metric == "bleu"
    assert score.signature == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"


def test_chrf_is_that_of_sacrebleu() -> None:
    score = chrf(HYPOTHESES, REFERENCES)
    assert score.value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES], word_order=2).score
    assert 0 < score.value < 100
    assert score.metric == "chrf"
    assert score.signature == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:{sacrebleu.__version__}"


def test_case_counts() -> None:
    assert bleu(["the cat sat on the mat"], ["the cat sat on the mat"]).value == pytest.approx(100)
    assert bleu(["The Cat Sat On The Mat"], ["the cat sat on the mat"]).value < 5


def test_exact_match_counts_what_is_right_to_the_last_character() -> None:
    assert exact_match(["1998-05-03", "1998-05-04", ""], ["1998-05-03", "1998-05-03", ""]).value == pytest.approx(2 / 3)


@pytest.mark.parametrize("metric", [bleu, chrf, exact_match])
@pytest.mark.parametrize(("hypotheses", "references"), [(["a"], ["a", "b"]), ([], [])])
def test_one_reference_for_each_translation(metric, hypotheses: list[str], references: list[str]) -> None:
    with pytest.raises(DataError, match="must be as many"):
        metric(hypotheses, references)


def test_corpus_scores_are_those_of_sacrebleu() -> None:
    found = {score.metric: score for score in corpus_scores(HYPOTHESES, REFERENCES)}
    assert found["bleu"] == bleu(HYPOTHESES, REFERENCES)
    assert found["chrf++"].value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES], word_order=2).score
    assert found["ter"].value == sacrebleu.corpus_ter(HYPOTHESES, [REFERENCES]).score


def test_the_order_of_metrics_is_the_one_asked_for() -> None:
    assert [score.metric for score in corpus_scores(HYPOTHESES, REFERENCES, metrics=["ter", "bleu"])] == ["ter", "bleu"]
    with pytest.raises(ConfigError, match="metrics must be of bleu, chrf, ter, got 'meteor'"):
        corpus_scores(HYPOTHESES, REFERENCES, metrics=["bleu", "meteor"])


@pytest.mark.parametrize(("hypotheses", "references"), [(["a"], ["a", "b"]), ([], []), ([], ["a"])])
def test_corpus_scores_need_one_reference_for_each_translation(hypotheses: list[str], references: list[str]) -> None:
    with pytest.raises(DataError, match="must be as many"):
        corpus_scores(hypotheses, references)


@pytest.mark.parametrize(("language", "tokenizer"), [("zh", "zh"), ("zh-Hant", "zh"), ("zho", "zh"), ("de", "13a")])
def test_the_language_chooses_the_tokenizer_of_bleu(language: str, tokenizer: str) -> None:
    (score,) = corpus_scores(["我喜欢猫。"], ["我喜欢狗。"], metrics=["bleu"], language=language)
    assert f"|tok:{tokenizer}|" in score.signature
    assert (score.value > 0) == (tokenizer == "zh")


@pytest.mark.parametrize(("language", "module"), [("ja", "ja_mecab"), ("ko_KR", "ko_mecab")])
def test_a_tokenizer_that_is_not_installed_is_named(
    language: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizers = importlib.import_module(f"sacrebleu.tokenizers.tokenizer_{module}")
    monkeypatch.setattr(tokenizers, "MeCab", None)
    with pytest.raises(ConfigError, match=rf"pip install 'sacrebleu\[{language[:2]}\]', or leave BLEU out"):
        corpus_scores(["a"], ["a"], language=language)
    assert len(corpus_scores(["a"], ["a"], metrics=["chrf", "ter"], language=language)) == 2


def test_nothing_translated_is_scored() -> None:
    scores = corpus_scores(["", ""], REFERENCES[:2], resamples=10)
    assert [score.value for score in scores] == [0.0, 0.0, 100.0]
    assert [score.interval for score in scores] == [Interval(0.0, 0.0), Interval(0.0, 0.0), Interval(100.0, 0.0)]


def test_one_sentence_has_no_interval() -> None:
    (score,) = corpus_scores(["A dog barks"], ["A cat barks"], metrics=["chrf"], resamples=10)
    assert score.interval is None


@pytest.mark.parametrize("resamples", [-1, 1])
def test_too_few_resamples_are_refused(resamples: int) -> None:
    with pytest.raises(ConfigError, match="resamples must be 0"):
        corpus_scores(HYPOTHESES, REFERENCES, resamples=resamples)


def test_the_seed_of_sacrebleu_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interval() -> Score:
        return corpus_scores(HYPOTHESES, REFERENCES, metrics=["chrf"], resamples=20)[0]

    usual = interval()
    assert "|bs:20|seed:12345|" in usual.signature
    assert interval() == usual
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    other = interval()
    assert "|seed:7|" in other.signature
    assert other.interval != usual.interval
    monkeypatch.setenv("SACREBLEU_SEED", "None")
    assert "|seed:none|" in interval().signature
    for wrong in ("x", "-5", "1.5", ""):
        monkeypatch.setenv("SACREBLEU_SEED", wrong)
        message = f"SACREBLEU_SEED must be a whole number, 0 or more, or none, got '{wrong}'; unset it"
        with pytest.raises(ConfigError, match=message):
            interval()


def test_scores_with_resamples_are_those_of_sacrebleu() -> None:
    references = [f"The {n}th cat of {n * 7} sat on the mat of {n % 5} dogs, and slept all day." for n in range(50)]
    hypotheses = spoilt(references)
    ours = corpus_scores(hypotheses, references, resamples=100)
    theirs = [
        metric.corpus_score(hypotheses, [references], n_bootstrap=100).score
        for metric in (signed_metric(name, "") for name in METRICS)
    ]
    assert [score.value for score in ours] == theirs
