"""Links out of maps and out of two directions: known examples, and a slow reading of the published pseudo-code."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluation.word_alignment import (
    SYMMETRIZATIONS,
    argmax_links,
    grow_diag,
    grow_diag_final,
    grow_diag_final_and,
    intersection,
    mutual_links,
    product_links,
    swapped,
    union,
)

Pairs = Collection[tuple[int, int]]

SIZE = 6
LINKS = st.frozensets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=14)
NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def literal_grow_diag(forward: Pairs, backward: Pairs) -> set[tuple[int, int]]:
    """GROW-DIAG as it is printed: over all English (target) and foreign (source) words, until nothing is added."""
    aligned = set(forward) & set(backward)
    both = set(forward) | set(backward)
    while True:
        before = len(aligned)
        for e in range(SIZE):
            for f in range(SIZE):
                if (f, e) not in aligned:
                    continue
                for step_e, step_f in NEIGHBOURS:
                    e_new, f_new = e + step_e, f + step_f
                    e_free = all(target != e_new for _, target in aligned)
                    f_free = all(source != f_new for source, _ in aligned)
                    if (e_free or f_free) and (f_new, e_new) in both:
                        aligned.add((f_new, e_new))
        if len(aligned) == before:
            return aligned


def literal_final(aligned: set[tuple[int, int]], direction: Pairs, *, both_free: bool) -> None:
    for e_new in range(SIZE):
        for f_new in range(SIZE):
            e_free = all(target != e_new for _, target in aligned)
            f_free = all(source != f_new for source, _ in aligned)
            free = e_free and f_free if both_free else e_free or f_free
            if free and (f_new, e_new) in direction:
                aligned.add((f_new, e_new))


@given(LINKS, LINKS)
def test_as_the_pseudo_code_has_it(forward: Pairs, backward: Pairs):
    assert grow_diag(forward, backward) == tuple(sorted(literal_grow_diag(forward, backward)))
    for function, both_free in ((grow_diag_final, False), (grow_diag_final_and, True)):
        expected = literal_grow_diag(forward, backward)
        for direction in (forward, backward):
            literal_final(expected, direction, both_free=both_free)
        assert function(forward, backward) == tuple(sorted(expected))


@given(LINKS, LINKS)
def test_each_is_a_part_of_the_next(forward: Pairs, backward: Pairs):
    found = {name: set(function(forward, backward)) for name, function in SYMMETRIZATIONS.items()}
    for name in ("grow-diag-final", "grow-diag-final-and"):
        assert found["intersection"] <= found["grow-diag"] <= found[name] <= found["union"]
    assert found["intersection"] == set(forward) & set(backward)
    assert found["union"] == set(forward) | set(backward)


@given(LINKS, st.sampled_from(sorted(SYMMETRIZATIONS)))
def test_directions_that_agree_stay_as_they_are(links: Pairs, name: str):
    assert SYMMETRIZATIONS[name](links, links) == tuple(sorted(links))


def test_an_example_by_hand():
    """(1, 1) adds its neighbour (1, 2), which links target 2; (4, 4) has no neighbour that is linked."""
    forward, backward = [(0, 0), (1, 1), (1, 2), (4, 4), (0, 5)], [(0, 0), (1, 1), (5, 5)]
    assert intersection(forward, backward) == ((0, 0), (1, 1))
    assert union(forward, backward) == ((0, 0), (0, 5), (1, 1), (1, 2), (4, 4), (5, 5))
    assert grow_diag(forward, backward) == ((0, 0), (1, 1), (1, 2))
    assert grow_diag_final_and(forward, backward) == ((0, 0), (1, 1), (1, 2), (4, 4), (5, 5))
    assert grow_diag_final(forward, backward) == ((0, 0), (0, 5), (1, 1), (1, 2), (4, 4), (5, 5))


def test_forward_links_come_first():
    """Both links share source word 3; the forward link is added first and excludes the other."""
    assert grow_diag_final_and([(3, 0)], [(3, 5)]) == ((3, 0),)
    assert grow_diag_final_and([(3, 5)], [(3, 0)]) == ((3, 5),)


WEIGHTS = np.array([[0.6, 0.3, 0.1], [0.5, 0.45, 0.05], [0.1, 0.2, 0.7]])  # [tgt, src + 1]


def test_argmax():
    assert argmax_links(WEIGHTS) == ((0, 0), (0, 1), (2, 2))
    assert argmax_links(WEIGHTS, 2) == ((0, 0), (0, 1)), "the third has its largest weight on the end"
    assert argmax_links(WEIGHTS[:, :2]) == ((0, 0), (0, 1), (1, 2)), "without the end"
    assert argmax_links(np.zeros((2, 2))) == ()
    assert argmax_links(np.zeros((0, 3))) == argmax_links(np.zeros((3, 0))) == ()
    assert argmax_links(np.array([[0.5, 0.5]])) == ((0, 0),)


def test_mutual():
    """Target word 1 has the largest weight on source word 1, but a larger one on word 0."""
    assert mutual_links(WEIGHTS[:2, :2]) == ((0, 0),)
    assert mutual_links(np.eye(3)) == ((0, 0), (1, 1), (2, 2))
    assert mutual_links(np.zeros((0, 2))) == ()


def test_product():
    forward = np.array([[0.6, 0.4], [0.5, 0.4]])
    backward = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert argmax_links(forward) == ((0, 0), (0, 1))
    assert product_links(forward, backward) == ((0, 0), (1, 1)), "the other direction decides"


@pytest.mark.parametrize("links", [[], [(0, 1), (2, 0)]])
def test_swapped(links: list[tuple[int, int]]):
    assert set(swapped(swapped(links))) == set(links)
