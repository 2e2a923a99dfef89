"""Detect where source and target lines are shifted against each other, by comparing sentence lengths.

The lengths of a sentence and its translation correlate: the logarithm of their ratio varies little around its median.
If one side has lost or gained a line, each line is paired with a neighbour's translation, and its length matches that
neighbour better. One line is weak evidence; a hundred consecutive lines are strong evidence.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.data.reason_counts import SHIFTED, Example, Tally
from dragoman.data.token_pairs import SIDES

ENOUGH = 18.0
"""Required sum of evidence for a shift."""

_FARTHEST = 3  # maximum shift in lines
_MOST = 1.0  # maximum evidence of one line: a few outliers must not decide
_LEAST_SCATTER = 0.2  # minimum standard deviation of the evidence; it is nearly 0 in a corpus sorted by length
_PENALTY_PER_LINE = 0.5  # on unrelated sides, sums then exceed x once in exp(x) lines (Wald)
_NEAR = 50  # maximum distance of two spans of the same shift that are joined
_MIN_GAIN = 0.3  # in correlation
_COUNTED = {1: "one line", 2: "two lines", 3: "three lines"}

Numbers = NDArray[np.float64]


class MisalignedSpan(NamedTuple):
    """Source lines `first` to `last` (from 0, inclusive) match the target lines `shift` lines later."""

    first: int
    last: int
    shift: int


def note_shifted_lines(frame: pl.DataFrame, file: str, notes: Tally) -> None:
    """Note spans of lines that appear to be paired with translations of neighbouring lines."""
    lengths = (frame[side].str.len_bytes().to_numpy() for side in SIDES)
    for first, last, shift in find_misaligned_spans(*lengths):
        start, source, target = frame[first, "line"], frame[first, "source"], frame[first, "target"]
        way = "later" if shift > 0 else "earlier"
        detail = f"lines {start}–{frame[last, 'line']} fit the other side better {_COUNTED[abs(shift)]} {way}"
        notes.add(SHIFTED, 1, [Example(file, start, source, target, detail)])


def find_misaligned_spans(
    source_lengths: NDArray[np.generic], target_lengths: NDArray[np.generic]
) -> list[MisalignedSpan]:
    """Return spans of lines whose lengths match shifted lines of the other side clearly better."""
    source, target = logarithms(source_lengths), logarithms(target_lengths)
    if len(source) <= 2 * _FARTHEST:
        return []
    usual = float(np.median(source - target))
    found: list[tuple[float, MisalignedSpan]] = []
    for shift in shifts():
        first, last = max(0, -shift), min(len(source), len(source) - shift)
        for start, end, height in _spans(evidence(source, target, shift, usual, first, last)):
            span = MisalignedSpan(first + start, first + end, shift)
            if _fits_better(source, target, span):
                found.append((height, span))
    return _joined(_without_overlaps(found))


def logarithms(lengths: NDArray[np.generic]) -> Numbers:
    """Return log(1 + length), the scale on which lengths are compared."""
    return np.log1p(lengths.astype(np.float64))


def shifts() -> list[int]:
    """Return the shifts to search for."""
    return [shift for far in range(1, _FARTHEST + 1) for shift in (far, -far)]


def evidence(source: Numbers, target: Numbers, shift: int, usual: float, first: int, last: int) -> Numbers:
    """Return each line's evidence for a shift, of logarithms of lengths; `usual` is the median difference."""
    here = np.abs(source[first:last] - target[first:last] - usual)
    there = np.abs(source[first:last] - target[first + shift : last + shift] - usual)
    gain = np.clip(here - there, -_MOST, _MOST)
    result: Numbers = gain / max(_LEAST_SCATTER, float(gain.std())) - _PENALTY_PER_LINE
    return result


def heights(evidence: Numbers, before: float = 0.0) -> Numbers:
    """Return the evidence accumulated at each line since it was last zero (Page's test)."""
    total = before + np.cumsum(evidence)
    return total - np.minimum.accumulate(np.minimum(total, 0.0))


def _spans(evidence: Numbers) -> list[tuple[int, int, float]]:
    """Return the ranges with enough accumulated evidence: first, last and sum."""
    height = heights(evidence)
    spans = []
    place = 0
    while place < len(height):
        above = height[place:] > ENOUGH
        if not above.any():
            break
        inside = place + int(above.argmax())
        back = np.flatnonzero(height[:inside] <= 0.0)
        start = int(back[-1]) + 1 if len(back) else 0
        over = np.flatnonzero(height[inside:] <= 0.0)
        end = inside + int(over[0]) if len(over) else len(height)
        peak = start + int(height[start:end].argmax())
        spans.append((start, peak, float(height[peak])))
        place = end
    return spans


def _fits_better(source: Numbers, target: Numbers, span: MisalignedSpan) -> bool:
    """Whether the shift clearly improves the correlation of lengths over a span; in sorted corpora it does not."""
    first, last, shift = span
    here = _correlation(source[first : last + 1], target[first : last + 1])
    there = _correlation(source[first : last + 1], target[first + shift : last + 1 + shift])
    return there > here + _MIN_GAIN


def _correlation(source: Numbers, target: Numbers) -> float:
    scale = float(source.std() * target.std())
    return float(((source - source.mean()) * (target - target.mean())).mean()) / scale if scale > 0.0 else 0.0


def _without_overlaps(found: list[tuple[float, MisalignedSpan]]) -> list[MisalignedSpan]:
    """Keep the best of several shifts for the same lines."""
    kept: list[MisalignedSpan] = []
    for _, span in sorted(found, reverse=True):
        if all(span.last < other.first or other.last < span.first for other in kept):
            kept.append(span)
    return sorted(kept)


def _joined(spans: list[MisalignedSpan]) -> list[MisalignedSpan]:
    joined: list[MisalignedSpan] = []
    for span in spans:
        before = joined[-1] if joined else None
        if before and before.shift == span.shift and span.first - before.last <= _NEAR:
            joined[-1] = before._replace(last=span.last)
        else:
            joined.append(span)
    return joined
