"""Plan the pairs of each training batch as a pure function of (seed, epoch, position).

An epoch has one slot per pair. Each corpus has a share of the slots, by weight and temperature, and fills it with its
next draws: it is read repeatedly in new random orders, across the ends of epochs, so all of its pairs are drawn equally
often. The slots are permuted and divided into windows. The pairs of a window are ordered by length on both sides and
divided into batches by token budget, and the batches are shuffled.

Only integers are stored: any batch of any epoch is found by computing its window.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dragoman.data.augmentation import Augmentation
from dragoman.data.permutation import Permutation, mix_key
from dragoman.errors import ConfigError, DataError

Rows = NDArray[np.int64]

_DRAWS, _SLOTS, _BATCHES = range(3)  # purpose of a permutation, part of its key
_SHARE_PRECISION = 10**9
_NONE = np.empty(0, dtype=np.int64)
_LEAST_WINDOW = 8192  # an epoch of twice as many pairs has at least two windows, so that its batches vary


@dataclass(frozen=True)
class CorpusRows:
    """Range of rows of a corpus in the prepared data; `weight` or `share` determines how often its pairs are drawn."""

    name: str
    first_row: int
    rows: int
    weight: float = 1.0
    share: float | None = None


@dataclass(frozen=True)
class StreamPosition:
    """Position in the stream of batches: before batch `batch` of a window, the `number`-th of all."""

    epoch: int = 0
    window: int = 0
    batch: int = 0
    number: int = 0

    def __post_init__(self) -> None:
        if min(astuple(self)) < 0:
            raise DataError(f"a position must have numbers from 0 on, got {self}; restore the state that was saved")


@dataclass(frozen=True)
class PlannedBatch:
    """The pairs of one batch: their rows in the prepared data, and their slots in the epoch."""

    number: int
    epoch: int
    slots: Rows
    rows: Rows
    position_after: StreamPosition


class BatchPlan:
    """All batches of all epochs, in order; `lengths` [n] -> [n, 2] are tokens of rows, `identity` hashes the data."""

    def __init__(
        self,
        corpora: Sequence[CorpusRows],
        lengths: Callable[[Rows], NDArray[np.int64]],
        *,
        seed: int,
        batch_tokens: int,
        window: int = 65_536,
        temperature: float = 1.0,
        identity: int = 0,
        augmentation: Augmentation | None = None,
    ) -> None:
        if batch_tokens < 1:
            raise ConfigError(f"batch_tokens must be at least 1, got {batch_tokens}; 4096 is usual")
        self.seed = seed
        self.batch_tokens = batch_tokens
        self.corpora = tuple(corpora)
        self.shares = corpus_shares(self.corpora, temperature)
        self.pairs = sum(self.shares)
        """Number of pairs of an epoch."""
        self.windows = max(round(self.pairs / window), min(2, self.pairs // _LEAST_WINDOW), 1)
        """Number of windows of an epoch; their sizes differ by at most one pair."""
        self._lengths = lengths
        self._identity = identity
        self.augmentation = augmentation
        self._bounds = np.cumsum([0, *self.shares])
        self._slots = Permutation(self.pairs, (seed, _SLOTS))
        self._draws = [Permutation(max(1, c.rows), (seed, _DRAWS, n)) for n, c in enumerate(self.corpora)]

    @cached_property
    def fingerprint(self) -> int:
        """Hash of everything that determines the batches, except the lengths of the rows."""
        ranges = [(c.first_row, c.rows, share) for c, share in zip(self.corpora, self.shares, strict=True)]
        numbers = (number for numbers in ranges for number in numbers)
        shares = self.augmentation.shares.model_dump().values() if self.augmentation is not None else ()
        changes = (round(share * _SHARE_PRECISION) for share in shares)
        key = (self.seed, self.batch_tokens, self.windows, self._identity, *numbers, *changes)
        return int(mix_key(key, 1)[0] >> np.uint64(1))  # 63 bits: it fits a signed integer

    def batches(self, start: StreamPosition | None = None) -> Iterator[PlannedBatch]:
        """Yield batches from a position on, without end."""
        position = start or StreamPosition()
        while True:
            for batch in self._rest_of_window(position):
                yield batch
                position = batch.position_after

    def draw_ids(self, epoch: int, slots: Rows) -> Rows:
        """Return a unique id for each draw of the training. Shapes: [n] -> [n]."""
        return epoch * self.pairs + slots

    def rows(self, epoch: int, slots: Rows) -> Rows:
        """Return the row drawn for each slot of an epoch. Shapes: [n] -> [n]."""
        owners = np.searchsorted(self._bounds, slots, side="right") - 1
        rows = np.empty(len(slots), dtype=np.int64)
        for owner in np.unique(owners).tolist():
            mine = np.flatnonzero(owners == owner)
            corpus = self.corpora[owner]
            draws = epoch * self.shares[owner] + slots[mine] - self._bounds[owner]
            rows[mine] = corpus.first_row + self._draws[owner].at(draws % corpus.rows, turns=draws // corpus.rows)
        return rows

    def lengths(self, epoch: int, slots: Rows, rows: Rows) -> NDArray[np.int64]:
        """Return the tokens of both sides of draws, without the end token. Shapes: [n], [n] -> [n, 2]."""
        if self.augmentation is None:
            return self._lengths(rows)
        return self.augmentation.planned_lengths(epoch, slots, rows)

    def window(self, epoch: int, window: int) -> tuple[Rows, Rows, list[slice]]:
        """Return slots and rows of a window, ordered by length, and its batches in shuffled order."""
        first, end = (self.pairs * w // self.windows for w in (window, window + 1))
        slots = self._slots.at(np.arange(first, end), turns=epoch)
        rows = self.rows(epoch, slots)
        lengths = self.lengths(epoch, slots, rows) + 1  # with the end token
        order = order_by_length(lengths, upwards=epoch + window)
        ends = cut_by_tokens(lengths[order].max(axis=1), self.batch_tokens)
        cuts = [slice(*pair) for pair in pairwise([0, *ends])]
        shuffled = Permutation(len(cuts), (self.seed, _BATCHES, epoch, window)).at(np.arange(len(cuts)))
        return slots[order], rows[order], [cuts[number] for number in shuffled.tolist()]

    def _rest_of_window(self, position: StreamPosition) -> Iterator[PlannedBatch]:
        epoch, window, first = position.epoch, position.window, position.batch
        slots, rows, cuts = self.window(epoch, window) if window < self.windows else (_NONE, _NONE, [])
        if first >= len(cuts):
            raise DataError(
                f"a position must be inside of the plan, got {position}; "
                "resume with the data and settings it was saved with"
            )
        is_last = window + 1 == self.windows
        for batch in range(first, len(cuts)):
            number = position.number + batch - first
            after = StreamPosition(epoch, window, batch + 1, number + 1)
            if batch + 1 == len(cuts):
                after = StreamPosition(epoch + is_last, 0 if is_last else window + 1, 0, number + 1)
            yield PlannedBatch(number, epoch, slots[cuts[batch]], rows[cuts[batch]], after)


def corpus_shares(corpora: Sequence[CorpusRows], temperature: float) -> list[int]:
    """Return the slots of each corpus: p ∝ weight · rows^(1 / temperature), by largest remainder, or its `share`."""
    drawn = [corpus.rows if corpus.weight > 0 and corpus.share is None else 0 for corpus in corpora]
    total = sum(drawn)
    if not total:
        raise DataError("there are no pairs to draw from; give a corpus that has some a weight above 0")
    mass = [c.weight * rows ** (1 / temperature) for c, rows in zip(corpora, drawn, strict=True)]
    exact = [total * m / sum(mass) for m in mass]
    found = [int(share) for share in exact]
    by_remainder = sorted(range(len(corpora)), key=lambda n: (found[n] - exact[n], n))
    for n in by_remainder[: total - sum(found)]:
        found[n] += 1
    shares = [corpus.share or 0.0 if corpus.rows else 0.0 for corpus in corpora]
    return [count or round(total * share / (1 - sum(shares))) for count, share in zip(found, shares, strict=True)]


def order_by_length(lengths: NDArray[np.int64], upwards: int = 0) -> Rows:
    """Return an order in which neighbours have similar lengths on both sides; it is stable.

    Pairs are sorted by the longer side, which determines how many fit a batch, then by the difference of the sides,
    alternately ascending and descending, so that lengths also differ little where the longer side grows. If `upwards`
    is even, even lengths ascend. Shapes: [n, 2] -> [n].
    """
    longer = lengths.max(axis=1)
    difference = lengths[:, 0] - lengths[:, 1]
    return np.lexsort((np.where((longer + upwards) % 2, -difference, difference), longer))


def cut_by_tokens(longer: NDArray[np.int64], batch_tokens: int) -> list[int]:
    """Return the ends of batches in rows sorted by longer side: as many rows as fit, padding included."""
    if longer[-1] > batch_tokens:
        raise DataError(
            f"batch_tokens must be at least the tokens of a sentence and its end, got {batch_tokens} for a sentence of "
            f"{longer[-1]}; raise it, or set data.max_tokens to {batch_tokens - 1} or less and prepare again"
        )
    ends = [0]
    while (start := ends[-1]) < len(longer):
        candidates = longer[start : start + batch_tokens // int(longer[start])]
        cells = candidates * np.arange(1, len(candidates) + 1)
        ends.append(start + int(np.searchsorted(cells, batch_tokens, side="right")))
    return ends[1:]
