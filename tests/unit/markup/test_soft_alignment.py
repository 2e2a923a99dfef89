"""Soft alignment by weights and spelling, and the tag projection that uses it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dragoman.markup.soft_alignment import SoftAlignment
from dragoman.markup.tag_projection import project_tags
from dragoman.markup.tagged_text import TaggedText
from tests.unit.markup.tag_notation import parse, render


def align(source: str, target: str, weights: list[list[float]]) -> SoftAlignment:
    return SoftAlignment([(source.split(), target.split(), np.array(weights, dtype=np.float64))])


def projected(source: str, target: str, weights: list[list[float]]) -> str:
    found, names = parse(source)
    words = found.text.split(), target.split()
    return render(
        project_tags(found, *(words[0], target, words[1]), None, shares=align(found.text, target, weights)), names
    )


def test_a_word_with_weight_from_all_words_is_not_linked_to_all():
    found = align("a b c", "x y z", [[0.4, 0.0, 0.6], [0.1, 0.4, 0.5], [0.0, 0.1, 0.9]])
    assert found.links == ((0, 0), (1, 1), (2, 2))


@pytest.mark.parametrize(
    ("source", "target", "place"),
    [("to Ada, now", "jetzt an Ada", 2), ("in 1984 we", "wir uns 1984", 2), ("a hotel x", "Hotels y z", 0)],
)
def test_words_with_equal_spelling_are_linked(source: str, target: str, place: int):
    assert (1, place) in align(source, target, [[1 / 3] * 3] * 3).links


def test_a_tag_gets_the_range_with_most_of_its_words():
    weights = [[0.8, 0.1, 0.1, 0.0], [0.1, 0.3, 0.6, 0.0], [0.0, 0.6, 0.2, 0.2], [0.0, 0.0, 0.1, 0.9]]
    assert projected("see <b>red houses</b> burn", "vois maisons rouges brûler", weights) == (
        "vois <b>maisons rouges</b> brûler"
    )
    assert projected("see <b>red</b> <i>houses</i> burn", "vois maisons rouges brûler", weights) == (
        "vois <i>maisons</i> <b>rouges</b> brûler"
    )
    assert projected("<a>see <b>red</b></a> houses burn", "vois maisons rouges brûler", weights).count("<b>") == 1


def test_a_tag_without_aligned_words_is_empty():
    weights = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert projected("a <b>very</b> dog", "ein Hund", weights) == "ein <b/>Hund"


def test_tags_stay_in_their_sentences():
    flat = np.full((2, 2), 0.5)
    source, names = parse("a b <b>c d</b>")
    shares = SoftAlignment(
        [(["a", "b"], ["w", "x"], flat), ([], ["v"], np.zeros((1, 0))), (["c", "d"], ["y", "z"], flat)]
    )
    assert shares.sizes == (4, 5)
    found = project_tags(source, ["a", "b", "c", "d"], "w x v y z", ["w", "x", "v", "y", "z"], None, shares=shares)
    assert render(found, names) == "w x v <b>y z</b>"


def test_an_alignment_of_other_words_is_ignored():
    source, names = parse("one <b>two</b>")
    found = project_tags(
        source, ["one", "two"], "eins zwei", ["eins", "zwei"], [(1, 1)], shares=align("a", "b", [[1.0]])
    )
    assert render(found, names) == "eins <b>zwei</b>"


@given(st.data())
def test_each_tag_occurs_once_for_any_weights(data: st.DataObject):
    sizes = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    weights = data.draw(arrays(np.float64, sizes, elements=st.floats(0, 1)))
    words = [" ".join("ab"[place % 2] * 5 for place in range(size)) for size in sizes]
    first, last = sorted(data.draw(st.tuples(st.integers(0, len(words[1])), st.integers(0, len(words[1])))))
    source, _ = parse(f"{words[1][:first]}<b>{words[1][first:last]}<i></i></b>{words[1][last:]}")
    shares = SoftAlignment([(words[1].split(), words[0].split(), weights)])
    found: TaggedText = project_tags(source, words[1].split(), words[0] + ".", words[0].split(), None, shares=shares)
    assert sorted(span.tag for span in found.spans) == [0, 1]
    assert found.spans[0].start <= found.spans[1].start <= found.spans[1].end <= found.spans[0].end
