"""Minimum Bayes risk decoding: choose the candidate that agrees most with the others."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dragoman.evaluation.metrics.pairwise_chrf import pairwise_chrf
from dragoman.search.hypothesis import Hypothesis


def rank_by_expected_chrf(candidates: Sequence[Hypothesis], texts: Sequence[str], nbest: int) -> list[Hypothesis]:
    """Return up to `nbest` candidates with different texts, those with the highest expected chrF first.

    The expectation is over the candidates, which are samples: û = argmax_h Σ_r chrF(h, r). Paper: [eikema2022].
    Of candidates with one text, the most likely is returned.
    """
    counts = Counter(texts)  # in the order of their first occurrence
    expected = pairwise_chrf(list(counts)) @ np.array(list(counts.values()), np.float64)
    best: dict[str, Hypothesis] = {}
    for text, candidate in zip(texts, candidates, strict=True):
        if text not in best or candidate.log_prob > best[text].log_prob:
            best[text] = candidate
    found = list(best.values())
    return [found[place] for place in np.argsort(-expected, kind="stable")[:nbest].tolist()]
