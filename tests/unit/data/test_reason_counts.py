"""Counts and first places: the parts, merged in order, are the whole."""

import json

from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.reason_counts import MAX_EXAMPLES, Example, Tally

REASONS = st.sampled_from(["too long", "empty", "not UTF-8"])
EVENTS = st.lists(st.tuples(REASONS, st.integers(1, 10**6)), max_size=60)


def tally_of(events: list[tuple[str, int]]) -> Tally:
    tally = Tally()
    for reason, line in events:
        tally.add(reason, 1, [Example("a.en", line, "source", "target")])
    return tally


@given(EVENTS, st.data())
def test_merged_parts_are_the_whole(events: list[tuple[str, int]], data: st.DataObject):
    cut = data.draw(st.integers(0, len(events)))
    merged = tally_of(events[:cut])
    merged.merge(tally_of(events[cut:]))
    assert merged == tally_of(events)
    assert merged.total == len(events)


@given(EVENTS)
def test_the_first_of_each_reason_are_kept(events: list[tuple[str, int]]):
    tally = tally_of(events)
    for reason, count in tally.counts.items():
        lines = [line for other, line in events if other == reason]
        assert count == len(lines)
        assert [example.line for example in tally.examples[reason]] == lines[:MAX_EXAMPLES]


@given(EVENTS)
def test_it_reads_back(events: list[tuple[str, int]]):
    tally = tally_of(events)
    assert Tally.from_json(json.loads(json.dumps(tally.to_json()))) == tally


def test_nothing_is_not_counted():
    tally = Tally()
    tally.add("empty", 0)
    assert tally == Tally()


def test_long_texts_are_cut():
    tally = Tally()
    tally.add("too long", 1, [Example("a", 1, "x" * 10**6, "short", "y" * 400)])
    (example,) = tally.examples["too long"]
    assert (len(example.source), example.target, len(example.detail)) == (300, "short", 300)
    assert example.source.endswith("…")
    assert example.place == "a:1"


def test_examples_are_looked_at_only_as_far_as_there_is_room():
    tally = Tally()
    tally.add("empty", 10**9, (Example("a", line) for line in iter(lambda: 1, 2)))
    assert len(tally.examples["empty"]) == MAX_EXAMPLES
