"""Detection, location and masking of placeholders and addresses."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.markup.masking import mask_protected
from dragoman.markup.protected_spans import (
    find_damage,
    find_placeholders,
    find_unreadable,
    locate_placeholders,
    match_placeholders,
    placeholder_strings,
)
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


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Müller & Søn — Łódź, 東京", ["Müller", "Søn", "Łódź", "東京"]),
        ("It costs 5 €, x < y ♪ ❤️.", ["€", "<", "♪", "❤️"]),
        ("Smith’s “naïve” café – 3 µm", ["µm"]),
        ("plain text", []),
    ],
)
def test_names_and_symbols_that_a_model_cannot_read_are_found(text: str, wanted: list[str]):
    found = find_unreadable(text, lambda character: character.isascii() and character != "<")
    assert [text[start:end] for start, end in found] == wanted


def test_a_shorter_placeholder_at_the_end_of_a_text():
    text = "`glob` or `glob@6`"
    strings = ["`glob`", "`glob@6`"]
    assert locate_placeholders(strings, text, "`glob@6` or `glob`") == ((0, 8), (12, 18))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("from %s%s to", ["%s", "%s"]),
        ("Killed %s(%s%d) x", ["%s", "%s", "%d"]),
        ("rate = %lu%%", ["%lu", "%%"]),
        ("an unknown %%%c directive", ["%%", "%c"]),
        ("at 0%d:%02d", ["%d", "%02d"]),
        ("%ssection of `%s'", ["%s", "%s"]),
        ("LIKE '%s%' or %USER%", ["%s%", "%USER%"]),
        ("a 50%-a, 20%ige, 100%sure", []),
    ],
)
def test_directives_next_to_each_other(text: str, wanted: list[str]):
    assert [text[start:end] for _, start, end in match_placeholders(text)] == wanted


@pytest.mark.parametrize(
    ("source", "target", "damage"),
    [
        ("read %s, size %d", "de tamanho %d, lido %s", "%s, %d in the order %d, %s"),
        ("{} of {:?}", "{:?} de {}", "{}, {:?} in the order {:?}, {}"),
        ('<a href="%s">a</a> %d', '%d <a href="%s">a</a>', "%s, %d in the order %d, %s"),
        ("maximum %d characters", "caracteres %imum %d", "new %"),
        (":name left", ":names saiu", "letters touch an address or a name"),
        ("in $HOME", "em $HOMEs", "letters touch an address or a name"),
        ("%s of %s, %(n)s", "%(n)s %s de %s", None),
        ("%2$d of %1$s", "%1$s, %2$d", None),
        ("100 percent of {0}", "100% de {0}", None),
        ("100% of %s", "100% de %s", None),
        ("{n} s, $t(a) b", "{n}s, $t(a)b", None),
    ],
)
def test_damage_that_a_program_would_notice(source: str, target: str, damage: str | None):
    strings = placeholder_strings(source, find_placeholders(source))
    assert find_damage(strings, source, target) == damage


@pytest.mark.parametrize(("text", "done"), [("Total: {x}", "Total: {x}"), ("a:{x}", "a:{x}"), ("a {x}", "\uff1a{x}")])
def test_a_space_between_a_colon_and_a_placeholder_stays(text: str, done: str):
    masked = mask_protected(TaggedText(text, kept=find_placeholders(text)))
    place = len(done) - len("{x}")
    bare = done[:place].rstrip()
    (span,) = masked.tagged.spans
    assert masked.restore(TaggedText(bare, (TagSpan(len(bare), len(bare), span.tag, 0),))).text == done
