"""Projection of tags: examples, and properties of any text, tags and links."""

import random
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dragoman.markup.tag_projection import project_tags
from dragoman.markup.tagged_text import TaggedText, TagSpan, parent_indices
from tests.unit.markup.tag_notation import parse, projected, render

CASES = {
    "words change places": (
        "I see the <b>red house</b>.",
        "Je vois la maison rouge.",
        "0-0 1-1 2-2 3-4 4-3",
        "Je vois la <b>maison rouge</b>.",
    ),
    "nested": ("the <a>red <i>house</i></a> burns", "das rote Haus brennt", "", "das <a>rote <i>Haus</i></a> brennt"),
    "tags change places": ("<b>red</b> <i>house</i>", "maison rouge", "0-1 1-0", "<i>maison</i> <b>rouge</b>"),
    "around all": ("<p>I see it.</p>", "Das sehe ich alles.", "0-2", "<p>Das sehe ich alles.</p>"),
    "its punctuation": (
        "Go <b>home!</b> Now.",
        "Geh nach Hause! Jetzt.",
        "0-0 1-2 2-3",
        "Geh nach <b>Hause!</b> Jetzt.",
    ),
    "punctuation of others": ("the <b>end</b>, then", "das Ende, dann", "", "das <b>Ende</b>, dann"),
    "quotation marks": ("he says “<b>no</b>” now", "er sagt „nein“ jetzt", "", "er sagt „<b>nein</b>“ jetzt"),
    "an outlier": (
        "<b>one two</b> three four five six",
        "eins zwei drei vier fünf eins",
        "0-0 1-1 2-2 3-3 4-4 0-5",
        "<b>eins zwei</b> drei vier fünf eins",
    ),
    "words without a link are filled in": (
        "<b>New York</b> is",
        "New von York ist",
        "0-0 1-2 2-3",
        "<b>New von York</b> ist",
    ),
    "no word is linked": ("a <b>very</b> big dog", "ein großer Hund", "0-0 2-1 3-2", "ein <b/>großer Hund"),
    "only its word has no link": ("a <b>big</b> dog", "ein großer Hund", "0-0 2-2", "ein <b>großer</b> Hund"),
    "part of a word": ("H<sub>2</sub>O is water", "Wasser ist H2O", "0-2 1-1 2-0", "Wasser ist H<sub>2</sub>O"),
    "part of a word that changes": ("un<b>real</b> world", "unwirkliche Welt", "", "<b>unwirkliche</b> Welt"),
    "a line break": ("one two <br/>three", "eins zwei drei", "", "eins zwei <br/>drei"),
    "a picture before its word": (
        "see the <img/>dog run",
        "Hund sieht man laufen",
        "0-1 1-2 2-0 3-3",
        "<img/>Hund sieht man laufen",
    ),
    "a picture behind its word": (
        "see the dog<img/> run",
        "Hund sieht man laufen",
        "0-1 1-2 2-0 3-3",
        "Hund<img/> sieht man laufen",
    ),
    "between spaces": ("use the <x/> tool", "nutze das Gerät", "0-0 1-1 2-2", "nutze das <x/> Gerät"),
    "at the beginning": ("<img/> two dogs", "Hunde zwei", "0-1 1-0", "<img/> Hunde zwei"),
    "at the end": ("two dogs <img/>", "Hunde zwei", "0-1 1-0", "Hunde zwei <img/>"),
    "nothing in nothing": ("see <a><img/></a> here", "sieh hier", "", "sieh <a><img/></a> hier"),
    "beside, not in": ("see <a>it</a><img/> here", "sieh es hier", "", "sieh <a>es</a><img/> hier"),
    "in, at the edge": ("see <a>it<img/></a> here", "sieh es hier", "", "sieh <a>es<img/></a> hier"),
    "only punctuation": ("stop<b>!</b> now", "halt! jetzt", "", "halt<b>!</b> jetzt"),
    "no links at all": ("<b>one two</b> three four", "a b c d", None, "<b>a b</b> c d"),
    "nothing is left": ("<b>one</b> two", "", "", "<b/>"),
}


@pytest.mark.parametrize("name", CASES)
def test_tags_follow_their_words(name: str):
    source, target, links, expected = CASES[name]
    assert projected(source, target, links) == expected


def test_words_with_another_spelling_are_located():
    source, names = parse("Der\u00a0Kaf\u00ade\u0301 <b>ist</b> zu")
    found = project_tags(
        source, ["Der", "Kafé", "ist", "zu"], "Le cafe\u0301 est fermé", ["Le", "café", "est", "fermé"], [(2, 2)]
    )
    assert render(found, names) == "Le cafe\u0301 <b>est</b> fermé"
    mismatched = project_tags(source, ["x"] * 9, "Le café", ["y", "", "z"], [(0, 0), (8, 2), (70, -3)])
    assert [span.tag for span in mismatched.spans] == [0]


