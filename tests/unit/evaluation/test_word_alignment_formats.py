"""Links between words as files hold them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.word_alignment import (
    GoldLinks,
    detect_format,
    parse_gold_links,
    pharaoh_line,
)

LINKS = st.frozensets(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12)
GOLD = st.lists(st.builds(GoldLinks, LINKS, LINKS), max_size=5)


def test_pharaoh():
    read = parse_gold_links(["0-0 1p2 ?3-4 5?6", ""])
    assert read == [GoldLinks(frozenset({(0, 0)}), frozenset({(1, 2), (3, 4), (5, 6)})), GoldLinks()]
    assert [sorted(each.possible) for each in parse_gold_links(["1-0 0p1"])] == [[(0, 1), (1, 0)]]
    assert pharaoh_line(read[0]) == "0-0 1p2 3p4 5p6"


def test_pharaoh_counted_from_one():
    assert parse_gold_links(["1-1 2p3"], first=1) == [GoldLinks(frozenset({(0, 0)}), frozenset({(1, 2)}))]
    assert pharaoh_line(((1, 2), (0, 0)), first=1) == "1-1 2-3"


def test_naacl():
    lines = ["0001 1 1 S", "0001 2 3 P", "", "3 4 5", "3 1 1 S 0.75"]
    read = parse_gold_links(lines)
    assert read == [
        GoldLinks(frozenset({(0, 0)}), frozenset({(1, 2)})),
        GoldLinks(),
        GoldLinks(frozenset({(3, 4), (0, 0)})),
    ]
    assert parse_gold_links(lines, pairs=5)[3:] == [GoldLinks(), GoldLinks()]
    assert parse_gold_links(["1 0 0"], first=0) == [GoldLinks(frozenset({(0, 0)}))]


def test_a_format_is_told_only_where_there_is_no_doubt():
    assert detect_format(["", "0-1 2p3"]) == "pharaoh"
    assert detect_format(["1 2 3 S", "1 2 3"]) == "naacl"
    assert detect_format([]) is None
    assert detect_format(["0-1", "1 2 3 S"]) is None


@given(GOLD, st.sampled_from([0, 1]))
def test_what_was_written_is_read_again(gold: list[GoldLinks], first: int):
    lines = [pharaoh_line(each, first=first) for each in gold]
    assert parse_gold_links(lines, form="pharaoh", first=first) == gold
    lines = [
        f"{pair + 1} {source + first} {target + first} {'S' if (source, target) in each.sure else 'P'}"
        for pair, each in enumerate(gold)
        for source, target in each.possible
    ]
    assert parse_gold_links(lines, form="naacl", first=first, pairs=len(gold)) == gold


@pytest.mark.parametrize(
    ("lines", "form", "expected"),
    [
        (["0-0", "1-2 x"], "pharaoh", "gold:2: a link must be two numbers such as 3-5.*got 'x'"),
        (["0-0 1--2"], "pharaoh", "gold:1: a link must be two numbers"),
        (["0-0 1-2²"], "pharaoh", "gold:1: a link must be two numbers"),
        (["1 1 1 S", "1 1"], "naacl", "gold:2: a line must be a pair, two words and a mark such as 1 3 5 S, got '1 1'"),
        (["0 1 1 S"], "naacl", "gold:1: the number of a sentence pair must be at least 1, got 0"),
        (["1 0 1 S"], "naacl", "gold:1: the source word of a link must be at least 1, got 0; .* count from 0"),
        (["hello"], None, "gold must be links in the Pharaoh format"),
    ],
)
def test_what_is_no_link(lines: list[str], form: str | None, expected: str):
    with pytest.raises(DataError, match=expected):
        parse_gold_links(lines, name="gold", form=form)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["0-0", "0-3", ""], "gold:2: the target word of a link must be from 0 to 2, got 3; .* count from 1"),
        (["2-0", "", ""], "gold:1: the source word of a link must be from 0 to 1, got 2"),
        (
            ["", "", "0-0"],
            "gold:3: a link has target word 0, but the target of this pair has",
        ),
        (["0-0"], "gold must have a line of links for each of 3 sentence pairs, got 1 lines"),
        (["4 1 1 S"], "gold:1: the number of a sentence pair must be from 1 to 3, got 4"),
    ],
)
def test_what_does_not_fit_the_texts(lines: list[str], expected: str):
    with pytest.raises(DataError, match=expected):
        parse_gold_links(lines, name="gold", lengths=[(2, 2), (3, 3), (1, 0)])


def test_settings():
    with pytest.raises(ConfigError, match="format of links must be pharaoh or naacl, got 'moses'"):
        parse_gold_links([], form="moses")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="must be counted from 0 or 1, got 2"):
        parse_gold_links(["0-0"], first=2)


@pytest.mark.parametrize(
    ("name", "sure", "possible"),
    [("europarl-de-en", 1232, 0), ("hansards-en-fr", 4038, 13400), ("wpt03-ro-en", 6198, 0)],
)
def test_hand_made_links(corpora: Path, name: str, sure: int, possible: int):
    """As many as were published, and all within their sentences."""
    first, second = name.split("-")[-2:]
    sides = [
        gzip.decompress((corpora / "alignment-gold" / f"{name}.{side}.gz").read_bytes()).decode().splitlines()
        for side in (first, second, "align")
    ]
    lengths = [(len(source.split()), len(target.split())) for source, target in zip(*sides[:2], strict=True)]
    gold = parse_gold_links(sides[2], first=1, lengths=lengths)
    assert sum(len(each.sure) for each in gold) == sure
    assert sum(len(each.possible) for each in gold) == sure + possible
