"""Near-duplicates, against sets of character sequences."""

import random
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.duplicates import decisions as exact
from dragoman.data.duplicates import near_duplicates as near
from dragoman.data.duplicates.decisions import Decision
from dragoman.data.duplicates.near_duplicates import mark_near_duplicates
from dragoman.data.duplicates.stored_pairs import Bands, PairComparer, bands_for, jaccard, shingles
from dragoman.data.worker_processes import Workers
from tests.unit.data.duplicates.stored import cuts, folded, frame_of, store

LETTERS = "abcdefghijklmnopqrstuvwxyzäöü"


@lru_cache(maxsize=10_000)
def sequences(pair):
    text = folded(pair[0]) + "\0" + folded(pair[1]) + "\0" * 4
    return {text[at : at + 5] for at in range(len(text) - 4)}


def likeness(left, right):
    left, right = sequences(left), sequences(right)
    return len(left & right) / len(left | right)


def mark(stored, similarity, **options):
    return mark_near_duplicates(
        stored.chunk_files,
        stored.key_files,
        stored.band_files,
        stored.starts,
        stored.decisions,
        similarity=similarity,
        **options,
    )


def sentence(draw, words=12):
    return " ".join("".join(draw.choices(LETTERS, k=draw.randint(2, 9))) for _ in range(words))


def edited(draw, pair, changes):
    words = [side.split() for side in pair]
    for _ in range(changes):
        side = draw.choice(words)
        side[draw.randrange(len(side))] = sentence(draw, 1)
    return " ".join(words[0]), " ".join(words[1])


def families(draw, count):
    """Unlike pairs, each followed somewhere by a few that were made from it, by few changes or by many."""
    pairs = []
    for _ in range(count):
        first = (sentence(draw), sentence(draw))
        pairs.append(first)
        pairs += [edited(draw, first, draw.randint(0, 5)) for _ in range(draw.randint(0, 4))]
    draw.shuffle(pairs)
    return pairs


def unlike(stored, similarity):
    """The dropped pairs that are like no pair that is kept."""
    kept = [
        pair for pair, decision in zip(stored.pairs, stored.decisions.bytes, strict=True) if decision == Decision.KEPT
    ]
    dropped = [
        pair for pair, decision in zip(stored.pairs, stored.decisions.bytes, strict=True) if decision != Decision.KEPT
    ]
    return [pair for pair in dropped if max(likeness(pair, each) for each in kept) < similarity]


@given(st.lists(st.tuples(st.text(LETTERS + " .A語", max_size=9), st.text(LETTERS, max_size=9)), max_size=8))
def test_likeness_is_the_share_of_common_sequences(pairs):
    others = pairs[1:] + pairs[:1]
    found = jaccard(shingles(frame_of(pairs)), shingles(frame_of(others)))
    assert found.tolist() == pytest.approx([likeness(*each) for each in zip(pairs, others, strict=True)])