def test_chinese_words_are_characters():
    source, names = parse("I like <b>cats</b>.")
    found = project_tags(
        source, ["I", "like", "cats."], "我喜欢猫。", list("我喜欢猫。"), [(0, 0), (1, 1), (1, 2), (2, 3), (2, 4)]
    )
    assert render(found, names) == "我喜欢<b>猫</b>。"


def test_placeholders_are_never_split():
    source, names = parse("Hello <b>{name}</b><br/>, hi")
    words = ["Hallo", "{name},", "hi"]
    found = project_tags(source, ["Hello", "{name},", "hi"], " ".join(words), words, [(0, 0), (1, 1), (2, 2)])
    assert render(found, names) == "Hallo <b>{name}</b><br/>, hi"
    assert [found.text[start:end] for start, end in found.kept] == ["{name}"]


TEXTS = st.text("ab.,! \u00e9\u732b{}\n", max_size=40)


@st.composite
def texts_with_tags(draw: st.DrawFn) -> TaggedText:
    text = draw(TEXTS)
    spans: list[TagSpan] = []

    def fill(low: int, high: int, depth: int) -> None:
        at = low
        for _ in range(draw(st.integers(0, 2))):
            start = draw(st.integers(at, high))
            end = draw(st.integers(start, high))
            spans.append(TagSpan(start, end, len(spans), depth))
            if depth < 3:
                fill(start, end, depth + 1)
            at = end

    fill(0, len(text), 0)
    return TaggedText(text, tuple(spans))


LINKS = st.none() | st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 9)), max_size=12)


def nesting(found: TaggedText) -> set[tuple[int, int]]:
    held_by = parent_indices(found.spans)
    return {
        (span.tag, found.spans[place].tag if place >= 0 else -1)
        for span, place in zip(found.spans, held_by, strict=True)
    }


@given(texts_with_tags(), TEXTS, LINKS, st.lists(st.text("ab\u732b", max_size=3), max_size=6))
def test_every_tag_occurs_once_and_the_nesting_is_preserved(source: TaggedText, target: str, links, words):
    found = project_tags(source, source.text.split(), target, words or target.split(), links)
    assert nesting(found) == nesting(source)
    assert all(0 <= span.start <= span.end <= len(found.text) for span in found.spans)
    assert found.text.replace(" ", "") == target.replace(" ", "")


@given(texts_with_tags(), st.data())
def test_no_tag_starts_or_ends_with_a_space(source: TaggedText, data: st.DataObject):
    words = source.text.split()
    target = " ".join(word.upper() for word in words)
    assume(target != source.text)  # an unchanged text keeps all its spaces
    order = data.draw(st.permutations(range(len(words))))
    found = project_tags(source, words, target, target.split(), list(enumerate(order)))
    for span in found.spans:
        inside = found.text[span.start : span.end]
        was = next(source.text[each.start : each.end] for each in source.spans if each.tag == span.tag)
        holds_empty = any(each is not span and span.start <= each.start == each.end <= span.end for each in found.spans)
        if not holds_empty and len(source.text.split()) != len(was.split()):
            assert inside.strip() == inside


def test_tags_inside_many_others_have_the_range_of_the_tag_around_them():
    depth = 70
    text = " ".join(["word"] * 100)
    spans = [TagSpan(5 * place, len(text), place, place) for place in range(depth)]
    spans += [TagSpan(5 * depth, 5 * depth + 4, depth, depth), TagSpan(len(text) - 4, len(text), depth + 1, depth)]
    found = project_tags(TaggedText(text, tuple(spans)), text.split(), text.upper(), text.upper().split(), None)

    assert nesting(found) == nesting(TaggedText(text, tuple(spans)))
    starts = [span.start for span in found.spans]
    assert starts[:64] == [5 * place for place in range(64)]
    assert starts[64:depth] == [starts[63]] * (depth - 64)
    assert all(span.start == span.end for span in found.spans[depth:])


@pytest.mark.parametrize("nested", [False, True])
def test_many_tags_take_little_time(nested: bool):
    chance = random.Random(1)
    text = " ".join("".join(chance.choices("abcdef", k=4)) for _ in range(1000))
    if nested:
        spans = [TagSpan(place * 5, len(text) - place * 5, place, place) for place in range(499)]
    else:
        spans = [TagSpan(place * 10, place * 10 + 9, place) for place in range(500)]
    links = [(place, (place * 7) % 1000) for place in range(1000)]
    began = time.process_time()
    project_tags(TaggedText(text, tuple(spans)), text.split(), text.upper(), text.upper().split(), links)
    assert time.process_time() - began < 5  # 0.05 s on an idle machine; quadratic time would take a minute


def test_words_of_white_space_are_accepted():
    source = TaggedText("a  b", (TagSpan(0, 1, 0), TagSpan(1, 3, 1)))
    found = project_tags(source, ("a", "  ", "b"), "b - - a", ("b", " - - ", "a"), [(0, 2), (1, 1), (2, 0)])
    assert len(found.spans) == 2
