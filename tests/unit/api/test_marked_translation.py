"""Texts with tags and placeholders, through a translator."""

from collections.abc import Callable

import pytest

from dragoman.api.marked_translation import MarkedTranslation, tag_links, translate_marked
from dragoman.api.translation import Translation
from dragoman.api.translator import Translator
from dragoman.markup.html import HtmlText
from dragoman.markup.marked import Marked
from dragoman.markup.placeholders import kept_in
from dragoman.text import Tokenizer
from tests.unit.api.table_engine import TableEngine, languages


def kept(text: str) -> Marked:
    return Marked(text, (), kept_in(text))


def answer(source: str, text: str) -> Translation:
    """A translation word by word, whose spaces are as a model writes them."""
    text = " ".join(text.split())
    words = source.split(), text.split()
    links = tuple((place, place) for place in range(min(map(len, words))))
    return Translation(source, text, source_words=tuple(words[0]), target_words=tuple(words[1]), alignment=links)


def translated(marked: list[Marked], translate: Callable[[str], str]) -> tuple[list[Marked], list[str]]:
    work = MarkedTranslation(marked)
    again = work.again([answer(text, translate(text)) for text in work.texts])
    return work.finish([answer(text, translate(text)) for text in again]), again


def test_what_comes_through_whole_is_translated_once():
    found, again = translated([kept("see {name} at https://a.org/b.")], str.upper)
    assert again == ["see  at."]  # capitals damage both
    found, again = translated([kept("see {name} now")], lambda text: text.replace("see", "sieh"))
    assert again == []
    assert found == [Marked("sieh {name} now", (), ((5, 11),))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Hello {name}, how are you?", "HELLO {name}, HOW ARE YOU?"),
        ("{name} is here", "{name} IS HERE"),
        ("Sent by {name}", "SENT BY {name}"),
        ("Stop %s!", "STOP %s!"),
        ("Send (%s) now", "SEND (%s) NOW"),
        ("You have {a} and {b}.", "YOU HAVE {a} AND {b}."),
        ("{a} {b} go", "{a} {b} GO"),
    ],
)
def test_damaged_ones_are_put_back_where_they_stood(source: str, expected: str):
    found, again = translated([kept(source)], str.upper)
    assert len(again) == 1
    assert found[0].text == expected
    assert [found[0].text[a:b] for a, b in found[0].kept] == [source[a:b] for a, b in kept_in(source)]


def test_kept_parts_alone_are_not_translated():
    source = [kept("{a} – https://a.org"), kept("12"), Marked(""), kept("go")]
    assert MarkedTranslation(source).texts == ["go"]
    found, _ = translated(source, str.upper)
    assert found == [*source[:3], Marked("GO")]


def test_tags_and_placeholders_together():
    text = HtmlText.parse("<p>Hi <b>{name}</b>, read <a href='x'>the %s book</a>!</p>")
    found, again = translated(list(text.segments), str.upper)
    assert again == ["Hi, read the  book!"]
    assert text.write(found) == "<p>HI <b>{name}</b>, READ <a href='x'>THE %s BOOK</a>!</p>"


def test_links_of_weights_give_each_source_word_its_share():
    weights = ((0.4, 0.0, 0.6), (0.3, 0.2, 0.5))  # both look at the third word most, the first of them too
    found = Translation("a b c", "x y", source_words=("a", "b", "c"), target_words=("x", "y"), weights=weights)
    assert tag_links(found) == ((0, 0), (1, 1), (2, 0))
    both = Translation("", "", sentences=(found, found))
    assert tag_links(both) == ((0, 0), (1, 1), (2, 0), (3, 2), (4, 3), (5, 2))
    assert tag_links(answer("a b", "c d")) == ((0, 0), (1, 1))
    assert tag_links(Translation("a", "b")) is None


def test_a_translator_does_both_rounds(tokenizers: dict[str, Tokenizer]):
    engine = TableEngine(tokenizers, {"the house": "das Haus", "the house is small": "das Haus ist klein"}, str.lower)
    translator = Translator(engine, languages("en", "de"), tokenizers)
    page = HtmlText.parse("<p>the <b>house</b> is small</p><p>%S the <i>house</i></p>")
    assert page.segments[1].kept == ((0, 2),)
    found = page.write(translate_marked(translator, page.segments))
    assert found == "<p>das <b>Haus</b> ist klein</p><p>%S das <i>Haus</i></p>"
