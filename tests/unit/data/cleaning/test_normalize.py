import itertools

from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.cleaning import normalize_frame
from dragoman.text import Normalizer
from dragoman.text.normalize import Form
from tests.unit.data.cleaning.pairs import Pair, frame, pairs

FORMS: list[Form] = ["nfc", "nfkc", "none"]
EVERY = [Normalizer(*choice) for choice in itertools.product(FORMS, [True, False], [True, False])]


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
