"""Details of a translation in the terminal, and that everything fits."""

import numpy as np
import pytest
from rich.cells import cell_len

from dragoman.inspection.result import Candidate, Counterfactual
from dragoman.inspection.terminal.details import (
    candidate_lines,
    counterfactual_lines,
    word_value_lines,
)
from dragoman.reporting.terminal import flow, wrap
from tests.unit.inspection.opened import PAIRS, opened


def test_candidates() -> None:
    inspected = opened(["a"], ["das", "Haus"])
    object.__setattr__(
        inspected,
        "candidates",
        (
            (Candidate("▁das", 0.5), Candidate("▁ein", 0.05)),
            (Candidate("▁Dorf", 0.5), Candidate("▁Haus", 0.0004)),
            (Candidate("</s>", 1.0),),
        ),
    )
    assert list(candidate_lines(inspected, width=40)) == [
        "1 ▁das    ▁das 50%  ▁ein 5.0%",
        "2 ▁Haus * ▁Dorf 50%  ▁Haus <0.1%",
        "3 ⟨end⟩   ⟨end⟩ 100%",
    ]


def test_counterfactuals() -> None:
    inspected = opened(["a"], ["das", "Haus"])
    others = [
        Counterfactual(0, "ein", 0.25, "ein Haus", -0.5),
        Counterfactual(1, "", 0.01, "das", -1.0),
        Counterfactual(2, ".", 0.1, "x", -1),
    ]
    assert list(counterfactual_lines(inspected, others, width=60)) == [
        "das → ein, p 25%, then -0.50 per token",
        "  ein Haus",
        "Haus → ⟨end⟩, p 1.0%, then -1.00 per token",
        "  das",
        "⟨end⟩ → ., p 10%, then -1.00 per token",
        "  x",
    ]


def test_figures() -> None:
    assert list(word_value_lines(["a", "bc"], np.array([0.04, 1.26]), width=80)) == ["a 0.0  bc 1.3"]


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("width", [40, 80])
def test_all_fits(name: str, width: int) -> None:
    inspected = opened(*PAIRS[name])
    lines = [
        *candidate_lines(inspected, width=width),
        *counterfactual_lines(inspected, inspected.counterfactuals, width=width),
        *word_value_lines(inspected.source_words, np.ones(len(inspected.source_words)), width=width),
    ]
    assert len(lines) > len(inspected.tokens)
    assert all(cell_len(line) <= width for line in lines)


def test_wrapped() -> None:
    assert wrap("", 10) == [""]
    assert wrap("a bc def", 4) == ["a bc", "def"]
    assert wrap("我用Python写", 6) == ["我用Py", "thon写"]
    assert wrap("xxxxxxxx y", 3) == ["xxx", "xxx", "xx", "y"]
    assert list(flow(["a", "bb", "c"], 5)) == ["a  bb", "c"]
    assert list(flow([], 5)) == []
