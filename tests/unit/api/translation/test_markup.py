"""Texts with tags and placeholders, through a translator."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from dragoman.api.translation.markup import MarkupTranslation, shares_of, translate_markup
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.markup.html_text import HtmlText
from dragoman.markup.protected_spans import find_placeholders, find_unreadable
from dragoman.markup.tagged_text import TaggedText, TagSpan
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
        ("Hello {a} {b}", "Oi", "Oi {a} {b}"),
        ("Hello {a}{b}", "Oi", "Oi {a}{b}"),
        ("Hello {a} :smile: @me", "Oi", "Oi {a} :smile: @me"),
        ("http://x.org/a, b", "Und", "http://x.org/a, Und"),
        ("\u8bbf\u95eehttp://x.org/\u5427", "Visit it", "Visit http://x.org/ it"),
    ],
)
def test_they_stand_before_the_same_punctuation_and_touch_no_letters(source: str, text: str, expected: str):
    work = MarkupTranslation([kept(source)])
    again = work.second_round([answer_without_links(each, "damaged") for each in work.texts])
    found = work.finish([answer_without_links(each, text) for each in again])
    assert found[0].text == expected


def test_a_placeholder_stays_behind_the_comma_before_it():
    work = MarkupTranslation([kept("Welcome, {first} {last}!")])
    again = work.second_round([answer(each, "damaged") for each in work.texts])
    assert again == ["Welcome, !"]
    (found,) = work.finish([answer(each, "Bem-vindo, !") for each in again])
    assert found.text == "Bem-vindo, {first} {last}!"


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


def test_a_text_whose_placeholders_cannot_be_kept_is_returned_unchanged_and_named():
    source = [kept("the {name} house"), kept("go"), kept("see %s now")]
    work = MarkupTranslation(source)
    again = work.second_round([answer(text, text.replace("{name}", "{nome}").upper()) for text in work.texts])
    found = work.finish([answer(text, f"{text} %d" if "house" in text else text.upper()) for text in again])
    assert found == [source[0], TaggedText("GO"), kept("SEE %s NOW")]
    assert work.damaged == {0: "new %d"}


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
    found = page.write(translate_markup(translator, page.segments).texts)
    assert found == "<p>das <b>Haus</b> ist klein</p><p>%S das <i>Haus</i></p>"


def test_translate_guards_by_default(tokenizers: dict[str, Tokenizer]):
    table = {"the house": "das Haus", "the small house": "das kleine Haus 1 {x}"}
    translator = Translator(TableEngine(tokenizers, table, str.lower), languages("en", "de"), tokenizers)
    texts = ["the house", "%S the house", "the small %X house"]
    plain, repaired, marked = translator.translate(texts)
    assert (plain.text, repaired.text) == ("das Haus", "%S das Haus")
    assert (plain.damage, repaired.damage, repaired.flags) == (None, None, None)
    assert (marked.text, marked.damage) == ("the small %X house", "new {x}")
    assert [translator.translate(text) for text in texts] == [plain, repaired, marked], "alone as together"
    assert list(translator.translate_stream("%S the house")) == ["%S das Haus"]
    assert translator.translate("the house", protect=False) == plain
    assert translator.translate("%S the house", protect=False).text == "%s the house"


def test_an_icu_message_with_a_prefix_is_left_and_marked(tokenizers: dict[str, Tokenizer]):
    translator = Translator(TableEngine(tokenizers, {}, str.lower), languages("en", "de"), tokenizers)
    for text in ("{n, plural, one {# file} other {# files}}", "{n, plural, one {a}"):
        found = translator.translate(text, prefix="das")
        assert (found.text, found.damage) == (text, "an ICU message with a prefix")


def test_tags_and_alternatives_of_plain_text(tokenizers: dict[str, Tokenizer]):
    engine = TableEngine(tokenizers, {"the house": "das Haus"}, str.lower)
    translator = Translator(engine, languages("en", "de"), tokenizers)
    found = translator.translate("the <0>house</0>", nbest=2, alignment=True)
    assert found.text == "das <0>Haus</0>"
    assert found.source == "the <0>house</0>"
    assert all("<0>" in each.text and "</0>" in each.text for each in found.nbest)
    assert found.alignment is not None
    broken = translator.translate("{n, plural, one {a}", flags=True)
    assert [flag.name for flag in broken.flags or ()] == ["placeholders"]


def test_what_a_model_cannot_read_is_kept_but_does_not_stop_the_translation():
    def unreadable(text: str) -> tuple[tuple[int, int], ...]:
        return find_unreadable(text, str.isascii)

    work = MarkupTranslation(
        [TaggedText("Go to Łódź"), TaggedText("東京"), TaggedText("a {x} €", kept=((2, 5),))], unreadable
    )
    assert work.texts == ["Go to Łódź", "a {x} €"], "a text without a readable letter is not translated"
    again = work.second_round([answer("", "VAI A LODZ"), answer("", "A {x}")])
    assert again == ["Go to", "a"]
    done = work.finish([answer("Go to", "VAI A"), answer("a", "A")])
    assert [each.text for each in done] == ["VAI A Łódź", "東京", "A {x} €"]
    assert not work.damaged


def test_what_a_model_cannot_read_beside_placeholders_and_tags():
    def unreadable(text: str) -> tuple[tuple[int, int], ...]:
        return find_unreadable(text, lambda each: each.isascii() and each not in "{}")

    source = TaggedText("give £{x} to Łu and Łó", (TagSpan(14, 15, 0),), ((6, 9),))
    work = MarkupTranslation([source], unreadable)
    assert work.second_round([answer("", "")]) == ["give  to Łu and"], "a word is not cut at the edge of a tag"
    assert "£{x}" in work.finish([answer("give to Łu and", "A B C D")])[0].text


def test_spaces_between_placeholders_stay():
    found, again = translated([kept("from {x} {y}")], lambda text: "von")
    assert (found[0].text, again) == ("von {x} {y}", ["from"])


def test_an_empty_translation_leaves_the_text():
    work = MarkupTranslation([kept("one two"), kept("a\\nb")])
    work.second_round([answer(text, "" if text != "a" else "A") for text in work.texts])
    assert [each.text for each in work.finish([])] == ["one two", "a\\nb"]
    assert work.damaged == {0: "an empty translation", 1: "an empty translation"}
