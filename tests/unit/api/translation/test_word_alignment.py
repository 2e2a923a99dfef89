"""Links between words, and words in the place of unknown ones, on maps made by hand."""

import numpy as np
import pytest

from dragoman.api.translation.word_alignment import WordAlignment, replace_unknown, word_alignment

SOURCE = ["▁the", "▁hou", "se", "."]


def test_tokens_are_merged_into_words_and_ends_are_dropped():
    weights = np.array(
        [
            [0.9, 0.1, 0.0, 0.0, 0.0],  # das
            [0.2, 0.3, 0.3, 0.1, 0.1],  # Ha
            [0.0, 0.5, 0.1, 0.4, 0.0],  # us.
            [0.0, 0.0, 0.0, 0.1, 0.9],  # the end
        ]
    )
    found = word_alignment(SOURCE, ["▁das", "▁Ha", "us."], weights)
    assert found.source_words == ("the", "house.")
    assert found.target_words == ("das", "Haus.")
    assert found.weights is not None
    np.testing.assert_allclose(found.weights, [[0.9, 0.1, 0.0], [0.1, 0.85, 0.05], [0.0, 0.1, 0.9]])
    between = found.between_words()
    assert between is not None
    np.testing.assert_allclose(between, [[0.9, 0.1], [0.1, 0.85]])
    assert found.links() == ((0, 0), (1, 1))
    assert found.labels() == (("the", "house.", "</s>"), ("das", "Haus.", "</s>"))


def test_a_word_that_looks_at_the_end_most_has_no_link():
    weights = np.array([[0.3, 0.1, 0.1, 0.0, 0.5], [0.0, 0.0, 0.0, 0.6, 0.4], [0.0, 0.0, 0.0, 0.0, 1.0]])
    assert word_alignment(SOURCE, ["▁ja", "▁Haus"], weights).links() == ((1, 1),)


def test_tokens_of_a_word_count_together():
    """Each token of "house." gets less than "the", all of them more."""
    weights = np.array([[0.4, 0.2, 0.2, 0.2, 0.0]])
    found = word_alignment(SOURCE, ["▁Haus"], weights)
    assert found.links() == ((1, 0),)
    assert found.labels()[1] == ("Haus",), "a translation that did not end has no row of its end"


def test_links_are_in_the_order_of_the_source():
    weights = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert word_alignment(["▁a", "▁b"], ["▁x", "▁y", "▁z"], weights).links() == ((0, 1), (1, 0), (1, 2))


def test_characters_are_the_words_of_chinese():
    weights = np.array([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]])
    found = word_alignment(["▁我们", "好"], ["▁we", "▁good"], weights)
    assert found.source_words == ("我", "们", "好")
    assert found.links() == ((0, 0), (2, 1))


def test_no_map_no_links():
    found = word_alignment(SOURCE, ["▁Haus"], None)
    assert (found.source_words, found.target_words) == (("the", "house."), ("Haus",))
    assert (found.links(), found.between_words()) == (None, None)
    assert found.labels() == (found.source_words, found.target_words)


def test_nothing_and_rows_of_zeros_have_no_links():
    assert word_alignment([], [], np.ones((1, 1))).links() == ()
    assert word_alignment(["▁a"], [], np.array([[0.5, 0.5]])).links() == ()
    assert WordAlignment(("a",), ("b",), np.zeros((1, 2))).links() == ()


@pytest.mark.parametrize(
    ("target", "source", "looks", "expected"),
    [
        (["▁in", "<unk>", "."], ["▁in", "▁Timbuktu", "."], [0, 1, 2], ["▁in", "▁Timbuktu", "."]),
        (["<unk>", "▁ja"], ["▁Timbuktu", "!"], [0, 1], ["▁Timbuktu", "▁ja"]),
        (["▁(", "<unk>", ")"], ["▁(", "Timbuktu", ")"], [0, 1, 2], ["▁(", "Timbuktu", ")"]),
        (["▁in", "<unk>"], ["▁我", "在", "Timbuktu"], [1, 2], ["▁in", "▁Timbuktu"]),
        (["▁在", "<unk>"], ["▁in", "▁(", "Timbuktu"], [0, 2], ["▁在", "Timbuktu"]),
        (["<unk>", "<unk>"], ["▁x", "▁y"], [1, 0], ["▁y", "▁x"]),
        (["<unk>"], ["▁x"], [1], ["▁x"]),  # the end of the source is not a word
        (["<unk>"], [], [0], ["<unk>"]),
    ],
)
def test_unknown_words_are_taken_from_the_source(
    target: list[str], source: list[str], looks: list[int], expected: list[str]
):
    weights = np.eye(len(source) + 1)[[*looks, len(source)]]
    assert replace_unknown(target, source, weights, marks_words=True) == expected


def test_unknown_characters_are_taken_as_they_are():
    assert replace_unknown(["a", "<unk>"], ["x", "é"], np.eye(3)[[0, 1, 2]], marks_words=False) == ["a", "é"]
