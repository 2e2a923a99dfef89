"""Scores are sacreBLEU's own, with its signatures."""

import pytest
import sacrebleu

from dragoman.errors import DataError
from dragoman.evaluation.metrics import bleu, chrf, exact_match

HYPOTHESES = ["The cat sat on the mat.", "A dog barks loudly at the moon", "Ein Vogel, 3.5 kg"]
REFERENCES = ["The cat sat on a mat.", "a dog barks loudly at the moon!", "Ein Vogel, 3,5 kg"]


def test_bleu_is_that_of_sacrebleu() -> None:
    score = bleu(HYPOTHESES, REFERENCES)
    assert score.value == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert 0 < score.value < 100
    assert score.name == "bleu"
    assert score.signature == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"


def test_chrf_is_that_of_sacrebleu() -> None:
    score = chrf(HYPOTHESES, REFERENCES)
    assert score.value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score
    assert 0 < score.value < 100
    assert score.name == "chrf"
    assert score.signature == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{sacrebleu.__version__}"


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
