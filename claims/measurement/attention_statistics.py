"""Statistics of attention weights: how many source positions a target word attends to, and what is covered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

TOP = (1, 2, 3, 5)
"""Numbers of largest weights whose sum is recorded."""

COLUMNS = ("rows", "cells", "small", "effective", *(f"top-{k}" for k in TOP))
"""Sums over target words: words; weights; weights below 0.01; exp(entropy); mass of the largest weights."""

COVERAGE = ("positions", "deviation", "uncovered", "overcovered")
"""Sums over source positions of c = Σ_t a_t(s): positions; (1 − c)²; positions with c < 0.5; positions with c > 1.5."""

_SMALL = 0.01
_UNCOVERED, _OVERCOVERED = 0.5, 1.5
_LENGTH_BINS = (8, 11, 14, 18, 24, 10**9)  # most source tokens of each bin


def row_statistics(weights: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return the sums of `COLUMNS` over target words. Shapes: weights [*, tgt, src] -> [*, columns]."""
    sums: NDArray[np.float64] = row_values(weights).sum(-2)
    return sums


def row_values(weights: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return the values of `COLUMNS` for each target word. Shapes: weights [*, tgt, src] -> [*, tgt, columns].

    Weights that do not sum to one, such as those of local-p, are normalized for the entropy and the mass.
    """
    raw = weights.astype(np.float64)
    total = raw.sum(-1, keepdims=True)
    share = np.divide(raw, total, out=np.zeros_like(raw), where=total > 0)
    entropy = -(share * np.log(np.where(share > 0, share, 1.0))).sum(-1)  # [*, tgt]
    mass = np.cumsum(-np.sort(-share, axis=-1), axis=-1)  # [*, tgt, src]
    shape = raw.shape[:-1]
    columns = [np.ones(shape), np.full(shape, float(raw.shape[-1])), (raw < _SMALL).sum(-1), np.exp(entropy)]
    columns += [mass[..., min(k, raw.shape[-1]) - 1] for k in TOP]
    return np.stack(columns, axis=-1)


def coverage_statistics(weights: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return the sums of `COVERAGE` for the mean of all heads. Shapes: weights [layers, heads, tgt, src] -> [columns].

    Paper: [xu2015] (14) is the second column.
    """
    covered = weights.astype(np.float64).mean((0, 1)).sum(0)  # [src]
    columns = [
        np.ones_like(covered),
        (1.0 - covered) ** 2,
        covered < _UNCOVERED,
        covered > _OVERCOVERED,
    ]
    return np.array([column.sum() for column in columns], np.float64)


class AttentionStatistics:
    """Sums over sentences, by layer and head and by source length, and for each sentence over all heads."""

    def __init__(self) -> None:
        self._heads: NDArray[np.float64] | None = None  # [layers, heads, columns]
        self._lengths: NDArray[np.float64] = np.zeros((len(_LENGTH_BINS), len(COLUMNS)))
        self._sentences: list[NDArray[np.float64]] = []
        self._coverage: list[NDArray[np.float64]] = []

    def add(self, maps: Iterable[NDArray[np.floating[Any]]]) -> None:
        """Add the maps of sentences, in their order. Shapes: each [layers, heads, tgt, src]."""
        for weights in maps:
            found = row_statistics(weights)  # [layers, heads, columns]
            self._heads = found if self._heads is None else self._heads + found
            sentence = found.sum((0, 1))
            self._lengths[np.searchsorted(_LENGTH_BINS, weights.shape[-1])] += sentence
            self._sentences.append(sentence)
            self._coverage.append(coverage_statistics(weights))

    def to_json(self) -> dict[str, Any]:
        """Return the sums, rounded to save space in the record; counts stay exact."""
        assert self._heads is not None
        return {
            "columns": list(COLUMNS),
            "heads": np.round(self._heads, 2).tolist(),
            "length_bins": list(_LENGTH_BINS[:-1]),
            "lengths": np.round(self._lengths, 2).tolist(),
            "sentences": _columns(self._sentences),
            "coverage": _columns(self._coverage),
        }


def _columns(rows: list[NDArray[np.float64]]) -> list[list[float | int]]:
    return [[_short(value) for value in column] for column in np.array(rows).T]


def _short(value: float) -> float | int:
    rounded = round(float(value), 2)
    return int(rounded) if rounded.is_integer() else rounded
