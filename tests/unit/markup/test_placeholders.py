"""What must not change by a byte is found, and nothing else."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.markup.marked import Marked, Span
from dragoman.markup.placeholders import kept_in, places_of
from dragoman.markup.withheld import withhold
from tests.unit.markup.tagged import marked, tagged

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
]
KEPT += ["https://example.org", "https://de.example.org/wiki/Größe_(x)?a=b&c#d", "www.example.org/a", "ftp://a.b/c"]
KEPT += ["mailto:a@b.org", "ada.l@example.org", "https://x.org/{id}/edit"]


@pytest.mark.parametrize("string", KEPT)
@pytest.mark.parametrize("around", ["{}", "a {} b", "({})", "“{}”, b", "{}. B", "你好{}。"])
def test_kept_strings_are_found(string: str, around: str):
    text = around.replace("{}", string)
    assert [text[start:end] for start, end in kept_in(text)] == [string]


@pytest.mark.parametrize(
    "text", ["100% sure", "a 50% discount", "5 %ige", "{see the note}", "{", "a{b", "@ home", "a@b", "1 % d", "x: y"]
)
def test_other_text_is_not(text: str):
    assert kept_in(text) == ()


def test_those_that_touch_are_one():
    assert kept_in("a {x}{y}%s b") == ((2, 10),)


def test_places_are_those_of_strings_that_come_as_often():
    assert places_of(["%s", "{x}"], "%s {x}", "a {x} b %s") == ((2, 5), (8, 10))
    assert places_of(["%s"], "%s", "%s %s") is None
    assert places_of(["%s", "%s"], "%s %s", "%s") is None
    assert places_of([], "a", "b") == ()


@given(st.text("ab{}%s() .:/@\u732b", max_size=40))
def test_kept_parts_are_apart_and_come_back(text: str):
    kept = kept_in(text)
    assert all(start < end for start, end in kept)
    assert all(one[1] < other[0] for one, other in pairwise(kept))
    withheld = withhold(Marked(text, (), kept))
    back = withheld.given_back(withheld.marked)
    assert sorted(back.text.replace(" ", "")) == sorted(text.replace(" ", ""))
    assert [back.text[start:end] for start, end in back.kept] == [text[start:end] for start, end in kept]


def test_what_is_withheld_takes_its_brackets_along():
    withheld = withhold(Marked("Send it (%s) now", (), ((9, 11),)))
    assert withheld.marked == Marked("Send it  now", (Span(8, 8, 0),))
    assert withheld.spaced == {0: (True, True)}
    assert withheld.given_back(Marked("Schick es  jetzt", (Span(10, 10, 0),))).text == "Schick es (%s) jetzt"


def test_what_is_withheld_stays_in_its_tag():
    source, names = marked("Hi <b>{name}</b>, <i>you</i>")
    withheld = withhold(source)
    assert withheld.marked.text == "Hi, you"
    assert [span.depth for span in withheld.marked.spans] == [0, 1, 0]
    assert tagged(withheld.given_back(withheld.marked), names) == "Hi <b>{name}</b>, <i>you</i>"


@pytest.mark.parametrize(
    "source",
    ['say "<b>{name}</b>" now', "(<b>%s</b>)", "<b>{a}</b>: go", "“{a}<i>”</i>", "<b>see ({a}</b>) {b}", '"{a}"{b}"'],
)
def test_nothing_is_taken_along_over_the_edge_of_a_tag(source: str):
    found, names = marked(source)
    withheld = withhold(found)
    back = tagged(withheld.given_back(withheld.marked), names)
    assert back.replace(" ", "") == source.replace(" ", "")


@pytest.mark.parametrize("piece", ["{", "%", "a", "a.", "a@", "http://", "{{a", "www.", "-a", "%a", "{a,"])
def test_looking_takes_time_by_length_only(piece: str):
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    kept_in(text)
    assert time.process_time() - began < 2
