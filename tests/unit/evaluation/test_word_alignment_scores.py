"""The alignment error rate: cases computed by hand, and what must hold for all."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dragoman.errors import DataError
from dragoman.evaluation.word_alignment import GoldLinks, score_alignment

LINKS = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12)
GOLD = st.builds(GoldLinks, LINKS, LINKS)
CORPUS = st.lists(st.tuples(LINKS, GOLD), min_size=1, max_size=4)


def test_by_hand():
    """Of 4 links 2 are sure, 3 possible; of 3 sure ones 2 are found: 1 - (2 + 3) / (4 + 3)."""
    gold = GoldLinks(frozenset({(0, 0), (1, 1), (2, 2)}), frozenset({(1, 2)}))
    found = score_alignment([[(0, 0), (1, 1), (1, 2), (3, 3)]], [gold])
    assert found.aer == pytest.approx(2 / 7)
    assert (found.precision, found.recall) == (3 / 4, 2 / 3)
    assert found.f1 == pytest.approx(2 * (3 / 4) * (2 / 3) / (3 / 4 + 2 / 3))
    assert (found.found, found.sure, found.possible, found.found_sure, found.found_possible) == (4, 3, 4, 2, 3)
    assert found.to_json()["aer"] == found.aer


def test_a_set_is_summed_not_averaged():
    """3 of 3 in one pair, 0 of 1 in another: a quarter is wrong, not a half."""
    gold = [GoldLinks(frozenset({(0, 0), (1, 1), (2, 2)})), GoldLinks(frozenset({(0, 0)}))]
    found = score_alignment([[(0, 0), (1, 1), (2, 2)], [(1, 0)]], gold)
    assert (found.aer, found.precision, found.recall, found.f1) == (0.25, 0.75, 0.75, 0.75)


def test_nothing():
    assert score_alignment([[]], [GoldLinks(frozenset({(0, 0)}))]).aer == 1
    assert score_alignment([[(0, 0)]], [GoldLinks()]).aer == 1
    empty = score_alignment([[]], [GoldLinks()])
    assert (empty.aer, empty.precision, empty.recall, empty.f1) == (0, 1, 1, 1)


def test_a_link_that_is_found_twice_counts_once():
    assert score_alignment([[(0, 0), (0, 0)]], [GoldLinks(frozenset({(0, 0)}))]).found == 1


@pytest.mark.parametrize(("found", "gold"), [([], []), ([()], []), ([()], [GoldLinks(), GoldLinks()])])
def test_as_many_as_there_are_gold_ones(found: list[tuple[tuple[int, int], ...]], gold: list[GoldLinks]):
    with pytest.raises(DataError, match="must have the same number of sentence pairs"):
        score_alignment(found, gold)


@given(st.lists(GOLD, min_size=1, max_size=4))
def test_perfect_is_zero(gold: list[GoldLinks]):
    for found in ([each.sure for each in gold], [each.possible for each in gold]):
        assert score_alignment(found, gold).aer == 0


@given(CORPUS)
def test_from_zero_to_one(corpus: list[tuple[frozenset[tuple[int, int]], GoldLinks]]):
    found = score_alignment(*zip(*corpus, strict=True))
    assert all(0 <= value <= 1 for value in (found.aer, found.precision, found.recall, found.f1))


@given(CORPUS)
def test_sure_only_is_one_less_f1(corpus: list[tuple[frozenset[tuple[int, int]], GoldLinks]]):
    found, gold = zip(*corpus, strict=True)
    assume(any(found) and any(each.sure for each in gold))
    error = score_alignment(found, [GoldLinks(each.sure) for each in gold])
    assert error.aer == pytest.approx(1 - error.f1)


@given(CORPUS, st.data())
def test_a_possible_link_more_never_hurts_precision(
    corpus: list[tuple[frozenset[tuple[int, int]], GoldLinks]], data: st.DataObject
):
    found, gold = map(list, zip(*corpus, strict=True))
    place = data.draw(st.integers(0, len(gold) - 1))
    extra = sorted(gold[place].possible - gold[place].sure)
    assume(extra)
    before = score_alignment(found, gold)
    found[place] = found[place] | {data.draw(st.sampled_from(extra))}
    after = score_alignment(found, gold)
    assert after.precision >= before.precision
    assert after.recall == before.recall
    assert after.aer <= before.aer


@given(CORPUS)
def test_the_same_from_the_other_side(corpus: list[tuple[frozenset[tuple[int, int]], GoldLinks]]):
    found, gold = zip(*corpus, strict=True)
    other = [[(target, source) for source, target in each] for each in found]
    assert score_alignment(found, gold) == score_alignment(other, [each.swapped() for each in gold])
