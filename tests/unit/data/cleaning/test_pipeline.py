import multiprocessing
from typing import Any

import polars as pl
import pytest
from hypothesis import given

from dragoman.config.corpus import CleaningConfig
from dragoman.data.cleaning.pipeline import apply_filters, build_filters, build_raw_filters
from dragoman.data.reason_counts import MAX_EXAMPLES, Example
from tests.unit.data.cleaning.pairs import LONG, TRICKY, Pair, frame, pairs

ALL_ON = CleaningConfig(language=True, control_characters=True)
FILTERS = build_filters(ALL_ON, source="en", target="de") | build_raw_filters(ALL_ON)
OFF = CleaningConfig(
    max_words=10**6,
    max_characters=10**6,
    max_word_characters=10**6,
    max_ratio=1e9,
    min_letters=0,
    min_script=0,
    identical=False,
    max_similarity=1,
    max_repeats=0,
    numbers=False,
    urls=False,
    markup=False,
)

# A pair that the filter drops, and the settings that make it keep it.
SWITCHES: dict[str, tuple[Pair, dict[str, Any]]] = {
    "too long": (("word " * 500, "Wort " * 500), {"max_characters": 3000}),
    "lengths differ": (("a", LONG), {"max_ratio": 1000.0}),
    "markup differs": (("<b>house</b>", "Haus"), {"markup": False}),
    "addresses differ": (("www.a.org", "www.b.org"), {"urls": False}),
    "too many words": (("word " * 251, "Wort " * 251), {"max_words": 300}),
    "word too long": (("a " + "x" * 101, "a " + "y" * 101), {"max_word_characters": 200}),
    "sides the same": (("house", "House"), {"identical": False}),
    "numbers differ": (("order 24680", "Auftrag 13579"), {"numbers": False}),
    "few letters": (("1984", "1984"), {"min_letters": 0.0}),
    "sides alike": (("Tom is arrogant.", "Tom ist arrogant."), {"max_similarity": 1.0}),
    "other script": (("Привет", "Hallo"), {"min_script": 0.0}),
    "repeats itself": (("no " * 12, "nein " * 12), {"max_repeats": 0}),
    "other language": (("Der Hund läuft schnell über die Wiese.", "Der Hund"), {"language": False}),
    "too few words": (("a b", "a b"), {"min_words": 1}),
}


@pytest.mark.parametrize("reason", SWITCHES)
def test_each_filter_has_its_switch(reason: str):
    pair, off = SWITCHES[reason]
    on = CleaningConfig(language=True, min_words=3 if reason == "too few words" else 1)
    assert build_filters(on, source="en", target="de")[reason](frame([pair])).item()
    switched = build_filters(on.model_copy(update=off), source="en", target="de")
    assert reason not in switched or not switched[reason](frame([pair])).item()


def test_control_characters_are_dropped_only_on_request():
    assert build_raw_filters(CleaningConfig()) == {}
    assert list(build_raw_filters(ALL_ON)) == ["control characters"]


def test_every_reason_but_emptiness_has_a_switch():
    assert set(build_filters(ALL_ON, source="en", target="de")) == {"empty", *SWITCHES}


def test_with_every_switch_off_only_empty_sides_are_dropped():
    filters = build_filters(OFF, source="en", target="de")
    left, tally = apply_filters(frame(TRICKY), filters, "f")
    assert set(tally.counts) <= {"empty", "too few words"}
    assert left.height == len(TRICKY) - tally.total


@given(pairs)
def test_filters_are_pure_and_judge_each_pair_alone(pairs: list[Pair]):
    batch = frame(pairs)
    for reason, find in FILTERS.items():
        marks = find(batch)
        assert marks.dtype == pl.Boolean
        assert marks.null_count() == 0
        assert marks.to_list() == [find(frame([pair])).item() for pair in pairs], reason
        assert batch.equals(frame(pairs))


def test_filters_can_be_sent_to_another_process():
    there, here = multiprocessing.Pipe()
    there.send(FILTERS)
    for reason, find in here.recv().items():
        assert find(frame(TRICKY)).equals(FILTERS[reason](frame(TRICKY)))


def test_other_columns_stay():
    left, _ = apply_filters(frame([("house", "Haus")]).with_columns(score=pl.lit(1.5)), FILTERS, "f")
    assert left.columns == ["source", "target", "line", "score"]


def test_drops_are_counted_by_the_first_reason_with_their_places():
    many = [("house", "Haus"), ("", "leer"), ("Trinidad", "Trinidad"), ("order 24680", "Auftrag 13579")]
    left, tally = apply_filters(frame(many), build_filters(CleaningConfig(), source="en", target="de"), "corpus.en")
    assert left["line"].to_list() == [1]
    assert tally.counts == {"empty": 1, "sides the same": 1, "numbers differ": 1}
    assert tally.examples["empty"] == [Example("corpus.en", 2, "", "leer")]
    assert tally.examples["numbers differ"] == [Example("corpus.en", 4, "order 24680", "Auftrag 13579")]


def test_examples_are_few():
    _, tally = apply_filters(frame([("", "leer")] * 50), build_filters(CleaningConfig(), source="en", target="de"), "f")
    assert tally.counts == {"empty": 50}
    assert [example.line for example in tally.examples["empty"]] == list(range(1, MAX_EXAMPLES + 1))


def test_nothing_in_nothing_out():
    left, tally = apply_filters(frame([]), FILTERS, "f")
    assert left.height == tally.total == 0
