"""N-grams in common, against counting them one sentence at a time."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluation.metrics import sentence_statistics as module
from dragoman.evaluation.metrics.sentence_statistics import ngram_matches


def _literally(hypothesis: Sequence[str], reference: Sequence[str], order: int) -> int:
    ours, theirs = (
        Counter(tuple(side[start : start + order]) for start in range(len(side) - order + 1))
        for side in (hypothesis, reference)
    )
    return (ours & theirs).total()


@given(st.lists(st.tuples(st.text("abα猫\ud800", max_size=9), st.text("abα猫\ud800", max_size=9)), max_size=6))
def test_as_counted_one_by_one(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    wanted = np.array([[_literally(*pair, order) for order in (1, 2, 3)] for pair in pairs]).reshape(-1, 3)
    np.testing.assert_array_equal(ngram_matches(hypotheses, references, 3), wanted)
    words = [list(side) for side in hypotheses], [list(side) for side in references]
    np.testing.assert_array_equal(ngram_matches(*words, 3), wanted)


@pytest.mark.parametrize("block", [1, 30, 1 << 16])
def test_blocks_make_no_difference(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hypotheses = [f"the {number}th cat of {number * 7}" for number in range(20)]
    references = [f"a {number}th cat of {number * 3}" for number in range(20)]
    monkeypatch.setattr(module, "_BLOCK", block)
    wanted = [[_literally(*pair, order) for order in (1, 2)] for pair in zip(hypotheses, references, strict=True)]
    np.testing.assert_array_equal(ngram_matches(hypotheses, references, 2), wanted)
