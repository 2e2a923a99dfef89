"""Perturbed texts and their scores."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.evaluation.robustness import (
    JOINED,
    PERTURBATIONS,
    SINGLE_WORDS,
    PerturbedOutput,
    is_runaway,
    sample_positions,
    score_perturbation,
)
from dragoman.text.perturbation import without_stop

SOURCES = [
    "A man in an orange hat starring at something.",
    "A Boston Terrier is running on lush green grass in front of a white fence.",
    "A girl in karate uniform breaking a stick with a front kick.",
    "Five people wearing winter jackets and helmets stand in the snow, with snowmobiles in the background.",
    "People are fixing the roof of a house.",
    "A man in light colored clothing photographs a group of men",
]


def test_typos():
    perturbed = PERTURBATIONS["typos"](SOURCES)
    assert len(perturbed.texts) == len(SOURCES)
    assert perturbed.places == tuple((place,) for place in range(len(SOURCES)))
    for before, after in zip(SOURCES, perturbed.texts, strict=True):
        old, new = before.split(), after.split()
        assert len(old) == len(new)
        changed = sum(one != other for one, other in zip(old, new, strict=True))
        long = len(re.findall(r"\w{3,}", before))
        assert changed == -(-long // 5)
        assert abs(len(before) - len(after)) <= changed
        assert all(one[0] == other[0] for one, other in zip(old, new, strict=True))


def test_a_sentence_is_perturbed_alike_everywhere():
    first = PERTURBATIONS["typos"](SOURCES).texts
    assert PERTURBATIONS["typos"](SOURCES[::-1]).texts == first[::-1]
    assert first[0] == "A man in an oraneg hat starring at something."  # on every machine


@given(st.lists(st.text(max_size=40), max_size=12))
def test_any_text(sources: list[str]):
    for name, perturb in PERTURBATIONS.items():
        perturbed = perturb(sources)
        assert len(perturbed.texts) == len(perturbed.places)
        assert all(0 <= place < len(sources) for places in perturbed.places for place in places)
        if name != "very long":
            assert all(text.strip() for text in perturbed.texts)
        assert perturbed == perturb(sources)


def test_case_and_stops():
    assert PERTURBATIONS["lower case"](SOURCES).texts[1].startswith("a boston terrier")
    assert PERTURBATIONS["upper case"](["straße", "ÉTÉ", "中文"]).texts == ("STRASSE",)
    stops = PERTURBATIONS["no full stop"]([*SOURCES, "你好。", "Why?", "..."])
    assert len(stops.texts) == 6  # one has none, one is a question, one is nothing else
    assert (stops.texts[0], stops.texts[-1]) == (SOURCES[0][:-1], "你好")
    spaced = PERTURBATIONS["no full stop"](["No stop \t", "A stop. ", " Before"])
    assert (spaced.texts, spaced.places) == (("A stop",), ((1,),))


def test_single_words():
    perturbed = PERTURBATIONS[SINGLE_WORDS](SOURCES)
    assert perturbed.texts == ("A", "man", "in", "an", "orange", "hat")  # as many as sentences
    assert PERTURBATIONS[SINGLE_WORDS](["don't 12 stop-and-go, 我们!"] * 9).texts == (
        "don't",
        "stop-and-go",
        "我",
        "们",
    )


def test_very_long():
    perturbed = PERTURBATIONS["very long"](SOURCES)
    assert perturbed.texts == (" ".join(SOURCES[:JOINED]),)
    assert perturbed.places == ((0, 1, 2, 3, 4),)
    assert PERTURBATIONS["very long"](["我们。", "你们。", "a", "b", ""]).texts == ("我们。你们。a b",)


def test_the_drop():
    perturbed = PERTURBATIONS["no full stop"](SOURCES)
    references = [f"{source.lower()} x" for source in SOURCES]
    clean = list(references)
    answers = [PerturbedOutput(source) for source in SOURCES[:5]]
    probe = score_perturbation("no full stop", perturbed, answers, clean, references, metrics=("bleu", "chrf", "ter"))
    assert (probe.sentences, probe.changed) == (6, 5)
    answers_without_stop = [without_stop(source) for source in SOURCES[:5]]
    expected = corpus_scores(answers_without_stop, references[:5], metrics=("bleu", "chrf", "ter"))
    assert probe.scores == expected
    assert list(probe.drops) == ["bleu", "chrf++", "ter"]
    assert probe.drops["bleu"] == pytest.approx(100 - expected[0].value)
    assert probe.drops["ter"] == pytest.approx(expected[2].value)  # worse is positive
    assert score_perturbation("typos", perturbed, answers, clean, references, metrics=("bleu",)).shares == {}


def test_capitals_may_be_answered_in_capitals():
    perturbed = PERTURBATIONS["upper case"](["a dog runs on", "a cat sleeps here"])
    references = ["ein Hund läuft weiter", "eine Katze schläft hier"]
    answers = [PerturbedOutput(each.upper()) for each in references]
    assert score_perturbation("upper case", perturbed, answers, references, references, metrics=("bleu",)).drops == {
        "bleu": pytest.approx(0)
    }


def test_shares_of_single_words():
    perturbed = PERTURBATIONS[SINGLE_WORDS](["eins zwei", "drei vier", "x", "y"])
    assert len(perturbed.texts) == 4
    answers = [
        PerturbedOutput("one"),
        PerturbedOutput("two and two and two is six", frozenset({"repetition"})),
        PerturbedOutput("three", frozenset({"copied"})),
        PerturbedOutput("four", is_truncated=True),
    ]
    probe = score_perturbation(SINGLE_WORDS, perturbed, answers, [""] * 4, [""] * 4, metrics=("bleu",))
    assert probe.shares == {"flagged": 0.5, "runaway": 0.5, "repeated": 0.25}
    assert (probe.scores, probe.drops) == ((), {})


def test_nothing_to_spoil():
    probe = score_perturbation(
        "upper case", PERTURBATIONS["upper case"](["我", "你"]), [], ["a", "b"], ["a", "b"], metrics=("bleu",)
    )
    assert (probe.changed, probe.scores, probe.shares) == (0, (), {})


def test_runaway():
    assert not is_runaway("ein großer Hund .")
    assert is_runaway("ein Hund läuft durch das Gras .")
    assert is_runaway("我" * 11)
    assert not is_runaway("我" * 10)


def test_sample_positions():
    assert sample_positions(3, 5) == [0, 1, 2]
    assert sample_positions(10, 5) == [0, 2, 4, 6, 8]
    assert len(set(sample_positions(1001, 500))) == 500
