"""Read pairs of a corpus by position, and compare their texts by shingles: MinHash bands, Jaccard similarity."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray
from rensa import RMinHash

from dragoman.data.duplicates.text_folding import fold_texts
from dragoman.data.permutation import GAMMA, mix
from dragoman.data.token_pairs import SIDES

_WIDTH = 5  # characters of a shingle
_SEED = 1  # fixed part of the signature, not a setting
_BLOCK = 512  # pairs hashed at once: they fit the processor's cache

_LONGEST_SIGNATURE = 128
_MOST_BANDS = 24
_RECALL = 0.95

_Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Bands:
    """Division of a signature: two pairs are candidates if all hashes of any band are equal."""

    count: int
    hashes: int

    def recall(self, similarity: float) -> float:
        """Return the probability that two pairs with this similarity are candidates."""
        return float(1 - (1 - similarity**self.hashes) ** self.count)


def bands_for(similarity: float) -> Bands:
    """Return the longest bands that find 95 % of the pairs with exactly this similarity.

    Pairs in the same language always share shingles, and random matches grow with the corpus: with ten million pairs
    and a twentieth of common shingles, a pair matches three others in a band of 5 hashes, but hardly any in one of 7.
    """
    fitting = [
        bands
        for hashes in range(1, _LONGEST_SIGNATURE + 1)
        for count in range(1, min(_MOST_BANDS, _LONGEST_SIGNATURE // hashes) + 1)
        if (bands := Bands(count, hashes)).recall(similarity) >= _RECALL
    ]
    return max(fitting, key=lambda bands: (bands.hashes, -bands.count))


@dataclass(frozen=True)
class Shingles:
    """Shingle hashes of many pairs: pair `i` has ``hashes[offsets[i]:offsets[i + 1]]``."""

    hashes: _Words
    offsets: NDArray[np.int64]


def shingles(frame: pl.DataFrame) -> Shingles:
    """Hash every shingle of source, separator, target, end; a pair has at least one."""
    source, target = fold_texts(frame["source"]), fold_texts(frame["target"])
    lengths = np.diff(source.offsets) + np.diff(target.offsets) + 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    # A zero separates the sides, and four zeros the pairs: no shingle extends into the next pair.
    spaced = offsets + (_WIDTH - 1) * np.arange(len(offsets))
    points = np.zeros(int(spaced[-1]), dtype=np.uint64)
    begin_target = spaced[:-1] + np.diff(source.offsets) + 1
    for side, begin in ((source, spaced[:-1]), (target, begin_target)):
        shift = np.repeat(begin - side.offsets[:-1], np.diff(side.offsets))
        points[np.arange(len(side.points)) + shift] = side.points
    hashes = _rolling(points)
    is_inside = np.ones(len(hashes) + _WIDTH - 1, dtype=bool)
    is_inside[(spaced[1:, None] - np.arange(1, _WIDTH)).ravel()] = False
    return Shingles(np.compress(is_inside[: len(hashes)], hashes), offsets)


def _rolling(points: _Words) -> _Words:
    """Return a hash of each five consecutive code points."""
    hashes = np.zeros(max(0, len(points) - _WIDTH + 1), dtype=np.uint64)
    for place in range(_WIDTH):
        hashes *= GAMMA
        hashes += points[place : place + len(hashes)]
    return mix(hashes)


def band_keys(frame: pl.DataFrame, bands: Bands) -> _Words:
    """Return a key for every band of every pair's signature. Shape: [rows, bands]."""
    blocks = [np.empty((0, bands.count), dtype=np.uint64)]
    for at in range(0, frame.height, _BLOCK):
        sets = shingles(frame[at : at + _BLOCK])
        offsets = sets.offsets.astype(np.uint64)
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(sets.hashes, offsets, bands.count * bands.hashes, _SEED)
        signature = np.array(matrix.to_rows(), dtype=np.uint64).reshape(-1, bands.count, bands.hashes)
        blocks.append(_digest(signature))
    return np.concatenate(blocks)


def _digest(signature: _Words) -> _Words:
    keys = np.zeros(signature.shape[:2], dtype=np.uint64)
    for place in range(signature.shape[2]):
        keys = (keys ^ signature[:, :, place]) * np.uint64(0x9FB21C651E98DF25)
        keys ^= keys >> np.uint64(32)
    return keys


def jaccard(left: Shingles, right: Shingles) -> NDArray[np.float64]:
    """Return the Jaccard similarity of each left and right pair, row by row."""
    left_keys, left_rows = _distinct(left)
    right_keys, right_rows = _distinct(right)
    count = len(left.offsets) - 1
    common = np.bincount(left_rows[np.isin(left_keys, right_keys, assume_unique=True)], minlength=count)
    total = np.bincount(left_rows, minlength=count) + np.bincount(right_rows, minlength=count) - common
    share: NDArray[np.float64] = common / total
    return share


def _distinct(sets: Shingles) -> tuple[_Words, NDArray[np.int64]]:
    """Return the distinct shingles of every row; the row number is mixed into the hash to separate rows."""
    rows = np.repeat(np.arange(len(sets.offsets) - 1), np.diff(sets.offsets))
    keys = (sets.hashes ^ (rows.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93))) * np.uint64(0xA0761D6478BD642F)
    keys, places = np.unique(keys, return_index=True)
    return keys, rows[places]


_SCHEMA = {**dict.fromkeys(SIDES, pl.String), "line": pl.UInt32}


def fetch_rows(
    chunk_files: Sequence[Path],
    starts: Sequence[int],
    positions: NDArray[np.int64],
    columns: Iterable[str] = (*SIDES, "line"),
) -> pl.DataFrame:
    """Return the pairs at these positions of the corpus, in that order; only their pages of the files are read."""
    wanted, places = np.unique(positions, return_inverse=True)
    owners = np.searchsorted(np.asarray(starts, dtype=np.int64), wanted, side="right") - 1
    values: dict[str, list[object]] = {name: [] for name in columns}
    for owner in np.unique(owners).tolist():
        rows = (wanted[owners == owner] - starts[owner]).tolist()
        with pa.memory_map(str(chunk_files[owner])) as file:
            table = pa.ipc.open_file(file).read_all()
            for name, found in values.items():
                column = table[name]  # string views, which `take` does not support
                found.extend(column[row].as_py() for row in rows)
    return pl.DataFrame(values, schema={name: _SCHEMA[name] for name in values})[places]


_FETCHED = 16_384  # comparisons per fetch of texts
_COMPARED = 1024  # comparisons at once: their shingles take about 30 MB


@dataclass(frozen=True)
class PairComparer:
    """Compare pairs of a corpus with a similarity threshold."""

    chunk_files: Sequence[Path]
    starts: Sequence[int]
    similarity: float

    def are_similar(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether the pairs at each left and right position have at least the similarity."""
        batches = [slice(at, at + _FETCHED) for at in range(0, len(left), _FETCHED)]
        return np.concatenate([np.empty(0, dtype=bool), *(self._batch(left[each], right[each]) for each in batches)])

    def _batch(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
        count = len(left)
        frame = fetch_rows(self.chunk_files, self.starts, np.concatenate([left, right]), SIDES)
        shares = [
            jaccard(
                shingles(frame[at : min(at + _COMPARED, count)]),
                shingles(frame[count + at : min(count + at + _COMPARED, 2 * count)]),
            )
            for at in range(0, count, _COMPARED)
        ]
        return np.concatenate(shares) >= self.similarity
