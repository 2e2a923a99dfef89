"""The plan of batches."""

import gzip
import time
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.data.batch_plan import (
    BatchPlan,
    CorpusRows,
    PlannedBatch,
    StreamPosition,
    corpus_shares,
    cut_by_tokens,
    order_by_length,
)
from dragoman.errors import ConfigError, DataError
from dragoman.text import train_sentencepiece


def made_lengths(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Lengths as in a corpus: 1 to 60 tokens, sides alike but not equal; a function of the row alone."""
    source = 1 + rows * 2_654_435_761 % 2**32 % 50
    return np.stack([source, np.maximum(1, source + rows * 40_503 % 2**16 % 11 - 4)], axis=1)


def plan_of(*rows: int, weights: tuple[float, ...] = (), **settings: float) -> BatchPlan:
    firsts = np.cumsum([0, *rows])
    weights = weights or (1.0,) * len(rows)
    corpora = [CorpusRows(f"c{n}", int(firsts[n]), rows[n], weights[n]) for n in range(len(rows))]
    chosen = {"seed": 1, "batch_tokens": 500, "window": 1000} | settings
    return BatchPlan(corpora, made_lengths, **chosen)  # type: ignore[arg-type]


def epochs_of(plan: BatchPlan, count: int) -> list[list[PlannedBatch]]:
    found: list[list[PlannedBatch]] = [[] for _ in range(count)]
    for batch in plan.batches():
        if batch.epoch == count:
            return found
        found[batch.epoch].append(batch)
    raise AssertionError


@given(st.lists(st.integers(0, 700), min_size=1, max_size=4).filter(sum), st.integers(0, 2**40), st.integers(256, 900))
def test_an_epoch_has_every_pair_once(rows: list[int], seed: int, window: int):
    plan = plan_of(*rows, seed=seed, window=window)
    for epoch in epochs_of(plan, 2):
        drawn = np.concatenate([batch.rows for batch in epoch])
        slots = np.concatenate([batch.slots for batch in epoch])
        assert sorted(drawn.tolist()) == sorted(slots.tolist()) == list(range(sum(rows)))


@given(st.integers(1, 3000), st.integers(65, 5000), st.integers(0, 100))
def test_no_batch_is_larger_than_its_budget(rows: int, batch_tokens: int, seed: int):
    [epoch] = epochs_of(plan_of(rows, batch_tokens=batch_tokens, seed=seed), 1)
    for batch in epoch:
        longest = made_lengths(batch.rows).max() + 1
        assert len(batch.rows) * longest <= batch_tokens


def test_batches_are_numbered_and_shuffled():
    plan = plan_of(5000)
    first, second = epochs_of(plan, 2)
    assert [batch.number for batch in first + second] == list(range(len(first) + len(second)))
    longest = [int(made_lengths(batch.rows).max()) for batch in first]
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.25


def test_the_stream_goes_on_from_any_position():
    plan = plan_of(1500, 700, weights=(1.0, 3.0), window=500)
    whole = list(islice(plan.batches(), 350))
    assert whole[-1].epoch >= 2
    for before, batch in islice(pairwise(whole), 0, None, 5):
        again = next(plan.batches(before.position_after))
        assert (again.number, again.epoch, again.position_after) == (batch.number, batch.epoch, batch.position_after)
        assert (again.rows == batch.rows).all()
        assert (again.slots == batch.slots).all()


def test_weights_and_temperature_share_out_the_epoch():
    def shared(weights: tuple[float, ...], temperature: float) -> list[int]:
        corpora = [CorpusRows("", 0, n, w) for n, w in zip((900, 90, 10), weights, strict=True)]
        return corpus_shares(corpora, temperature)

    assert shared((1.0, 1.0, 1.0), 1.0) == shared((7.0, 7.0, 7.0), 1.0) == [900, 90, 10]
    assert shared((1.0, 2.0, 3.0), 1.0) == [811, 162, 27]
    assert shared((1.0, 1.0, 1.0), 2.0) == [703, 223, 74]
    assert shared((1.0, 1.0, 1.0), 1e9) == [334, 333, 333]
    assert shared((1.0, 0.0, 1.0), 1.0) == [900, 0, 10]
    with pytest.raises(DataError, match="there are no pairs to draw from"):
        shared((0.0, 0.0, 0.0), 1.0)


@pytest.mark.parametrize("rows", [7, 500, 10**9])
def test_a_share_is_one_of_all_pairs_whatever_the_size_of_the_corpus(rows: int):
    corpora = [CorpusRows("", 0, 900), CorpusRows("", 0, rows, share=0.2), CorpusRows("", 0, 90, weight=1.0)]
    assert corpus_shares(corpora, 1.0) == [900, 248, 90], "one pass over the others: 990 of 1,238 are 80 %"
    two = [CorpusRows("", 0, 600), CorpusRows("", 0, rows, share=0.5), CorpusRows("", 0, 3, share=0.2)]
    assert corpus_shares(two, 1.0) == [600, 1000, 400]
    assert corpus_shares([CorpusRows("", 0, 600), CorpusRows("", 0, 0, share=0.5)], 1.0) == [600, 0]


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=20).filter(sum))
def test_without_weights_a_corpus_has_its_own_size(rows: list[int]):
    corpora = [CorpusRows("", 0, n) for n in rows]
    assert corpus_shares(corpora, 1.0) == rows


def test_no_pair_of_a_corpus_is_favoured():
    plan = plan_of(1000, 30, weights=(1.0, 7.0), window=300)
    counts = np.zeros(1030, dtype=int)
    for epoch in epochs_of(plan, 7):
        for batch in epoch:
            np.add.at(counts, batch.rows, 1)
    assert counts[:1000].max() - counts[:1000].min() <= 1
    assert counts[1000:].max() - counts[1000:].min() <= 1
    assert counts[1000:].min() > 5 * counts[:1000].max()


def test_names_of_draws_are_never_used_twice():
    plan = plan_of(300, 20, weights=(1.0, 5.0))
    names = [name for epoch in epochs_of(plan, 5) for b in epoch for name in plan.draw_ids(b.epoch, b.slots).tolist()]
    assert sorted(names) == list(range(5 * plan.pairs))


def test_windows_are_of_one_size():
    plan = plan_of(10_400, window=1000)
    sizes = [len(plan.window(0, window)[0]) for window in range(plan.windows)]
    assert (len(sizes), min(sizes), max(sizes)) == (10, 1040, 1040)
    assert plan_of(20_000, window=65_536).windows == 2  # so that an epoch's batches are not those of the last one
    assert plan_of(5_000, window=65_536).windows == 1


def test_epochs_have_other_batches_in_another_order():
    plan = plan_of(30_000, batch_tokens=4096, window=65_536)
    places, companies = [], []
    for epoch in epochs_of(plan, 2):
        place, company = np.empty(30_000), np.empty(30_000, dtype=np.int64)
        done = 0
        for number, batch in enumerate(epoch):
            place[batch.rows] = done + np.arange(len(batch.rows))
            company[batch.rows] = number
            done += len(batch.rows)
        places.append(place)
        companies.append(company)
    assert abs(np.corrcoef(places[0], places[1])[0, 1]) < 0.02
    _, before = np.unique(companies[0], return_counts=True)
    _, both = np.unique(companies[0] * 10_000 + companies[1], return_counts=True)
    assert (both * (both - 1)).sum() / (before * (before - 1)).sum() < 0.4


def test_padding_is_small():
    [epoch] = epochs_of(plan_of(30_000, batch_tokens=4096, window=65_536), 1)
    waste, fill = padding([made_lengths(batch.rows) + 1 for batch in epoch], 4096)
    assert waste < 0.05
    assert fill > 0.97


@pytest.mark.parametrize("pairs", [[200_000_000], [199_000_000, 999_990, 10]])
def test_two_hundred_million_pairs_are_resumed_at_once(pairs: list[int]):
    plan = plan_of(*pairs, weights=(1.0,) * (len(pairs) - 1) + (1e5,), window=65_536, batch_tokens=4096)
    start = StreamPosition(epoch=6, window=plan.windows - 2, batch=17, number=10**7)
    began = time.process_time()
    batch = next(plan.batches(start))
    assert time.process_time() - began < 1.0
    assert (batch.number, batch.position_after.batch) == (10**7, 18)


def test_order_of_neighbours_by_hand():
    lengths = np.array([[3, 1], [1, 2], [3, 3], [2, 1], [1, 3], [2, 2]])
    assert lengths[order_by_length(lengths)].tolist() == [[1, 2], [2, 2], [2, 1], [3, 1], [3, 3], [1, 3]]
    assert lengths[order_by_length(lengths, upwards=1)].tolist() == [[2, 1], [2, 2], [1, 2], [1, 3], [3, 3], [3, 1]]


def test_cuts_by_hand():
    assert cut_by_tokens(np.array([2, 2, 2, 3, 3, 5, 6]), 6) == [3, 5, 6, 7]
    assert cut_by_tokens(np.array([1]), 1) == [1]


def test_a_sentence_longer_than_a_batch():
    with pytest.raises(
        DataError, match=r"batch_tokens must be at least .* got 40 .* set data\.max_tokens to 39 or less"
    ):
        next(plan_of(1000, batch_tokens=40).batches())


@pytest.mark.parametrize("position", [StreamPosition(0, 99, 0, 0), StreamPosition(0, 0, 999, 0)])
def test_a_position_outside_of_the_plan(position: StreamPosition):
    with pytest.raises(DataError, match="a position must be inside of the plan"):
        next(plan_of(1000).batches(position))


def test_numbers_that_cannot_be():
    with pytest.raises(DataError, match="a position must have numbers from 0 on"):
        StreamPosition(epoch=-1)
    with pytest.raises(ConfigError, match="batch_tokens must be at least 1, got 0"):
        plan_of(10, batch_tokens=0)


def test_only_the_same_plans_have_the_same_fingerprint():
    plans = [
        plan_of(3000, 200),
        plan_of(3200),
        plan_of(3000, 200, seed=2),
        plan_of(3000, 200, batch_tokens=501),
        plan_of(3000, 200, window=700),
        plan_of(3000, 200, temperature=2.0),
        plan_of(3000, 200, weights=(1.0, 2.0)),
    ]
    assert len({plan.fingerprint for plan in plans}) == len(plans)
    assert plans[0].fingerprint == plan_of(3000, 200, temperature=1.0).fingerprint < 2**63


@pytest.mark.slow
def test_padding_of_a_real_corpus_is_small(corpora: Path):
    sides = []
    for language in ("en", "de"):
        with gzip.open(corpora / "multi30k" / f"train.{language}.gz", "rt", encoding="utf-8", newline="\n") as lines:
            sides.append([line.rstrip("\n") for line in lines])
    tokenizer = train_sentencepiece([*sides[0], *sides[1]], size=8000)
    lengths = np.array([[len(tokenizer.encode(text)) for text in side] for side in sides]).T
    plan = BatchPlan([CorpusRows("multi30k", 0, len(lengths))], lambda rows: lengths[rows], seed=1, batch_tokens=4096)
    [epoch] = epochs_of(plan, 1)
    waste, fill = padding([lengths[batch.rows] + 1 for batch in epoch], 4096)
    assert waste < 0.06
    assert fill > 0.97


def padding(batches: list[NDArray[np.int64]], batch_tokens: int) -> tuple[float, float]:
    """The share of padding among the cells of both sides, and how full batches are."""
    cells = sum(len(one) * int(one.max(axis=0).sum()) for one in batches)
    fill = float(np.mean([len(one) * int(one.max()) / batch_tokens for one in batches]))
    return 1 - sum(int(one.sum()) for one in batches) / cells, fill
