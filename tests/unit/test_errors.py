"""Proposals of similar names."""

from __future__ import annotations

import pytest

from dragoman.errors import did_you_mean

LEGAL = ("--beam", "--source", "--max-length", "--max-ratio", "--min-length")


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("--baem", "--beam"),  # exchanged letters
        ("--max-r", "--max-ratio"),  # the beginning of one name
        ("--ratio", "--max-ratio"),  # a word of one name
        ("--the-beam", "--beam"),
        ("--BEAM", "--beam"),
        ("--m_length", "--max-length or --min-length"),  # equally similar
        ("--force", None),
        ("--x", None),
    ],
)
def test_only_similar_names_are_proposed(typed: str, near: str | None):
    assert did_you_mean(typed, LEGAL, prefix="--") == (f"; did you mean {near}?" if near else "")


def test_without_a_similar_name_all_are_listed_under_a_heading():
    assert did_you_mean("x", ("rnn", "transformer"), otherwise="families") == "; families: rnn, transformer"
    assert did_you_mean("rrn", ("rnn", "transformer"), otherwise="families") == "; did you mean rnn?"
