"""The markup benchmark on few cases: its counts, and that good links score better than bad ones."""

import pytest

from benchmarks.markup import Case, Sentence, best_gold, cases, pages, projected, scored, updated
from dragoman.evaluation.word_alignment import GoldLinks
from dragoman.markup.html_text import HtmlText
from dragoman.markup.tagged_text import TaggedText, TagSpan

LENGTH = 9


def sentence(letter: str) -> str:
    return " ".join(f"{letter}{place}" for place in range(LENGTH))


def mirrored() -> Sentence:
    """A language with reversed word order."""
    gold = GoldLinks(frozenset((place, LENGTH - 1 - place) for place in range(LENGTH)))
    return sentence("a"), tuple(sentence("b").split()), gold


def test_gold_links_put_every_tag_on_its_words():
    some = cases([mirrored()], 40)
    assert any(len(case.tagged.spans) > 1 for case in some)
    assert any(span.depth for case in some for span in case.tagged.spans)
    found = scored(some, [best_gold(case.gold) for case in some])
    assert {found[name] for name in ("well_formed", "precision", "recall", "on_words", "exact", "decisions")} == {1.0}


def test_wrong_links_are_seen():
    some = cases([mirrored()], 40)
    found = scored(some, [tuple((place, place) for place in range(LENGTH))] * len(some))
    assert found["well_formed"] == 1.0
    assert max(found["precision"], found["recall"], found["on_words"], found["exact"]) < 0.5


def test_figures_are_those_of_the_page():
    gold = GoldLinks(frozenset({(0, 0), (1, 1), (2, 2)}))
    case = Case(TaggedText("a b c", (TagSpan(0, 3, 0),)), ("x", "y", "z"), "x y z", gold, 0)
    assert case.source_words(case.tagged.spans[0]) == case.held_words(TagSpan(0, 3, 0)) == {0, 1}
    assert projected(case, ((0, 0), (2, 1))) == TaggedText("x y z", (TagSpan(0, 1, 0),))
    found = scored([case], [((0, 0), (2, 1))])
    assert (found["precision"], found["recall"], found["exact"], found["on_words"]) == (1.0, 0.5, 0.0, 1.0)
    assert found["decisions"] == pytest.approx(2 / 3)


def test_pages_hold_tags_and_what_must_be_kept():
    segments = [
        each
        for page in pages(["Two dogs run in the snow .", "A man sleeps ."], 30)
        for each in HtmlText.parse(page).segments
    ]
    assert sum(bool(each.kept) for each in segments) > 5
    assert sum(len(each.spans) for each in segments) > 30
    assert any(span.depth for each in segments for span in each.spans)


def test_a_chinese_word_is_held_by_the_tag_that_has_half_of_it():
    gold = GoldLinks(frozenset({(0, 0), (1, 1)}))
    case = Case(TaggedText("big house", (TagSpan(0, 3, 0),)), ("大", "房子"), "大房子", gold, 0)
    assert case.held_words(TagSpan(0, 1, 0)) == {0}
    assert case.held_words(TagSpan(0, 2, 0)) == {0, 1}
    assert scored([case], [((0, 0), (1, 1))])["exact"] == 1.0


def test_rows_of_a_model_that_is_not_given_stay():
    kept = {"gold": 1, "served": 2}
    assert updated(kept, {"gold": 3}, is_pair=True) == {"gold": 3, "served": 2}
    assert updated({}, {"gold": 3, "served": 4}, is_pair=False) == {"served": 4}
