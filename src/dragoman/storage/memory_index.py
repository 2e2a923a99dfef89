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

from dragoman.storage.database import insert_rows
from dragoman.storage.segment_text import index_terms
from dragoman.storage.tables import POSTINGS

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LENGTHS = 0
_MAX_TERMS = 255  # of a unit
_MAX_POSTINGS = 400_000  # that one look-up reads; terms that are too common are left out
_ENOUGH_POSTINGS, _ENOUGH_TERMS = (
    100_000,
    3,
)  # a lower limit, once that number of terms more than may be missing is read
_MAX_IDS = 1 << 19
_Numbers = NDArray[np.int64]


class _TermIds(dict[str, int]):
    def __missing__(self, term: str) -> int:
        self[term] = id_ = zlib.crc32(term.encode()) % 0x7FFFFFFE + 1
        return id_


_ids = _TermIds()


def _find_terms(texts: Sequence[str]) -> tuple[_Numbers, _Numbers]:
    """Return the terms of texts without variables, and the place of the text of each, in the order of the terms.

    A term is an integer, which two words may share.
    """
    if len(_ids) > _MAX_IDS:
        _ids.clear()
    terms = [index_terms(text)[:_MAX_TERMS] for text in texts]
    flat = np.fromiter((_ids[term] for each in terms for term in each), dtype=np.int64)
    places = np.repeat(np.arange(len(texts)), [len(each) for each in terms])
    pairs = flat << 32 | places
    pairs.sort()  # np.unique takes several times as long
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    return pairs >> 32, pairs & 0xFFFFFFFF


def add_postings(connection: Connection, direction: int, first: int, texts: Sequence[str]) -> None:
    """Index a batch of units, whose numbers begin with `first`, by their texts without variables."""
    terms, places = _find_terms(texts)
    lengths = np.bincount(places, minlength=len(texts)).astype(np.uint8).tobytes()
    stored = (places + first).astype("<u4").tobytes()
    starts = np.flatnonzero(np.diff(terms, prepend=-1))
    ends = [*starts[1:].tolist(), len(terms)]
    rows = [
        (direction, term, first, stored[4 * start : 4 * end])
        for term, start, end in zip(terms[starts].tolist(), starts.tolist(), ends, strict=True)
    ]
    insert_rows(connection, POSTINGS, [(direction, _LENGTHS, first, lengths), *rows])


def find_candidates(
    connection: Connection, direction: int, text: str, missing: int, limit: int
) -> list[tuple[int, float]]:
    """Return the numbers of the units that may be most similar to a text without variables, the most likely first.

    Each has the largest possible share of terms in common.

    They have all of its terms except `missing` ones. The rarest terms are read first, and as many of them as the time
    permits.
    """
    terms = _find_terms([text])[0].tolist()
    chosen = _choose_terms(connection, direction, terms, missing)
    if not chosen:
        return []
    where = f"FROM memory_postings WHERE direction = {direction} AND term"
    rows = connection.exec_driver_sql(f"SELECT numbers {where} IN ({', '.join(map(str, chosen))})").scalars()
    counts = np.bincount(np.frombuffer(b"".join(rows), dtype="<u4"))
    places = np.flatnonzero(counts >= max(1, len(chosen) - missing))
    rows = connection.exec_driver_sql(f"SELECT numbers {where} = {_LENGTHS} ORDER BY first").scalars()
    lengths = np.frombuffer(b"".join(rows), dtype=np.uint8)[places]
    shares = (counts[places] + len(terms) - len(chosen)) / np.maximum(lengths, len(terms))
    order = np.argsort(-shares, kind="stable")[:limit]
    return list(zip(places[order].tolist(), shares[order].tolist(), strict=True))


def _choose_terms(connection: Connection, direction: int, terms: Sequence[int], missing: int) -> list[int]:
    """Return the terms to read: the rarest, until they have too many units together."""
    if not terms:
        return []
    query = (
        f"SELECT sum(length(numbers)) / 4, term FROM memory_postings WHERE direction = {direction} "  # noqa: S608
        f"AND term IN ({', '.join(map(str, terms))}) GROUP BY term"
    )
    chosen: list[int] = []
    total = 0
    for number, term in sorted(map(tuple, connection.exec_driver_sql(query))):
        total += number
        is_enough = len(chosen) >= missing + _ENOUGH_TERMS and total > _ENOUGH_POSTINGS
        if chosen and (is_enough or total > _MAX_POSTINGS):
            break
        chosen.append(term)
    return chosen
