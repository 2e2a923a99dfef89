"""Each bin is scored as a file of its own would be."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.metrics.corpus_scores import corpus_scores, scores_by_length
from dragoman.evaluation.results import LengthBin
from dragoman.evaluation.significance import corpus_statistics
from dragoman.text.words import count_words, map_words
from tests.unit.evaluation.sacrebleu_command import spoilt

SOURCES = [" ".join(["word"] * (number % 27)) for number in range(60)]
REFERENCES = [f"The {number}th cat of {number * 7} sat on the mat, and slept." for number in range(60)]
HYPOTHESES = spoilt(REFERENCES)


def by_length(
    sources: list[str],
    hypotheses: list[str],
    references: list[str],
    *,
    metrics: tuple[str, ...] = ("bleu", "chrf"),
    **options: Any,
) -> tuple[LengthBin, ...]:
    return scores_by_length(sources, corpus_statistics(hypotheses, references, metrics=metrics), **options)


def test_bins_are_scored_by_themselves() -> None:
    found = by_length(SOURCES, HYPOTHESES, REFERENCES, edges=(1, 10, 20, 30), resamples=30)
    assert [(each.low, each.high, each.sentences) for each in found] == [(1, 9, 23), (10, 19, 20), (20, 29, 14)]
    rows = [row for row, source in enumerate(SOURCES) if 10 <= len(source.split()) < 20]
    parts = [[texts[row] for row in rows] for texts in (HYPOTHESES, REFERENCES)]
    assert found[1].scores == corpus_scores(*parts, metrics=("bleu", "chrf"), resamples=30)
    assert all(score.interval is not None for each in found for score in each.scores)


def test_the_last_bin_is_open_and_no_words_are_no_length() -> None:
    found = by_length(["", "a b c", "a " * 99], ["x"] * 3, ["x"] * 3, resamples=2)
    assert [(each.low, each.high, each.sentences) for each in found] == [(1, 9, 1), (60, None, 1)]
    assert by_length([""], ["x"], ["x"]) == ()
    assert by_length([""], ["x"], ["x"], edges=[0, 5], resamples=0)[0].high == 4


@pytest.mark.parametrize("edges", [[], [5, 5], [9, 3], [-1, 4]])
def test_edges_go_upwards(edges: list[int]) -> None:
    with pytest.raises(ConfigError, match="edges must go upwards from 0 or more"):
        by_length(SOURCES, HYPOTHESES, REFERENCES, edges=edges)


def test_one_source_for_each_translation() -> None:
    with pytest.raises(DataError, match="sources and hypotheses must have equal numbers, got 59 and 60"):
        by_length(SOURCES[1:], HYPOTHESES, REFERENCES)


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("  ", 0), ("A cat's mat .", 4), ("我用Python写。", 5), ("한국어 문장", 2), ("สวัสดี", 4)],
)
def test_length_is_in_words_and_in_characters_where_no_spaces_are(text: str, words: int) -> None:
    assert count_words(text) == words


@given(st.text("ab1 ,我。กั\u0301\u3099\u200d\u3000\t"))
def test_words_are_those_of_alignments(text: str) -> None:
    assert count_words(text) == len([word for word in map_words(list(text)).words if word])
