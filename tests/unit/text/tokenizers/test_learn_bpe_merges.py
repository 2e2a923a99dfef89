import pytest

from dragoman.text.tokenizers.extend import learn_merges


def test_the_most_frequent_neighbours_are_joined_first():
    words = [(["▁", "l", "o", "w"], 5), (["▁", "l", "o", "w", "e", "r"], 2), (["▁", "n", "e", "w"], 3)]
    made = learn_merges(words, max_merges=4, min_count=2)
    assert made == ["lo", "low", "▁low", "ew"]


def test_every_token_is_two_that_were_there():
    words = [(list("▁infarction"), 9), (list("▁fraction"), 7), (list("▁action"), 5)]
    made = learn_merges(words, max_merges=50, min_count=2)
    there = set("▁infarctionfraction")
    for token in made:
        assert any(token[:place] in there and token[place:] in there for place in range(1, len(token))), token
        there.add(token)
    assert {"▁infarction", "▁fraction", "▁action"} <= there


def test_counts_follow_the_merges():
    """After "ab" is made, "bc" remains only without an "a" before it."""
    words = [(["a", "b", "c"], 10), (["a", "b"], 5), (["b", "c"], 3)]
    assert learn_merges(words, max_merges=9, min_count=4) == ["ab", "abc"]
    assert learn_merges(words, max_merges=9, min_count=3) == ["ab", "abc", "bc"]


def test_what_is_rare_or_known_is_not_made():
    assert learn_merges([(["a", "b"], 1)], max_merges=5, min_count=2) == []
    assert learn_merges([(["a", "b"], 5)], max_merges=5, min_count=2, known=["ab"]) == []
    assert learn_merges([(["a", "b"], 5)], max_merges=0, min_count=2) == []


@pytest.mark.parametrize(
    "pair", [("▁a", "1"), ("a", "."), ("a", "▁b"), ("▁", "▁"), ("aaaaaaaaa", "bbbbbbbb"), ("1", ",")]
)
def test_tokens_mix_no_kinds_and_stay_short(pair: tuple[str, str]):
    assert learn_merges([(list(pair), 9)], max_merges=1, min_count=1) == []


@pytest.mark.parametrize("pair", [("▁", "a"), ("▁1", "2"), (".", "."), ("e", "\u0301"), ("字", "母")])
def test_tokens_of_one_kind_are_made(pair: tuple[str, str]):
    assert learn_merges([(list(pair), 9)], max_merges=1, min_count=1) == ["".join(pair)]


def test_repeated_letters_are_joined_from_the_left():
    assert learn_merges([(["a", "a", "a"], 4)], max_merges=2, min_count=2) == ["aa", "aaa"]
