"""Words, and which of them differ."""

from hypothesis import given
from hypothesis import strategies as st

from dragoman.inspection.word_diff import diff_words
from dragoman.text.words import split_words


def marks(text: str, others: list[str], reference: str) -> dict[str, str]:
    return {word.text: word.mark for word in diff_words(text, others, reference) if word.mark}


def test_marks_and_spaces_stand_apart_from_words() -> None:
    assert split_words("Ein Mann, 3-mal.") == ["Ein", " ", "Mann", ",", " ", "3", "-", "mal", "."]


def test_characters_of_scripts_without_spaces_are_words() -> None:
    assert split_words("我用Python写。") == ["我", "用", "Python", "写", "。"]


def test_marks_on_letters_stay_with_them() -> None:
    assert split_words("हिन्दी में") == ["हिन्दी", " ", "में"]
    assert split_words("e\u0301a") == ["e\u0301a"]


@given(st.text(max_size=60))
def test_words_joined_are_the_text(text: str) -> None:
    assert "".join(split_words(text)) == text


def test_a_word_that_the_other_has_not_is_right_if_the_reference_has_it() -> None:
    assert marks("ein rotes Rad", ["ein rotes Fahrrad"], "ein rotes Fahrrad") == {"Rad": "wrong"}
    assert marks("ein rotes Fahrrad", ["ein rotes Rad"], "ein rotes Fahrrad") == {"Fahrrad": "right"}


def test_what_not_all_others_have_differs() -> None:
    assert marks("a b c", ["a b c", "a x c"], "a b c") == {"b": "right"}


def test_equal_texts_have_no_marks() -> None:
    assert marks("a b", ["a b"], "x") == {}
