import itertools
import re

import pytest
from ftfy.badness import is_bad
from hypothesis import given
from hypothesis import strategies as st

from dragoman.config.corpus import CleaningConfig
from dragoman.data.cleaning.pipeline import _MOJIBAKE, normalize_frame, repair
from dragoman.data.reason_counts import Example
from dragoman.text import Normalizer
from dragoman.text.normalize import Form
from tests.unit.data.cleaning.pairs import Pair, frame, pairs
from tests.unit.text.samples import texts

FORMS: list[Form] = ["nfc", "nfkc", "none"]
EVERY = [Normalizer(*choice) for choice in itertools.product(FORMS, [True, False], [True, False])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("schÃ¶n", "schön"),
        ("Mal sehen\x85", "Mal sehen…"),
        ("\x84Domino-Effekt\x93", "„Domino-Effekt“"),
        ("they are â€“at least", "they are –at least"),
        ("začala RÃ¤ttsmedicinalverket", "začala Rättsmedicinalverket"),
        ("&amp;Atilde;&amp;para;", "ö"),
        ("Q&amp;A", "Q&A"),
        ("&amp;quot;so&amp;quot;", '"so"'),
        ("&#8364; &#x20AC; &euro;", "€ € €"),
        ("&#128;", "€"),
        ("&lt;b&gt;", "<b>"),
        ("&notit; &amp &copy; 2020 & ; &;", "&notit; &amp © 2020 & ; &;"),
        ("&#0; &#xD800; &#9999999;", "&#0; &#xD800; &#9999999;"),
        ("AT&T; R&D;", "AT&T; R&D;"),
        ("ÀÉÎÕÜ «été» œuvre, ¿qué?", "ÀÉÎÕÜ «été» œuvre, ¿qué?"),
        ("lost: Ã\ufffd", "lost: Ã\ufffd"),
        ("“quoted” – naïve café…", "“quoted” – naïve café…"),
        ("我们说中文。", "我们说中文。"),
        ("ﬁ Ａ ½ ’", "ﬁ Ａ ½ ’"),
        ("", ""),
    ],
)
def test_damage_is_put_right_and_nothing_else(text: str, expected: str):
    for source, target in ((text, "a"), ("a", text)):
        repaired, tally = repair(frame([(source, target)]), CleaningConfig(), "f")
        assert repaired.row(0)[:2] == tuple(expected if side == text else side for side in (source, target))
        assert bool(tally.total) is (text != expected)


@given(pairs)
def test_text_without_damage_never_changes(pairs: list[Pair]):
    before = frame(pairs)
    after, tally = repair(before, CleaningConfig(), "f")
    for old, new in zip(before.rows(), after.rows(), strict=True):
        for text, repaired in zip(old[:2], new[:2], strict=True):
            assert text == repaired or is_bad(text) or re.search("&[#0-9A-Za-z]+;", text)
    assert after.equals(before) is (not tally.total)


@given(texts)
def test_the_fast_pattern_is_that_of_ftfy(text: str):
    """The engines differ on what a word character is, which one of ftfy's patterns uses."""
    found = frame([(text, "")])["source"].str.contains(_MOJIBAKE).item()
    assert found is is_bad(text)


def test_every_change_is_counted_with_its_place():
    before = frame([("fine", "gut"), ("Q&amp;A", "schÃ¶n"), ("a", "a\x85")])
    after, tally = repair(before, CleaningConfig(), "corpus.en")
    assert after["target"].to_list() == ["gut", "schön", "a…"]
    assert before["target"].to_list() == ["gut", "schÃ¶n", "a\x85"]
    assert tally.counts == {"entities unescaped": 1, "mojibake repaired": 2}
    assert tally.examples["entities unescaped"] == [Example("corpus.en", 2, "Q&amp;A", "schÃ¶n", "Q&A")]
    assert tally.examples["mojibake repaired"][0] == Example("corpus.en", 2, "Q&A", "schÃ¶n", "schön")


def test_each_repair_has_its_switch():
    damaged = frame([("Q&amp;A", "schÃ¶n")])
    off = CleaningConfig(repair_entities=False, repair_mojibake=False)
    assert repair(damaged, off, "f")[0].equals(damaged)
    assert repair(damaged, CleaningConfig(repair_entities=False), "f")[0].row(0)[:2] == ("Q&amp;A", "schön")
    assert repair(damaged, CleaningConfig(repair_mojibake=False), "f")[0].row(0)[:2] == ("Q&A", "schÃ¶n")


@given(pairs, st.sampled_from(EVERY))
def test_a_frame_is_normalised_as_its_texts_are(pairs: list[Pair], normalizer: Normalizer):
    before = frame(pairs)
    after, tally = normalize_frame(before, normalizer, "f")
    assert after["source"].to_list() == [normalizer(source) for source, _ in pairs]
    assert after["target"].to_list() == [normalizer(target) for _, target in pairs]
    assert after["line"].to_list() == before["line"].to_list()
    assert before.equals(frame(pairs))
    assert bool(tally.total) is not after.equals(before)


def test_the_kinds_of_change_are_told():
    dirty = frame([("a\x85b\u2028c", "fine"), ("nul\x00\u200b", "e\u0301"), (" a  b", "fine"), ("fine", "fein")])
    after, tally = normalize_frame(dirty, Normalizer(), "f")
    assert after["source"].to_list() == ["a b c", "nul", "a b", "fine"]
    assert tally.counts == {
        "line separators made spaces": 1,
        "control characters removed": 1,
        "characters composed": 1,
        "white space evened": 1,
    }
    details = {reason: examples[0].detail for reason, examples in tally.examples.items()}
    assert details["line separators made spaces"] == "U+0085 U+2028"
    assert details["control characters removed"] == "U+0000 U+200B"
    assert tally.examples["characters composed"][0].line == 2
    assert tally.examples["white space evened"][0].detail == "a b"


def test_a_tab_is_white_space():
    assert normalize_frame(frame([("a\tb", "c")]), Normalizer(), "f")[1].counts == {"white space evened": 1}


def test_marks_that_are_cut_have_a_reason_of_their_own():
    many = frame([("x" + "\u0316" * 40, "b"), ("e" + "\u0301" * 40, "b"), ("x" + "\u0344" * 20, "b"), ("e\u0301", "b")])
    _, tally = normalize_frame(many, Normalizer(), "f")
    lines = {reason: [example.line for example in examples] for reason, examples in tally.examples.items()}
    assert lines == {"combining marks cut": [1, 2, 3], "characters composed": [2, 3, 4]}
    assert normalize_frame(many, Normalizer("none"), "f")[1].counts == {}
