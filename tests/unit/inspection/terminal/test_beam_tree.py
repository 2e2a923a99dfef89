"""The tree in the terminal: the way to the translation, its branches, and that everything fits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dragoman.inspection.result import BeamNode, Candidate, Counterfactual
from dragoman.inspection.terminal.beam_tree import (
    candidate_lines,
    counterfactual_lines,
    render_beam_tree,
    word_value_lines,
)
from dragoman.reporting.terminal import flow, wrap
from tests.unit.inspection.opened import PAIRS, grown, opened


def node(parent: int, text: str, step: int, log_prob: float, *, end: bool = False, best: bool = False) -> BeamNode:
    return BeamNode(parent, text, step, -1 if end else 0, log_prob, is_end=end, is_best=best)


def plain(tree: tuple[BeamNode, ...], width: int = 80) -> list[str]:
    return [line.plain for line in render_beam_tree(tree, width=width, colour=False)]


def test_a_tree_by_hand() -> None:
    tree = (
        node(-1, "▁Ein", 0, -0.1, best=True),
        node(-1, "▁Der", 0, -3.0),
        node(0, "▁Mann", 1, -0.2, best=True),
        node(0, "▁Typ", 1, -2.5),
        node(1, "▁Mann", 1, -3.5),
        node(2, "</s>", 2, -0.3, end=True, best=True),
        node(2, ".", 2, -4.0),
        node(3, "</s>", 2, -2.75, end=True),
    )
    assert plain(tree, 40) == [
        "├─ Der Mann                   ✗    -3.50",
        "● Ein                              -0.10",
        "├─ Typ                        ✓    -2.75",
        "● Mann                             -0.20",
        "├─ .                          ✗    -4.00",
        "● ⟨end⟩                       ✓    -0.30",
        "● the translation  ✓ ended  ✗ dropped",
        "numbers: log p so far",
    ]


def test_branches_of_branches_move_to_the_right() -> None:
    tree = (
        node(-1, "a", 0, -1.0, best=True),
        node(-1, "b", 0, -2.0),
        node(1, "c", 1, -3.0),
        node(1, "d", 1, -4.0),
        node(0, "</s>", 1, -1.5, end=True, best=True),
    )
    assert [line.split("  ")[0] for line in plain(tree)[:4]] == ["├─ b", "│ ├─ d", "│ c", "● a"]


def test_the_marked_way_spells_the_translation() -> None:
    inspected = opened(*PAIRS["english"])
    marked = [line[2:].split("  ")[0] for line in plain(inspected.tree) if line.startswith("● ")]
    assert " ".join(marked[:-1]) == inspected.translation  # the last is the legend


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("width", [24, 40, 80])
def test_no_line_is_wider_than_it_may_be(name: str, width: int) -> None:
    assert all(cell_len(line) <= width for line in plain(opened(*PAIRS[name]).tree, width))


def test_colour_and_nothing() -> None:
    lines = list(render_beam_tree(grown(["▁a", "▁b"]), colour=True))
    assert any("green" in str(span.style) for line in lines for span in line.spans)
    assert plain(()) == ["no search tree"]


def test_no_token_moves_the_cursor() -> None:
    assert r"● a\x1b[31m" in plain((node(-1, "a\x1b[31m", 0, -1.0, best=True),))[0]


@given(
    parents=st.lists(st.integers(-1, 30), max_size=60),
    text=st.text(max_size=12),
    width=st.integers(24, 100),
)
def test_any_tree_is_drawn_once_and_fits(parents: list[int], text: str, width: int) -> None:
    tree: list[BeamNode] = []
    for number, wish in enumerate(parents):
        parent = min(wish, number - 1)
        step = 0 if parent < 0 else tree[parent].step + 1
        tree.append(node(parent, text, step, -1.0 * number))
    assert all(cell_len(line) <= width for line in plain(tuple(tree), width))


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
