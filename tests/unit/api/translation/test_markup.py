"""Texts with tags and placeholders, through a translator."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from dragoman.api.translation.markup import MarkupTranslation, shares_of, translate_markup
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.markup.html_text import HtmlText
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tagged_text import TaggedText
from dragoman.text import Tokenizer
from tests.unit.api.table_engine import TableEngine, languages


def kept(text: str) -> TaggedText:
    return TaggedText(text, (), find_placeholders(text))


def answer(source: str, text: str) -> Translation:
    """A translation word by word, whose spaces are as a model writes them."""
    text = " ".join(text.split())
    words = source.split(), text.split()
    links = tuple((place, place) for place in range(min(map(len, words))))
    return Translation(source, text, source_words=tuple(words[0]), target_words=tuple(words[1]), alignment=links)


def translated(marked: list[TaggedText], translate: Callable[[str], str]) -> tuple[list[TaggedText], list[str]]:
    work = MarkupTranslation(marked)
    again = work.second_round([answer(text, translate(text)) for text in work.texts])
    return work.finish([answer(text, translate(text)) for text in again]), again


def test_what_comes_through_whole_is_translated_once():
    found, again = translated([kept("see {name} at https://a.org/b.")], str.upper)
    assert again == ["see  at."]  # capitals damage both
    found, again = translated([kept("see {name} now")], lambda text: text.replace("see", "sieh"))
    assert again == []
    assert found == [TaggedText("sieh {name} now", (), ((5, 11),))]


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
        ("https://a.org/b: look here", "https://a.org/b: LOOK HERE"),
        ('Say "{name}." again', 'SAY "{name}." AGAIN'),
        ('"{a}"{b}" go', '"{a}"{b}" GO'),
    ],
)
def test_damaged_ones_are_put_back_where_they_stood(source: str, expected: str):
    found, again = translated([kept(source)], str.upper)
    assert len(again) == 1
    assert found[0].text == expected
    assert [found[0].text[a:b] for a, b in found[0].kept] == [source[a:b] for a, b in find_placeholders(source)]


def answer_without_links(source: str, text: str) -> Translation:
    return replace(answer(source, text), alignment=((0, 0),))


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("Go to http://x.org/?a=b.", "Geh.", "Geh http://x.org/?a=b."),
        ("Go to {name}. Then stop.", "Geh. Dann halt.", "Geh {name}. Dann halt."),
        ("The {name}'s dog", "Der Hund", "Der {name} Hund"),
        ("Welcome, {name}!", "Bem-vindo,!", "Bem-vindo, {name}!"),
        ("Welcome, {name}!", "Bem-vindo!", "Bem-vindo {name}!"),
        ("Well... {name}!", "Bem...!", "Bem... {name}!"),
        ("Well... {name}.", "Bem....", "Bem... {name}."),
        ("Welcome, {n}!", "Willkommen!!!", "Willkommen {n}!!!"),
        ("Welcome, {n}!", "Willkommen,!!!", "Willkommen, {n}!!!"),
        ("Welcome, {name}?!", "Bem-vindo,?!", "Bem-vindo, {name}?!"),
        ("http://x.org/a, b", "Und", "http://x.org/a, Und"),
        ("\u8bbf\u95eehttp://x.org/\u5427", "Visit it", "Visit http://x.org/ it"),
    ],
)
def test_they_stand_before_the_same_punctuation_and_touch_no_letters(source: str, text: str, expected: str):
    work = MarkupTranslation([kept(source)])
    again = work.second_round([answer_without_links(each, "damaged") for each in work.texts])
    found = work.finish([answer_without_links(each, text) for each in again])
    assert found[0].text == expected


def test_an_address_that_letters_touch_is_damaged():
    work = MarkupTranslation([kept("see http://x.org/a now")])
    assert work.second_round([answer(work.texts[0], "sieh http://x.org/ajetzt")]) == ["see  now"]


def test_kept_parts_alone_are_not_translated():
    source = [kept("{a} – https://a.org"), kept("12"), TaggedText(""), kept("go")]
    assert MarkupTranslation(source).texts == ["go"]
    found, _ = translated(source, str.upper)
    assert found == [*source[:3], TaggedText("GO")]


def test_tags_and_placeholders_together():
    text = HtmlText.parse("<p>Hi <b>{name}</b>, read <a href='x'>the %s book</a>!</p>")
    found, again = translated(list(text.segments), str.upper)
    assert again == ["Hi, read the  book!"]
    assert text.write(found) == "<p>HI <b>{name}</b>, READ <a href='x'>THE %s BOOK</a>!</p>"


def of_weights(source: str, text: str, weights: tuple[tuple[float, ...], ...]) -> Translation:
    words = tuple(source.split()), tuple(text.split())
    return Translation(source, text, source_words=words[0], target_words=words[1], weights=weights)


def test_tags_follow_weights_sentence_by_sentence():
    one = of_weights("a b", "x y", ((0.1, 0.9), (0.9, 0.1)))
    other = answer("c d", "z w")  # has links only
    none = Translation("7", "7", source_words=("7",), target_words=("7",))
    found = shares_of(Translation("", "", sentences=(one, other, none)))
    assert found is not None
    assert found.links == ((0, 1), (1, 0), (2, 2), (3, 3), (4, 4))
    assert shares_of(answer("a b", "c d")) is None


def test_weights_of_another_size_are_left_aside():
    found = shares_of(of_weights("a b", "x b", ((1.0,),)))
    assert found is not None
    assert found.links == ((1, 1),)  # it is spelt alike


def test_a_translator_does_both_rounds(tokenizers: dict[str, Tokenizer]):
    engine = TableEngine(tokenizers, {"the house": "das Haus", "the house is small": "das Haus ist klein"}, str.lower)
    translator = Translator(engine, languages("en", "de"), tokenizers)
    page = HtmlText.parse("<p>the <b>house</b> is small</p><p>%S the <i>house</i></p>")
    assert page.segments[1].kept == ((0, 2),)
    found = page.write(translate_markup(translator, page.segments))
    assert found == "<p>das <b>Haus</b> ist klein</p><p>%S das <i>Haus</i></p>"
