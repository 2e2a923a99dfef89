import re

import pytest
from ftfy.badness import is_bad
from hypothesis import given

from dragoman.config.corpus import CleaningConfig
from dragoman.data.cleaning import repair
from dragoman.data.cleaning.repair import _MOJIBAKE
from dragoman.data.reason_counts import Example
from tests.unit.data.cleaning.pairs import Pair, frame, pairs
from tests.unit.text.samples import texts


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
