"""Spoilt texts, and what they cost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluation.metrics import corpus_scores
from dragoman.evaluation.probes import JOINED, PROBES, SINGLE_WORDS, Answer, is_runaway, judged, sampled

SOURCES = [
    "A man in an orange hat starring at something.",
    "A Boston Terrier is running on lush green grass in front of a white fence.",
    "A girl in karate uniform breaking a stick with a front kick.",
    "Five people wearing winter jackets and helmets stand in the snow, with snowmobiles in the background.",
    "People are fixing the roof of a house.",
    "A man in light colored clothing photographs a group of men",
]


def test_typos():
    spoilt = PROBES["typos"](SOURCES)
    assert len(spoilt.texts) == len(SOURCES)
    assert spoilt.places == tuple((place,) for place in range(len(SOURCES)))
    for before, after in zip(SOURCES, spoilt.texts, strict=True):
        old, new = before.split(), after.split()
        assert len(old) == len(new)
        changed = sum(one != other for one, other in zip(old, new, strict=True))
        long = len(re.findall(r"\w{3,}", before))
        assert changed == -(-long // 5)
        assert abs(len(before) - len(after)) <= changed
        assert all(one[0] == other[0] for one, other in zip(old, new, strict=True))


def test_a_sentence_is_spoilt_alike_everywhere():
    first = PROBES["typos"](SOURCES).texts
    assert PROBES["typos"](SOURCES[::-1]).texts == first[::-1]
    assert first[0] == "A man in an oraneg hat starring at something."  # on every machine


@given(st.lists(st.text(max_size=40), max_size=12))
def test_any_text(sources: list[str]):
    for name, probe in PROBES.items():
        spoilt = probe(sources)
        assert len(spoilt.texts) == len(spoilt.places)
        assert all(0 <= place < len(sources) for places in spoilt.places for place in places)
        if name != "very long":
            assert all(text.strip() for text in spoilt.texts)
        assert spoilt == probe(sources)


def test_case_and_stops():
    assert PROBES["lower case"](SOURCES).texts[1].startswith("a boston terrier")
    assert PROBES["upper case"](["straße", "ÉTÉ", "中文"]).texts == ("STRASSE",)
    stops = PROBES["no full stop"]([*SOURCES, "你好。", "Why?", "..."])
    assert len(stops.texts) == 6  # one has none, one is a question, one is nothing else
    assert (stops.texts[0], stops.texts[-1]) == (SOURCES[0][:-1], "你好")
    spaced = PROBES["no full stop"](["No stop \t", "A stop. ", " Before"])
    assert (spaced.texts, spaced.places) == (("A stop",), ((1,),))


def test_single_words():
    spoilt = PROBES[SINGLE_WORDS](SOURCES)
    assert spoilt.texts == ("A", "man", "in", "an", "orange", "hat")  # as many as sentences
    assert PROBES[SINGLE_WORDS](["don't 12 stop-and-go, 我们!"] * 9).texts == ("don't", "stop-and-go", "我", "们")


def test_very_long():
    spoilt = PROBES["very long"](SOURCES)
    assert spoilt.texts == (" ".join(SOURCES[:JOINED]),)
    assert spoilt.places == ((0, 1, 2, 3, 4),)
    assert PROBES["very long"](["我们。", "你们。", "a", "b", ""]).texts == ("我们。你们。a b",)


def test_the_drop():
    spoilt = PROBES["no full stop"](SOURCES)
    references = [f"{source.lower()} x" for source in SOURCES]
    clean = list(references)
    answers = [Answer(source) for source in SOURCES[:5]]
    probe = judged("no full stop", spoilt, answers, clean, references, metrics=("bleu", "chrf", "ter"))
    assert (probe.sentences, probe.changed) == (6, 5)
    expected = corpus_scores(SOURCES[:5], references[:5], metrics=("bleu", "chrf", "ter"))
    assert probe.scores == expected
    assert list(probe.drops) == ["bleu", "chrf++", "ter"]
    assert probe.drops["bleu"] == pytest.approx(100 - expected[0].value)
    assert probe.drops["ter"] == pytest.approx(expected[2].value)  # worse is positive
    assert judged("typos", spoilt, answers, clean, references, metrics=("bleu",)).shares == {}


def test_shares_of_single_words():
    spoilt = PROBES[SINGLE_WORDS](["eins zwei", "drei vier", "x", "y"])
    assert len(spoilt.texts) == 4
    answers = [
        Answer("one"),
        Answer("two and two and two is six", frozenset({"repetition"})),
        Answer("three", frozenset({"copied"})),
        Answer("four", is_truncated=True),
    ]
    probe = judged(SINGLE_WORDS, spoilt, answers, [""] * 4, [""] * 4, metrics=("bleu",))
    assert probe.shares == {"flagged": 0.5, "runaway": 0.5, "repeated": 0.25}
    assert (probe.scores, probe.drops) == ((), {})


def test_nothing_to_spoil():
    probe = judged("upper case", PROBES["upper case"](["我", "你"]), [], ["a", "b"], ["a", "b"], metrics=("bleu",))
    assert (probe.changed, probe.scores, probe.shares) == (0, (), {})


def test_runaway():
    assert not is_runaway("ein großer Hund .")
    assert is_runaway("ein Hund läuft durch das Gras .")
    assert is_runaway("我" * 11)
    assert not is_runaway("我" * 10)


def test_sampled():
    assert sampled(3, 5) == [0, 1, 2]
    assert sampled(10, 5) == [0, 2, 4, 6, 8]
    assert len(set(sampled(1001, 500))) == 500
