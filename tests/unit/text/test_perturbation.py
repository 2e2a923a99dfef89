"""Texts changed as people write them."""

import pytest

from dragoman.text.perturbation import (
    draw_numbers,
    join_texts,
    lower_case,
    mistyped,
    title_case,
    untranslatable,
    upper_case,
)

TEXT = "Don't worry, the weiße Straße is über there."


def test_cases():
    assert upper_case(TEXT) == "DON'T WORRY, THE WEISSE STRASSE IS ÜBER THERE."
    assert title_case(TEXT) == "Don't Worry, The Weiße Straße Is Über There."
    assert upper_case("ısı iyi", "tr") == "ISI İYİ"
    assert lower_case("ISI İyi", "tr") == "ısı iyi"
    assert lower_case("I AM") == "i am"
    assert upper_case("我们走。") == title_case("我们走。") == "我们走。"


@pytest.mark.parametrize("kinds", [3, 4])
def test_typos_keep_first_letters_and_depend_only_on_the_draws(kinds: int):
    made = {mistyped(TEXT, draw_numbers(str(number)), kinds=kinds) for number in range(50)}
    assert len(made) > 20
    assert all([word[0] for word in each.split()] == [word[0] for word in TEXT.split()] for each in made)
    assert mistyped(TEXT, draw_numbers("7"), kinds=kinds) == mistyped(TEXT, draw_numbers("7"), kinds=kinds)
    assert mistyped("我们走。 a 12", draw_numbers("7")) == "我们走。 a 12"


def test_joining_and_copies():
    assert join_texts(["One.", " Two. "]) == "One. Two."
    assert join_texts(["一。", "二。"]) == "一。二。"
    made = [untranslatable(draw_numbers(str(number))) for number in range(100)]
    assert len(set(made)) > 60
    assert all(text.strip() == text != "" for text in made)
