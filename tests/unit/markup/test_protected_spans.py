"""Detection, location and masking of placeholders and addresses."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.markup.masking import mask_protected
from dragoman.markup.protected_spans import find_placeholders, locate_placeholders
from dragoman.markup.tagged_text import TaggedText, TagSpan
from testkit.growth import growth
from tests.unit.markup.tag_notation import parse, render

KEPT = [
    "{name}",
    "{0}",
    "{}",
    "{{ x }}",
    "{{{x}}}",
    "{% if %}",
    "${x}",
    "#{x}",
    "%{x}",
    "{n, number}",
    "{d, date, short}",
]
KEPT += [
    "{0:>8.2f}",
    "{x!r}",
    "%s",
    "%d",
    "%i",
    "%5.2f",
    "%-10s",
    "%ld",
    "%(name)s",
    "%1$s",
    "%2$d",
    "%@",
    "%user%",
    "%%",
    "[X6X]",
    "<t0>",
    "</f12>",
    "<x1/>",
]
KEPT += ["https://example.org", "https://de.example.org/wiki/Größe_(x)?a=b&c#d", "www.example.org/a", "ftp://a.b/c"]
KEPT += ["mailto:a@b.org", "ada.l@example.org", "https://x.org/{id}/edit"]


@pytest.mark.parametrize("string", KEPT)
@pytest.mark.parametrize("around", ["{}", "a {} b", "({})", "“{}”, b", "{}. B", "你好{}。"])
def test_kept_strings_are_found(string: str, around: str):
    text = around.replace("{}", string)
    assert [text[start:end] for start, end in find_placeholders(text)] == [string]


@pytest.mark.parametrize(
    "text", ["100% sure", "a 50% discount", "5 %ige", "{see the note}", "{", "a{b", "@ home", "a@b", "1 % d", "x: y"]
)
def test_other_text_is_not_a_placeholder(text: str):
    assert find_placeholders(text) == ()


def test_adjacent_placeholders_are_merged():
    assert find_placeholders("a {x}{y}%s b") == ((2, 10),)


def test_placeholders_are_located_if_their_counts_match():
    assert locate_placeholders(["%s", "{x}"], "%s {x}", "a {x} b %s") == ((2, 5), (8, 10))
    assert locate_placeholders(["%s"], "%s", "%s %s") is None
    assert locate_placeholders(["%s", "%s"], "%s %s", "%s") is None
    assert locate_placeholders([], "a", "b") == ()


@given(st.text("ab{}%s() .:/@\u732b", max_size=40))
def test_kept_parts_are_disjoint_and_restored(text: str):
    kept = find_placeholders(text)
    assert all(start < end for start, end in kept)
    assert all(one[1] < other[0] for one, other in pairwise(kept))
    masked = mask_protected(TaggedText(text, (), kept))
    back = masked.restore(masked.tagged)
    assert sorted(back.text.replace(" ", "")) == sorted(text.replace(" ", ""))
    assert [back.text[start:end] for start, end in back.kept] == [text[start:end] for start, end in kept]


def test_masking_includes_surrounding_brackets():
    masked = mask_protected(TaggedText("Send it (%s) now", (), ((9, 11),)))
    assert masked.tagged == TaggedText("Send it  now", (TagSpan(8, 8, 0),))
    assert masked.spaced == {0: (True, True)}
    assert masked.restore(TaggedText("Schick es  jetzt", (TagSpan(10, 10, 0),))).text == "Schick es (%s) jetzt"


def test_a_masked_part_stays_in_its_tag():
    source, names = parse("Hi <b>{name}</b>, <i>you</i>")
    masked = mask_protected(source)
    assert masked.tagged.text == "Hi, you"
    assert [span.depth for span in masked.tagged.spans] == [0, 1, 0]
    assert render(masked.restore(masked.tagged), names) == "Hi <b>{name}</b>, <i>you</i>"


@pytest.mark.parametrize(
    "source",
    ['say "<b>{name}</b>" now', "(<b>%s</b>)", "<b>{a}</b>: go", "“{a}<i>”</i>", "<b>see ({a}</b>) {b}", '"{a}"{b}"'],
)
def test_masking_does_not_cross_the_edge_of_a_tag(source: str):
    found, names = parse(source)
    masked = mask_protected(found)
    back = render(masked.restore(masked.tagged), names)
    assert back.replace(" ", "") == source.replace(" ", "")


@pytest.mark.parametrize("fragment", ["{", "%", "a", "a.", "a@", "http://", "{{a", "www.", "-a", "%a", "{a,"])
def test_time_is_linear_in_the_text_length(fragment: str):
    count = 10_000 // len(fragment)
    assert growth(lambda times: find_placeholders(fragment * (count * times)), 1, rounds=2) < 30
