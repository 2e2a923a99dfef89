"""The judgement on the languages of a corpus; tests of new, check and prepare have whole corpora."""

import pytest

from dragoman.text.other_language import SideLanguage, are_swapped, main_language


@pytest.mark.parametrize(
    ("declared", "shares", "other", "is_wrong"),
    [
        ("de", {"de": 1.0}, "", False),
        ("de-AT", {"de": 0.5, "en": 0.5}, "", False),
        ("de", {"en": 0.6, "de": 0.4}, "en", True),
        ("de", {}, "", False),
        ("xyz", {"en": 0.79}, "", False),
        ("xyz", {"en": 0.8}, "en", False),
        ("chr", {"en": 0.8}, "en", True),
    ],
)
def test_one_side(declared: str, shares: dict[str, float], other: str, is_wrong: bool):
    judged = SideLanguage(declared, shares)
    assert (judged.other, judged.share, judged.is_wrong) == (other, shares.get(other, 0.0), is_wrong)


def test_the_words_of_a_problem_say_if_the_declared_language_is_unknown_to_the_model():
    known, unknown = SideLanguage("de", {"en": 0.9, "de": 0.1}), SideLanguage("xyz", {"en": 0.9})
    assert known.problem("source", "a.de") == "the source of a.de must be de, got 90.0 % en"
    assert (
        unknown.problem("target", "a") == "the target of a must be xyz, got 90.0 % en (xyz itself cannot be detected)"
    )


@pytest.mark.parametrize(
    ("found", "declared", "expected"),
    [
        (("en", "de"), ("de", "en"), True),
        (("en", "zh"), ("zh-Hant", "en"), True),
        (("de", "en"), ("de", "en"), False),
        (("en", "fr"), ("de", "en"), False),
        (("", ""), ("de", "en"), False),
        (("en", "en"), ("en-GB", "en-US"), False),
    ],
)
def test_swapped_sides(found: tuple[str, str], declared: tuple[str, str], expected: bool):
    assert are_swapped(found, declared) == expected


def test_the_main_language_has_more_than_half_of_the_texts():
    assert (main_language({"en": 0.51, "de": 0.49}), main_language({"en": 0.5, "de": 0.5}), main_language({})) == (
        "en",
        "",
        "",
    )
