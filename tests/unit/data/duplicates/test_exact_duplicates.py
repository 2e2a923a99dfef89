"""Exact duplicates, against a dictionary."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.duplicates import decisions as exact
from dragoman.data.duplicates.decisions import Decision, mark_duplicates, part_ranges
from dragoman.data.duplicates.pair_keys import read_keys
from dragoman.data.worker_processes import Workers
from tests.unit.data.duplicates.stored import corpora_of_few_texts, cuts, store

some_kinds = st.lists(st.sampled_from(["pair", "source", "target"]), unique=True)


def by_dictionary(pairs, kinds, dropped=()):
    """The decisions, and the positions of duplicates and of the pairs kept instead."""
    decisions = [Decision.LEAKED if at in dropped else Decision.KEPT for at in range(len(pairs))]
    places = {}
    for kind in ("pair", "source", "target"):
        if kind not in kinds:
            continue
        first: dict[object, int] = {}
        found = []
        for at, pair in enumerate(pairs):
            key = {"pair": pair, "source": pair[0], "target": pair[1]}[kind]
            if decisions[at] == Decision.KEPT and first.setdefault(key, at) != at:
                decisions[at] = Decision[f"DUPLICATE_{kind.upper()}"]
                found.append((at, first[key]))
        places[kind] = found
    return decisions, places


@given(corpora_of_few_texts, cuts, some_kinds, st.sets(st.integers(0, 39), max_size=4), st.sampled_from([1, 7, 1000]))
def test_as_a_dictionary_does(tmp_path_factory, pairs, cuts, kinds, dropped, rows_a_task):
    stored = store(tmp_path_factory.mktemp("exact"), pairs, cuts)
    dropped = {at for at in dropped if at < len(pairs)}
    stored.decisions.bytes[sorted(dropped)] = Decision.LEAKED
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "_ROWS_A_TASK", rows_a_task)
        found = mark_duplicates(stored.key_files, stored.starts, kinds, stored.decisions)
    decisions, places = by_dictionary(pairs, kinds, dropped)
    assert stored.decisions.bytes.tolist() == decisions
    assert {kind: (repeats.count, repeats.examples) for kind, repeats in found.items()} == {
        kind: (len(each), each[:10]) for kind, each in places.items()
    }


def test_two_processes_do_the_same(tmp_path, monkeypatch):
    draw = random.Random(3)
    pairs = [(str(draw.randrange(200)), str(draw.randrange(200))) for _ in range(2000)]
    monkeypatch.setattr(exact, "_ROWS_A_TASK", 300)
    stored = store(tmp_path, pairs, [300, 301, 1200])
    with Workers(2) as workers:
        found = mark_duplicates(stored.key_files, stored.starts, ["pair", "target"], stored.decisions, workers=workers)
    decisions, places = by_dictionary(pairs, ["pair", "target"])
    assert stored.decisions.bytes.tolist() == decisions
    assert found["target"].examples == places["target"][:10]


def test_half_of_a_key_is_not_a_key(tmp_path, monkeypatch):
    """Different keys that share 64 bits, in one chunk and in two, keep both pairs."""

    def collide(*args):
        keys = read_keys(*args).copy()
        keys["high"] = 5
        return keys

    monkeypatch.setattr(exact, "read_keys", collide)
    pairs = [("a", "a"), ("b", "b"), ("a", "a"), ("c", "c"), ("b", "b"), ("a", "a")]
    stored = store(tmp_path, pairs, [4])
    monkeypatch.setattr(exact, "part_ranges", lambda rows: [(0, 256)])
    mark_duplicates(stored.key_files, stored.starts, ["pair"], stored.decisions)
    assert stored.decisions.bytes.tolist() == by_dictionary(pairs, ["pair"])[0]


def test_nothing_at_all(tmp_path):
    stored = store(tmp_path, [])
    assert mark_duplicates(stored.key_files, stored.starts, ["pair"], stored.decisions)["pair"].count == 0
    assert mark_duplicates([], [], ["pair"], stored.decisions)["pair"].count == 0


def test_all_the_same(tmp_path):
    stored = store(tmp_path, [("a", "b")] * 1000, [100, 500])
    shares: list[float] = []
    found = mark_duplicates(stored.key_files, stored.starts, ["pair"], stored.decisions, progress=shares.append)
    assert stored.decisions.counts() == {Decision.KEPT: 1, Decision.DUPLICATE_PAIR: 999}
    assert found["pair"].examples == [(at, 0) for at in range(1, 11)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_ranges_cover_all_parts():
    for rows in (0, 10, 10**6, 10**7, 10**9):
        ranges = part_ranges(rows)
        assert [part for first, last in ranges for part in range(first, last)] == list(range(256))
    assert len(part_ranges(10**7)) == 10
