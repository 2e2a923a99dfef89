"""Telling by their lengths alone that two sides are out of step.

The lengths of a sentence and of its translation go together: the logarithm of their ratio scatters little around what
is usual for the two languages. Where one side has lost or gained a line, each line is paired with a neighbour's
translation, and its length fits that neighbour better. A single line says little; a hundred in a row say it surely.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ENOUGH", "Shift", "evidence", "find_shifts", "heights", "logarithms", "shifts"]

ENOUGH = 18.0
"""What the evidence for a shift must add up to."""

_FARTHEST = 3  # shifts of up to so many lines are looked for
_MOST = 1.0  # what one line may say at most for or against a shift: a few wild lines must not decide
_LEAST_SCATTER = 0.2  # of what lines say; in a corpus sorted by length it is nearly nothing, and so is what it proves
_DOUBT = 0.5  # taken off each line's evidence: on unrelated sides, sums then exceed x once in exp(x) lines (Wald)
_NEAR = 50  # lines between two spans of the same shift that are told as one
_CLEARLY = 0.3  # how much better the lengths must correlate

Numbers = NDArray[np.float64]


class Shift(NamedTuple):
    """Lines `first` to `last` (from 0, both included) of the source fit the target lines `shift` further on."""

    first: int
    last: int
    shift: int


def find_shifts(source_lengths: NDArray[np.generic], target_lengths: NDArray[np.generic]) -> list[Shift]:
    """Spans of lines of two equally long sides whose neighbours fit clearly better than the line itself does."""
    source, target = logarithms(source_lengths), logarithms(target_lengths)
    if len(source) <= 2 * _FARTHEST:
        return []
    usual = float(np.median(source - target))
    found: list[tuple[float, Shift]] = []
    for shift in shifts():
        first, last = max(0, -shift), min(len(source), len(source) - shift)
        for start, end, height in _spans(evidence(source, target, shift, usual, first, last)):
            span = Shift(first + start, first + end, shift)
            if _fits_better(source, target, span):
                found.append((height, span))
    return _joined(_without_overlaps(found))


def logarithms(lengths: NDArray[np.generic]) -> Numbers:
    """The scale on which lengths are compared."""
    return np.log1p(lengths.astype(np.float64))


def shifts() -> list[int]:
    """The shifts that are looked for."""
    return [shift for far in range(1, _FARTHEST + 1) for shift in (far, -far)]


def evidence(source: Numbers, target: Numbers, shift: int, usual: float, first: int, last: int) -> Numbers:
    """What the source lines from `first` up to `last` say for being paired with target lines `shift` further on.

    Takes logarithms of lengths, and `usual`, the common value of source minus target. Above zero is for it.
    """
    here = np.abs(source[first:last] - target[first:last] - usual)
    there = np.abs(source[first:last] - target[first + shift : last + shift] - usual)
    gain = np.clip(here - there, -_MOST, _MOST)
    says: Numbers = gain / max(_LEAST_SCATTER, float(gain.std())) - _DOUBT
    return says


def heights(evidence: Numbers, before: float = 0.0) -> Numbers:
    """How much evidence has added up at each line since it was last at zero (Page's test)."""
    total = before + np.cumsum(evidence)
    return total - np.minimum.accumulate(np.minimum(total, 0.0))


def _spans(evidence: Numbers) -> list[tuple[int, int, float]]:
    """The stretches over which the evidence adds up to enough: first, last and sum."""
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


def _fits_better(source: Numbers, target: Numbers, span: Shift) -> bool:
    """Whether the lengths over a span go together clearly better once shifted: sorted lengths fit just as well here."""
    first, last, shift = span
    here = _correlation(source[first : last + 1], target[first : last + 1])
    there = _correlation(source[first : last + 1], target[first + shift : last + 1 + shift])
    return there > here + _CLEARLY


def _correlation(one: Numbers, other: Numbers) -> float:
    scale = float(one.std() * other.std())
    return float(((one - one.mean()) * (other - other.mean())).mean()) / scale if scale > 0.0 else 0.0


def _without_overlaps(found: list[tuple[float, Shift]]) -> list[Shift]:
    """Where several shifts are claimed for the same lines, the one that fits best is told."""
    kept: list[Shift] = []
    for _, span in sorted(found, reverse=True):
        if all(span.last < other.first or other.last < span.first for other in kept):
            kept.append(span)
    return sorted(kept)


def _joined(spans: list[Shift]) -> list[Shift]:
    joined: list[Shift] = []
    for span in spans:
        before = joined[-1] if joined else None
        if before and before.shift == span.shift and span.first - before.last <= _NEAR:
            joined[-1] = before._replace(last=span.last)
        else:
            joined.append(span)
    return joined
