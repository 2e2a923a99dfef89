"""Inverted index of a memory: in which units a term occurs, and how many terms each unit has.

A batch of units adds one row per term, with the numbers of its units as 32-bit integers, so that the list of a common
word is read as a few arrays. The row of the term 0 has the number of terms of each unit, one byte each.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select

from dragoman.storage.database import insert_rows
from dragoman.storage.segment_text import index_terms, segment_words
from dragoman.storage.tables import POSTINGS

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LENGTHS = 0
_MAX_TERMS = 255
_MAX_POSTINGS = 600_000  # that one look-up reads; terms that are too common are left out
_MAX_IDS = 1 << 19
_Numbers = NDArray[np.int64]


_ASCII_WORDS = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))


class _TermIds(dict[bytes, int]):
    def __missing__(self, term: bytes) -> int:
        self[term] = id_ = zlib.crc32(term) % 0x7FFFFFFE + 1
        return id_


_ids = _TermIds()


def term_ids(masked: str) -> list[int]:
    """Return the terms of a text without variables as integers; two terms may have the same one."""
    if len(_ids) > _MAX_IDS:
        _ids.clear()
    if masked.isascii():  # the same words, in a third of the time
        terms = masked.lower().encode().translate(_ASCII_WORDS).split()[:_MAX_TERMS]
    else:
        terms = [term.encode() for term in index_terms(segment_words(masked)[:_MAX_TERMS])]
    return list(set(map(_ids.__getitem__, terms)))


def add_postings(connection: Connection, direction: int, first: int, terms: Sequence[Sequence[int]]) -> None:
    """Index a batch of units, whose numbers begin with `first`."""
    lengths = np.array([len(each) for each in terms], dtype=np.int64)
    numbers = np.repeat(np.arange(first, first + len(terms), dtype="<u4"), lengths)
    flat = np.fromiter((term for each in terms for term in each), dtype=np.int64, count=int(lengths.sum()))
    order = np.argsort(flat, kind="stable")
    flat, numbers = flat[order], numbers[order]
    distinct, starts = np.unique(flat, return_index=True)
    ends = [*starts[1:].tolist(), len(flat)]
    stored = numbers.tobytes()
    rows = [
        (direction, term, first, stored[4 * start : 4 * end])
        for term, start, end in zip(distinct.tolist(), starts.tolist(), ends, strict=True)
    ]
    insert_rows(connection, POSTINGS, [(direction, _LENGTHS, first, lengths.astype(np.uint8).tobytes()), *rows])


def find_candidates(connection: Connection, direction: int, terms: Sequence[int], limit: int) -> list[int]:
    """Return the numbers of the units that may be most similar: the share of terms in common, at best.

    The rarest terms are read first, and as many of them as the time permits.
    """
    chosen = _choose_terms(connection, direction, terms)
    if not chosen:
        return []
    found = POSTINGS.c.direction == direction
    query = select(POSTINGS.c.numbers).where(found, POSTINGS.c.term.in_(chosen))
    numbers = np.frombuffer(b"".join(connection.execute(query).scalars()), dtype="<u4").astype(np.int64)
    low = int(numbers.min())
    counts = np.bincount(numbers - low)
    places = np.flatnonzero(counts >= max(1, int(counts.max()) // 2))
    shared = counts[places].astype(np.float32) + (len(terms) - len(chosen))
    lengths = _lengths(connection, direction, places + low)
    scores = shared / np.maximum(lengths, len(terms))
    if len(places) > limit:
        best = np.argpartition(-scores, limit)[:limit]
        places = places[best]
    return [int(each) + low for each in places]


def _choose_terms(connection: Connection, direction: int, terms: Sequence[int]) -> list[int]:
    """Return the terms to read: the rarest, until they have too many units together."""
    size = func.sum(func.length(POSTINGS.c.numbers))
    query = select(POSTINGS.c.term, size).where(POSTINGS.c.direction == direction, POSTINGS.c.term.in_(terms))
    chosen: list[int] = []
    total = 0
    for number, term in sorted(
        (bytes_ // 4, term) for term, bytes_ in connection.execute(query.group_by(POSTINGS.c.term))
    ):
        total += number
        if chosen and total > _MAX_POSTINGS:
            break
        chosen.append(term)
    return chosen


def _lengths(connection: Connection, direction: int, numbers: _Numbers) -> _Numbers:
    """Return how many terms each unit has."""
    query = select(POSTINGS.c.first, POSTINGS.c.numbers).where(
        POSTINGS.c.direction == direction,
        POSTINGS.c.term == _LENGTHS,
        POSTINGS.c.first <= int(numbers.max()),
    )
    lengths = np.zeros(len(numbers), dtype=np.int64)
    for first, stored in connection.execute(query.order_by(POSTINGS.c.first)):
        start, end = np.searchsorted(numbers, (first, first + len(stored)))
        if end > start:
            lengths[start:end] = np.frombuffer(stored, dtype=np.uint8)[numbers[start:end] - first]
    return lengths
