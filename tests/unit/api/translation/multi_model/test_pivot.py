"""Composed translations: links are chained, weights multiplied, flags concatenated."""

import numpy as np
import pytest

from dragoman.api.translation.multi_model.pivot import carry_terms, compose, compose_text, join_prepared
from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.prepared_text import Chunk, PreparedText
from dragoman.api.translation.translation import Translation
from dragoman.evaluation.quality_flags import Flag
from dragoman.text.glossary import Glossary

FIRST = Translation(
    "ein Haus",
    "a house",
    score=-1.0,
    log_prob=-2.0,
    source_words=("ein", "Haus"),
    target_words=("a", "house"),
    alignment=((0, 0), (1, 1)),
    weights=((0.9, 0.1), (0.2, 0.8)),
    flags=(Flag("copied", ""),),
)
SECOND = Translation(
    "a house",
    "maison une",
    score=-0.5,
    log_prob=-3.0,
    source_words=("a", "house"),
    target_words=("maison", "une"),
    alignment=((0, 1), (1, 0)),
    weights=((0.0, 1.0), (1.0, 0.0)),
    flags=(Flag("empty", ""),),
    is_truncated=True,
)


def test_links_and_weights_go_through_the_middle():
    found = compose(FIRST, SECOND)
    assert (found.source, found.text) == ("ein Haus", "maison une")
    assert found.alignment == ((0, 1), (1, 0))
    assert np.asarray(found.weights) == pytest.approx(np.array([[0.2, 0.8], [0.9, 0.1]]))
    assert found.source_words == ("ein", "Haus")
    assert found.log_prob == -5
    assert [flag.name for flag in found.flags or ()] == ["copied", "empty"]
    assert found.is_truncated


def test_words_that_are_cut_otherwise_are_bridged():
    second = Translation(
        "a house",
        "x",
        source_words=("a", "hou", "se"),
        target_words=("x",),
        alignment=((1, 0),),
        weights=((0, 0.5, 0),),
    )
    found = compose(FIRST, second)
    assert found.alignment == ((1, 0),)
    assert np.asarray(found.weights) == pytest.approx(np.array([[0.1, 0.4]]))


def test_where_the_middle_differs_there_are_no_links():
    second = Translation("a home", "x", source_words=("a", "home"), target_words=("x",), alignment=((0, 0),))
    assert compose(FIRST, second).alignment is None


def test_what_was_not_asked_for_is_not_there():
    found = compose(Translation("a", "b"), Translation("b", "c"))
    assert (found.alignment, found.weights, found.flags, found.nbest) == (None, None, None, ())


def test_alternatives_are_those_of_the_second():
    second = Translation(**{**vars(SECOND), "nbest": (SECOND, SECOND)})
    found = compose(FIRST, second)
    assert [each.source for each in found.nbest] == ["ein Haus"] * 2
    assert found.nbest[1].alignment == found.alignment
    assert (found.nbest[1].score, found.nbest[1].log_prob) == (found.score, found.log_prob)


def test_a_text_is_put_together_as_its_source_is():
    options = TranslateOptions()
    first = PreparedText("one\ntwo. 1", [Chunk("one", "\n"), Chunk("two.", " "), Chunk("1")], options, ("en", "zh"))
    sentences = [Translation("one", "一"), Translation("two.", "二。"), Translation("1", "1")]
    second = [Translation("一", "eins"), Translation("二。", "zwei."), Translation("1", "1")]
    assert compose_text(first, sentences, second, "de").text == "eins\nzwei. 1"
    assert compose_text(first, sentences, second, "de").sentences[1].source == "two."
    prepared = [PreparedText(each.text, [Chunk(each.text)], options, ("zh", "de")) for each in sentences]
    whole = join_prepared(first, prepared)
    assert [(chunk.source, chunk.after) for chunk in whole.chunks] == [("一", "\n"), ("二。", " "), ("1", "")]
    assert whole.languages == ("en", "de")


def test_terms_are_carried_to_the_linked_pivot_words():
    glossary = Glossary.from_dict({"maison": "Haus", "chien noir": None, "rouge": "rot"})
    first = Translation(
        "la maison rouge du chien noir",
        "the red house, of the black dog",
        source_words=("la", "maison", "rouge", "du", "chien", "noir"),
        target_words=("the", "red", "house,", "of", "the", "black", "dog"),
        alignment=((0, 0), (1, 2), (4, 6), (5, 5)),
    )
    found = [(each.source, each.target, first.text[each.start : each.end]) for each in carry_terms(glossary, first)]

    assert found == [
        ("house", "Haus", "house"),
        ("house", "rot", "house"),  # without a link: the word at the same relative position
        ("black dog", "chien noir", "black dog"),
    ]
    assert [each.target for each in carry_terms(glossary, Translation("maison", ""))] == ["Haus"]
    assert carry_terms(glossary, Translation("chat", "cat")) == []
