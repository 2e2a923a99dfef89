from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.data.cleaning.filters.repetition import has_repetition, repetitive
from tests.unit.data.cleaning.pairs import drops, frame

words = st.lists(st.sampled_from(["a", "no", "nope", "né", "我", "12", "-"]), max_size=40)


def literally(tokens: list[str], maximum: int) -> bool:
    """Every run at every place, compared with what follows it."""
    for start in range(len(tokens)):
        for size in range(1, len(tokens)):
            run = tokens[start : start + size]
            times = maximum + 2
            if tokens[start : start + size * times] == run * times and any(map(str.isalpha, "".join(run))):
                return True
    return False


@given(words, st.integers(1, 4))
@example(["a", "b"] * 3, 1)
@example(["-"] * 9 + ["a"] * 4, 2)
@example(["a"] * 3, 1)
def test_runs_are_found_as_a_literal_search_finds_them(tokens: list[str], maximum: int):
    expected = literally(tokens, maximum)
    assert has_repetition(tokens, maximum) is expected
    assert drops(partial(repetitive, source="en", target="en", maximum=maximum), " ".join(tokens), "a") is expected
    characters = "".join(tokens)
    found = drops(partial(repetitive, source="en", target="zh", maximum=maximum), "a", characters)
    assert found is literally(list(characters), maximum)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "no " * 9 + "no", True),
        ("en", "no " * 8 + "no", False),
        ("en", "Row, row, row your boat", False),
        ("en", "the cat and " * 10, True),
        ("en", "the cat and " * 9, False),
        ("en", "yes, " + "a b c d e f g h i j k l " * 10 + "yes", True),
        ("en", "- " * 40, False),
        ("en", "hahahahahahahahahahahahahaha", False),
        ("zh", "哈" * 10, True),
        ("zh", "哈" * 9, False),
        ("zh", "他说：" + "好的" * 10 + "。", True),
        ("zh", "…" * 40, False),
        ("cmn", "哈" * 10, True),
        ("ja", "いいえ" * 10, True),
        ("th", "ครับ" * 10, True),
        ("ko", "네 " * 10, True),
        ("ar", "لا " * 10, True),
        ("en", "", False),
        ("en", "a", False),
        ("en", "😀 " * 20, False),
        ("en", "é " * 10, True),
    ],
)
def test_repeats(language: str, text: str, expected: bool):
    assert drops(partial(repetitive, source=language, target="en", maximum=8), text.strip(), "a") is expected
    assert drops(partial(repetitive, source="en", target=language, maximum=8), "a", text.strip()) is expected


def test_pairs_that_are_alike_are_not_taken_for_one_that_repeats_itself():
    many = frame([("A man in a red shirt.", "Ein Mann.")] * 50)
    assert not repetitive(many, source="en", target="de", maximum=8).any()


def test_a_frame_without_pairs():
    assert repetitive(frame([]), source="en", target="zh", maximum=8).to_list() == []


def test_many_pairs_are_looked_at_in_parts():
    many = [("A man in a red shirt.", "Ein Mann.")] * 20_000
    for row in (0, 8191, 8192, 19_999):
        many[row] = ("no " * 12, "nein")
    assert repetitive(frame(many), source="en", target="de", maximum=8).arg_true().to_list() == [0, 8191, 8192, 19_999]