@pytest.mark.parametrize("similarity", [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
def test_bands_find_what_is_alike_and_little_else(similarity):
    bands = bands_for(similarity)
    assert bands.count * bands.hashes <= 128
    assert bands.recall(similarity) >= 0.95
    assert bands.recall(similarity - 0.3) < 0.35


def test_bands_by_hand():
    assert bands_for(0.8) == Bands(count=13, hashes=7)


@pytest.mark.parametrize("similarity", [0.7, 0.8])
def test_recall_and_no_false_drops(tmp_path, similarity):
    pairs = families(random.Random(5), 150)
    stored = store(tmp_path, pairs, [100, 250], similarity)
    mark(stored, similarity)
    assert unlike(stored, similarity) == []
    is_kept = stored.decisions.bytes == Decision.KEPT
    by_sequence: dict[str, list[int]] = {}
    alike = missed = 0
    for at, pair in enumerate(pairs):
        rivals = {rival for token in sequences(pair) for rival in by_sequence.get(token, ())}
        if any(likeness(pair, pairs[rival]) >= 0.9 for rival in rivals if is_kept[rival]):
            alike += 1
            missed += bool(is_kept[at])
        for token in sequences(pair):
            by_sequence.setdefault(token, []).append(at)
    assert alike > 50
    assert missed <= 0.05 * alike


@settings(max_examples=8)
@given(st.integers(0, 1000), cuts, st.sampled_from([0.6, 0.8]))
def test_neither_chunks_nor_goes_matter(tmp_path_factory, seed, cuts, similarity):
    pairs = families(random.Random(seed), 15)
    folder = tmp_path_factory.mktemp("near")
    whole, cut = store(folder / "1", pairs, [], similarity), store(folder / "2", pairs, cuts, similarity)
    first = mark(whole, similarity)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "_ROWS_A_TASK", 5)
        patch.setattr(near, "_ROWS_AT_ONCE", 1)
        second = mark(cut, similarity)
    assert unlike(whole, similarity) == []
    assert whole.decisions.bytes.tolist() == cut.decisions.bytes.tolist()
    assert first == second
    assert first.count == whole.decisions.counts().get(Decision.NEAR_DUPLICATE, 0)


def test_two_processes_do_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(exact, "_ROWS_A_TASK", 100)
    pairs = families(random.Random(2), 100)
    alone, together = store(tmp_path / "1", pairs, [50], 0.8), store(tmp_path / "2", pairs, [70, 200], 0.8)
    with Workers(2) as workers:
        assert mark(alone, 0.8) == mark(together, 0.8, workers=workers)
    assert alone.decisions.bytes.tolist() == together.decisions.bytes.tolist()


def test_a_chain_of_small_changes_drops_only_what_is_like_a_kept_pair(tmp_path):
    draw = random.Random(4)
    pairs = [(sentence(draw, 20), sentence(draw, 20))]
    for _ in range(200):
        pairs.append(edited(draw, pairs[-1], 1))
    for seed in range(3):
        shuffled = random.Random(seed).sample(pairs, len(pairs))
        stored = store(tmp_path / str(seed), shuffled, [60], 0.8)
        found = mark(stored, 0.8)
        assert unlike(stored, 0.8) == []
        assert 20 < stored.decisions.counts()[Decision.KEPT] < 100
        for dropped, kept in found.examples:
            assert stored.decisions.bytes[kept] == Decision.KEPT
            assert kept < dropped
            assert likeness(shuffled[dropped], shuffled[kept]) >= 0.8


def test_the_first_is_kept_and_examples_name_it(tmp_path):
    long = "the quick brown fox jumps over the lazy dog and runs away into the deep dark wood"
    pairs = [("x", "y"), (long, long), (long.upper() + "!", long), (long + "s", long), ("语言。", "x"), ("语言", "X")]
    stored = store(tmp_path, pairs, [2], 0.8)
    shares: list[float] = []
    found = mark(stored, 0.8, progress=shares.append)
    assert np.flatnonzero(stored.decisions.bytes).tolist() == [2, 3, 5]
    assert (found.count, found.examples) == (3, [(2, 1), (3, 1), (5, 4)])
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert not list(tmp_path.glob("*.links"))


def test_pairs_that_are_dropped_already_count_for_nothing(tmp_path):
    stored = store(tmp_path, [("a b c d e", "x"), ("A B C D E", "x"), ("a.b.c.d.e", "x")], [], 0.8)
    stored.decisions.bytes[0] = Decision.LEAKED
    mark(stored, 0.8)
    assert stored.decisions.bytes.tolist() == [Decision.LEAKED, Decision.KEPT, Decision.NEAR_DUPLICATE]


@pytest.mark.parametrize("decision", [Decision.VALIDATION, Decision.TEST])
def test_what_is_like_a_held_out_pair_is_dropped_wherever_that_stands(tmp_path, decision):
    draw = random.Random(7)
    families_of_five = []
    for _ in range(30):
        first = (sentence(draw), sentence(draw))
        families_of_five += [first, *(edited(draw, first, 1) for _ in range(4))]
    for held_out in (0, 2, 4):
        stored = store(tmp_path / str(held_out), families_of_five, [40, 77], 0.6)
        stored.decisions.bytes[held_out::5] = decision
        found = mark(stored, 0.6)
        assert (stored.decisions.bytes[held_out::5] == decision).all()
        assert stored.decisions.counts() == {decision: 30, Decision.NEAR_DUPLICATE: 120}
        assert found.count == 120
        assert all(kept % 5 == held_out and kept // 5 == dropped // 5 for dropped, kept in found.examples)


def test_held_out_pairs_that_are_alike_all_stay(tmp_path):
    long = "the quick brown fox jumps over the lazy dog and runs away into the deep dark wood"
    pairs = [(f"{long} {at}", long) for at in range(9)]
    stored = store(tmp_path, pairs, [4], 0.8)
    stored.decisions.bytes[3:9] = [Decision.VALIDATION, Decision.TEST] * 3
    mark(stored, 0.8)
    assert stored.decisions.bytes.tolist() == [Decision.NEAR_DUPLICATE] * 3 + [Decision.VALIDATION, Decision.TEST] * 3


@settings(max_examples=8)
@given(st.integers(0, 1000), cuts, st.sets(st.integers(0, 14)))
def test_no_pair_like_a_held_out_one_stays(tmp_path_factory, seed, cuts, held_out):
    """The chance that one of these goes unseen is small, and no pair comes back that is like a held-out one."""
    pairs = families(random.Random(seed), 15)
    folder = tmp_path_factory.mktemp("near")
    whole, cut = store(folder / "1", pairs, [], 0.8), store(folder / "2", pairs, cuts, 0.8)
    for stored in (whole, cut):
        stored.decisions.bytes[sorted(held_out)] = Decision.TEST
    first = mark(whole, 0.8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "_ROWS_A_TASK", 5)
        patch.setattr(near, "_ROWS_AT_ONCE", 1)
        assert mark(cut, 0.8) == first
    assert whole.decisions.bytes.tolist() == cut.decisions.bytes.tolist()
    kept = np.flatnonzero(whole.decisions.bytes == Decision.KEPT).tolist()
    assert [at for at in kept if any(likeness(pairs[at], pairs[other]) >= 0.95 for other in held_out)] == []
    for dropped, instead in first.examples:
        assert likeness(pairs[dropped], pairs[instead]) >= 0.8


def test_work_is_linear_in_boilerplate(tmp_path, monkeypatch):
    """Many pairs that share most of their text: each is compared with a few, not with all."""
    draw = random.Random(1)
    body = (sentence(draw, 30), sentence(draw, 30))
    pairs = [(f"{body[0]} {at}", f"{body[1]} {at}") for at in range(3000)]
    compared = []
    real = PairComparer.are_similar

    def counted(self, left, right):
        compared.append(len(left))
        return real(self, left, right)

    monkeypatch.setattr(PairComparer, "are_similar", counted)
    stored = store(tmp_path, pairs, [1000], 0.8)
    mark(stored, 0.8)
    assert stored.decisions.counts() == {Decision.KEPT: 1, Decision.NEAR_DUPLICATE: 2999}
    assert sum(compared) < 10 * len(pairs)


@pytest.mark.parametrize("pairs", [[], [("a", "b")], [("", "")] * 3, [("a", "b")] * 50])
def test_small_and_uniform_corpora(tmp_path, pairs):
    stored = store(tmp_path, pairs, [20], 0.8)
    mark(stored, 0.8)
    assert (stored.decisions.bytes == Decision.KEPT).sum() == min(1, len(pairs))
