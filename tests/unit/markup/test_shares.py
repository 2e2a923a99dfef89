"""Shares of words, by weights and spelling; and tags that follow them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dragoman.markup.marked import Marked
from dragoman.markup.projection import project
from dragoman.markup.shares import Shares
from tests.unit.markup.tagged import marked, tagged


def of(source: str, target: str, weights: list[list[float]]) -> Shares:
    return Shares([(source.split(), target.split(), np.array(weights, dtype=np.float64))])


def projected(source: str, target: str, weights: list[list[float]]) -> str:
    found, names = marked(source)
    words = found.text.split(), target.split()
    return tagged(project(found, *(words[0], target, words[1]), None, shares=of(found.text, target, weights)), names)


def test_a_word_that_all_look_at_does_not_win_everywhere():
    found = of("a b c", "x y z", [[0.4, 0.0, 0.6], [0.1, 0.4, 0.5], [0.0, 0.1, 0.9]])
    assert found.links == ((0, 0), (1, 1), (2, 2))


@pytest.mark.parametrize(
    ("source", "target", "place"),
    [("to Ada, now", "jetzt an Ada", 2), ("in 1984 we", "wir uns 1984", 2), ("a hotel x", "Hotels y z", 0)],
)
def test_words_that_are_spelt_alike_go_together(source: str, target: str, place: int):
    assert (1, place) in of(source, target, [[1 / 3] * 3] * 3).links


def test_a_tag_becomes_the_stretch_that_has_most_of_its_words():
    weights = [[0.8, 0.1, 0.1, 0.0], [0.1, 0.3, 0.6, 0.0], [0.0, 0.6, 0.2, 0.2], [0.0, 0.0, 0.1, 0.9]]
    assert projected("see <b>red houses</b> burn", "vois maisons rouges brûler", weights) == (
        "vois <b>maisons rouges</b> brûler"
    )
    assert projected("see <b>red</b> <i>houses</i> burn", "vois maisons rouges brûler", weights) == (
        "vois <i>maisons</i> <b>rouges</b> brûler"
    )
    assert projected("<a>see <b>red</b></a> houses burn", "vois maisons rouges brûler", weights).count("<b>") == 1


def test_a_tag_whose_words_nobody_looked_at_holds_nothing():
    weights = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert projected("a <b>very</b> dog", "ein Hund", weights) == "ein <b/>Hund"


def test_tags_stay_in_their_sentences():
    flat = np.full((2, 2), 0.5)
    source, names = marked("a b <b>c d</b>")
    shares = Shares([(["a", "b"], ["w", "x"], flat), ([], ["v"], np.zeros((1, 0))), (["c", "d"], ["y", "z"], flat)])
    assert shares.sizes == (4, 5)
    found = project(source, ["a", "b", "c", "d"], "w x v y z", ["w", "x", "v", "y", "z"], None, shares=shares)
    assert tagged(found, names) == "w x v <b>y z</b>"


def test_shares_of_other_words_are_left_aside():
    source, names = marked("one <b>two</b>")
    found = project(source, ["one", "two"], "eins zwei", ["eins", "zwei"], [(1, 1)], shares=of("a", "b", [[1.0]]))
    assert tagged(found, names) == "eins <b>zwei</b>"


@given(st.data())
def test_any_weights_give_each_tag_once(data: st.DataObject):
    sizes = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    weights = data.draw(arrays(np.float64, sizes, elements=st.floats(0, 1)))
    words = [" ".join("ab"[place % 2] * 5 for place in range(size)) for size in sizes]
    first, last = sorted(data.draw(st.tuples(st.integers(0, len(words[1])), st.integers(0, len(words[1])))))
    source, _ = marked(f"{words[1][:first]}<b>{words[1][first:last]}<i></i></b>{words[1][last:]}")
    shares = Shares([(words[1].split(), words[0].split(), weights)])
    found: Marked = project(source, words[1].split(), words[0] + ".", words[0].split(), None, shares=shares)
    assert sorted(span.tag for span in found.spans) == [0, 1]
    assert found.spans[0].start <= found.spans[1].start <= found.spans[1].end <= found.spans[0].end
