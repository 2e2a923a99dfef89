"""What tests of several members show together: no more than the weakest of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dragoman.evaluation.report import PairedResult

__all__ = ["weakest_result"]


def weakest_result(results: Sequence[PairedResult]) -> PairedResult:
    """One result of several, of one metric: the mean difference, and the largest p-value.

    Where members lie on both sides, or one differs by nothing, nothing is shown: the p-value is 1.
    """
    differences = [result.difference for result in results]
    weakest = max(results, key=lambda result: result.p_value)
    if len(results) == 1:
        return weakest
    is_one_side = min(differences) > 0 or max(differences) < 0
    mean = sum(differences) / len(differences)
    return replace(weakest, difference=mean, p_value=weakest.p_value if is_one_side else 1.0)
