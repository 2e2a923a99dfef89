"""The file of decisions on pairs."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_128_intdigest

from dragoman.data.duplicates.decisions import Decision, DecisionFile, choose_held_out
from dragoman.errors import DataError
from tests.unit.data.duplicates.stored import store

sources = st.sampled_from(["A", "a!", "b", "c", "d", "E", "e", "f"])
corpora = st.lists(st.tuples(sources, st.sampled_from(["x", "y", "z"])), max_size=30)
cuts = st.lists(st.integers(0, 30), max_size=5)


def test_all_are_kept_at_first(tmp_path):
    decisions = DecisionFile.create(tmp_path / "decisions", 5)
    assert decisions.counts() == {Decision.KEPT: 5}
    assert [path.name for path in tmp_path.iterdir()] == ["decisions"]


def test_a_chunk_writes_to_the_file(tmp_path):
    decisions = DecisionFile.create(tmp_path / "decisions", 5)
    decisions.chunk(2, 3)[[0, 2]] = Decision.LEAKED
    decisions.flush()
    assert (tmp_path / "decisions").read_bytes() == bytes([0, 0, 3, 0, 3])
    assert DecisionFile(tmp_path / "decisions").counts() == {Decision.KEPT: 3, Decision.LEAKED: 2}


def test_making_it_anew_forgets(tmp_path):
    DecisionFile.create(tmp_path / "decisions", 5).bytes[:] = Decision.TEST
    assert DecisionFile.create(tmp_path / "decisions", 3).counts() == {Decision.KEPT: 3}


def test_no_pairs(tmp_path):
    decisions = DecisionFile.create(tmp_path / "decisions", 0)
    decisions.flush()
    assert decisions.counts() == {}
    assert len(decisions.chunk(0, 0)) == 0


def test_labels():
    assert [decision.label for decision in (Decision.KEPT, Decision.DUPLICATE_PAIR, Decision.NEAR_DUPLICATE)] == [
        "kept",
        "duplicate pair",
        "near-duplicate",
    ]


def chosen(stored, count, seed=1):
    positions = choose_held_out(stored.key_files, stored.starts, count, seed, stored.decisions)
    return [stored.pairs[at] for at in positions.tolist()]


@given(corpora, cuts, cuts, st.randoms(use_true_random=False), st.integers(0, 3))
def test_neither_order_nor_chunks_matter(tmp_path_factory, pairs, some_cuts, other_cuts, draw, seed):
    folder = tmp_path_factory.mktemp("held-out")
    shuffled = draw.sample(pairs, len(pairs))
    different = {source.strip("!").lower() for source, _ in pairs}
    count = draw.randint(0, len(different))
    first = chosen(store(folder / "1", pairs, some_cuts), count, seed)
    second = chosen(store(folder / "2", shuffled, other_cuts), count, seed)
    assert first == second
    assert len({source.strip("!").lower() for source, _ in first}) == count


def test_the_first_of_equal_pairs(tmp_path):
    stored = store(tmp_path, [("a", "b")] * 5, [2])
    assert choose_held_out(stored.key_files, stored.starts, 1, 1, stored.decisions).tolist() == [0]


def test_the_seed_matters_and_a_larger_set_holds_the_smaller(tmp_path):
    stored = store(tmp_path, [(str(at), "x") for at in range(1000)], [400])
    assert chosen(stored, 20, seed=1) != chosen(stored, 20, seed=2)
    assert chosen(stored, 20) == chosen(stored, 50)[:20]


def test_all_sources_are_as_likely(tmp_path):
    """The middle of 4,000 draws from 0 .. 999 is 499.5, give or take 4.6 (one standard deviation)."""
    stored = store(tmp_path, [(str(at), "x") for at in range(1000)])
    drawn = [int(source) for seed in range(40) for source, _ in chosen(stored, 100, seed)]
    assert abs(sum(drawn) / len(drawn) - 499.5) < 20


def test_the_choice_is_a_published_function_of_the_text_and_the_seed(tmp_path):
    """XXH3 of the folded source, upper half, combined with SplitMix64: by hand, without arrays."""

    def stir(word):
        word = (word + 0x9E3779B97F4A7C15) % 2**64
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        return word ^ word >> 31

    def number(pair):
        return stir(xxh3_128_intdigest(pair[0].replace(" ", "").encode("utf-32-le")) >> 64 ^ stir(1))

    stored = store(tmp_path, [(f"sentence {at}", "x") for at in range(100)])
    assert chosen(stored, 9) == sorted(stored.pairs, key=number)[:9]
    assert [source for source, _ in chosen(stored, 3)] == ["sentence 89", "sentence 87", "sentence 70"]


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 2**200])
def test_any_seed_from_0_up(tmp_path, seed):
    stored = store(tmp_path, [(str(at), "x") for at in range(1000)])
    assert len(set(chosen(stored, 20, seed))) == 20
    for other in (seed + 1, seed + 2**64, seed + 2**128):
        assert chosen(stored, 20, seed) != chosen(stored, 20, other)


def test_only_pairs_that_are_kept(tmp_path):
    stored = store(tmp_path, [(str(at), "x") for at in range(10)])
    stored.decisions.bytes[random.Random(1).sample(range(10), 5)] = Decision.LEAKED
    kept = {
        pair for pair, decision in zip(stored.pairs, stored.decisions.bytes, strict=True) if decision == Decision.KEPT
    }
    assert set(chosen(stored, 5)) == kept


def test_too_many(tmp_path):
    stored = store(tmp_path, [("a", "b"), ("A", "c")])
    with pytest.raises(DataError, match="at most the number of different sources, 1, got 2"):
        chosen(stored, 2)


def test_progress(tmp_path):
    stored = store(tmp_path, [("a", "b"), ("A", "c")], [1])
    shares: list[float] = []
    choose_held_out(stored.key_files, stored.starts, 1, 1, stored.decisions, progress=shares.append)
    assert shares == [0.5, 1.0]
