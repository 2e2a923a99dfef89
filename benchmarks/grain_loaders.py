"""Grain doing the loader's job, in three ways; each as well as its operations allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import grain
import numpy as np

from dragoman.data.batch import Batch
from dragoman.data.batch_plan import BatchPlan, cut_by_tokens, order_by_length
from dragoman.data.permutation import Permutation
from dragoman.data.shards import Shards
from dragoman.data.token_pairs import Pairs, Sentences

WINDOW = 65_536
AT_ONCE = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)  # on one core threads only cost


class Batches(Iterator[Batch]):
    """Grain's iterator; flat pairs become batches in the process that trains, as in the loader."""

    def __init__(self, dataset: grain.IterDataset[Any], workers: int = 0) -> None:
        if workers:
            dataset = dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers, per_worker_buffer_size=4))
        self._iterator = iter(dataset)
        self._workers = workers

    def __next__(self) -> Batch:
        return as_batch(*next(self._iterator))

    def get_state(self) -> Any:
        return self._iterator.get_state()

    def close(self) -> None:
        if self._workers:
            self._iterator.close()


def as_batch(rows: Any, *flat: Any) -> Batch:
    source_ids, source_lengths, target_ids, target_lengths = map(np.asarray, flat)
    pairs = Pairs(Sentences(source_ids, source_lengths), Sentences(target_ids, target_lengths))
    return Batch.from_flat(pairs, np.asarray(rows))


class Gather(grain.transforms.Map):  # type: ignore[misc]
    def __init__(self, shards: Shards) -> None:
        self.shards = shards

    def map(self, rows: Any) -> tuple[Any, ...]:
        pairs = self.shards.gather(rows)
        return rows, pairs.source.ids, pairs.source.lengths, pairs.target.ids, pairs.target.lengths


class Split(grain.experimental.FlatMapTransform):  # type: ignore[misc]
    """A window becomes the rows of its batches."""

    max_fan_out = 100_000

    def __init__(self, cut: Callable[[Any], list[Any]]) -> None:
        self.cut = cut

    def flat_map(self, element: Any) -> list[Any]:
        return self.cut(element)


class LengthOrder:
    """Our order by length and token budget inside of a window of shuffled rows."""

    def __init__(self, shards: Shards, tokens: int) -> None:
        self.shards, self.tokens = shards, tokens

    def __call__(self, rows: Any) -> list[Any]:
        lengths = self.shards.lengths(rows) + 1
        order = order_by_length(lengths)
        cuts = pairwise([0, *cut_by_tokens(lengths[order].max(axis=1), self.tokens)])
        batches = [rows[order[first:end]] for first, end in cuts]
        return [batches[n] for n in Permutation(len(batches), (int(rows[0]),)).at(range(len(batches)))]


def grain_rows(shards: Shards, rows: int) -> Batches:
    """Its own operations: shuffled rows one by one, a fixed number of them a batch."""

    def one(row: int) -> tuple[Any, ...]:
        pairs = shards.gather(np.array([row]))
        return pairs.source.ids, pairs.target.ids

    def join(pairs: Any) -> tuple[Any, ...]:
        sides = [[pair[side] for pair in pairs] for side in range(2)]
        flat = [(np.concatenate(side), np.array([len(ids) for ids in side])) for side in sides]
        return np.arange(len(pairs)), *flat[0], *flat[1]

    dataset = grain.MapDataset.range(len(shards)).shuffle(seed=1).repeat().map(one).batch(rows, batch_fn=join)
    return Batches(dataset.to_iter_dataset(AT_ONCE))


def grain_windows(shards: Shards, tokens: int, workers: int = 0) -> Batches:
    """Its global shuffle, rows in windows, our order by length inside of them."""
    rows = grain.MapDataset.range(len(shards)).shuffle(seed=1).repeat().batch(min(WINDOW, len(shards) // 2))
    split = Split(LengthOrder(shards, tokens))
    dataset = grain.experimental.FlatMapIterDataset(rows.to_iter_dataset(AT_ONCE), split)
    return Batches(dataset.map(Gather(shards)), workers)


def grain_plan(shards: Shards, plan: BatchPlan) -> Batches:
    """It only counts windows; which rows and batches they have is our plan's business."""

    def cut(number: int) -> list[Any]:
        _, rows, cuts = plan.window(*divmod(number, plan.windows))
        return [rows[one] for one in cuts]

    windows = grain.MapDataset.range(2**40).to_iter_dataset(AT_ONCE)
    return Batches(grain.experimental.FlatMapIterDataset(windows, Split(cut)).map(Gather(shards)))
