"""Sums of attention statistics by group, with the control of equal weights, and statistics compared with gold links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.attention_weights.word_classes import CLASSES, WordRanks
from claims.ledger.measures import bleu_of_totals
from claims.measurement.attention_statistics import COLUMNS, TOP, row_values
from dragoman.api.translation.attention import AttentionMaps
from dragoman.evaluation.word_alignment import GoldLinks

VALUES = ("small", "effective", *(f"top-{k}" for k in TOP))
"""Values of a group: share of weights below 0.01, mean exp(entropy), mean mass of the largest weights."""

CONTROLS = ("attention", "uniform", "shuffled", "other word")
"""Weights to compare with gold links: those of the model; all equal; assigned to source positions at random; those of
another target word of the sentence, drawn at random."""

GOLD_VALUES = ("words", "mass", "largest", "effective")
"""Values with gold links: target words; mean weight on linked source words; share of target words whose largest weight
is on a linked word; mean exp(entropy) over source words. The second and third are 0 without links."""

Rows = NDArray[np.float64]
"""Summed statistics. Shape: [columns]."""

_RESAMPLES = 1000
_MAX_LINKS = 2  # target words with more links are in this group


class Groups:
    """Sums of the statistics of target words by group, and those of equal weights for the same words."""

    def __init__(self) -> None:
        self._sums: dict[str, Rows] = defaultdict(lambda: np.zeros(len(COLUMNS)))
        self._uniform: dict[str, Rows] = defaultdict(lambda: np.zeros(len(COLUMNS)))

    def add(self, group: str, rows: NDArray[np.float64]) -> None:
        """Add target words of one sentence. Shapes: rows [*, columns]."""
        flat = rows.reshape(-1, len(COLUMNS))
        if not len(flat):
            return
        self._sums[group] += flat.sum(0)
        positions = round(flat[0, COLUMNS.index("cells")])
        self._uniform[group] += len(flat) * row_values(np.full((1, positions), 1 / positions))[0]

    def to_json(self, order: Sequence[str] = ()) -> dict[str, Any]:
        """Return the number of target words, the values and those of equal weights, for each group."""
        names = [name for name in order or self._sums if name in self._sums]
        return {
            name: {
                "rows": round(self._sums[name][0]),
                "values": group_values(self._sums[name]),
                "uniform": group_values(self._uniform[name]),
            }
            for name in names
        }


def group_values(sums: Rows) -> list[float]:
    """Return the means of `VALUES` from the sums of `COLUMNS`."""
    rows, cells, small = sums[:3]
    return [round(float(value), 4) for value in (small / cells, *(sums[3:] / rows))]


def weight_groups(
    maps: Iterable[AttentionMaps], source: WordRanks, target: WordRanks, bins: Sequence[int]
) -> dict[str, Any]:
    """Return the statistics of all weights, by layer and head, by source length and by word class of both sides.

    `bins` are the most source tokens of each length, the end included; a last bin has longer ones.
    """
    everything, lengths, classes = Groups(), Groups(), Groups()
    received: dict[str, Rows] = defaultdict(lambda: np.zeros(2))
    heads: list[list[Groups]] = []
    for each in maps:
        values = row_values(each.weights)  # [layers, heads, tgt + 1, columns]
        heads = heads or [[Groups() for _ in range(each.heads)] for _ in range(each.layers)]
        everything.add("all", values)
        for layer, row in enumerate(heads):
            for head, group in enumerate(row):
                group.add("all", values[layer, head])
        size = each.weights.shape[-1]
        lengths.add(str(next((most for most in bins if size <= most), "more")), values)
        found = np.array(target.classes(each.target_tokens))
        for name in dict.fromkeys(found.tolist()):
            classes.add(name, values[:, :, found == name])
        mean = each.weights.mean((0, 1, 2), dtype=np.float64)  # [src + 1]
        for name, weight in zip(source.classes(each.source_tokens), mean, strict=True):
            received[name] += (weight * each.weights.shape[2], each.weights.shape[2] / size)
    total = sum(received.values(), np.zeros(2))
    return {
        **everything.to_json(),
        "heads": [[group.to_json()["all"]["values"] for group in row] for row in heads],
        "lengths": lengths.to_json([*map(str, bins), "more"]),
        "classes": classes.to_json(CLASSES),
        "received": {
            name: [round(float(value), 4) for value in received[name] / total] for name in CLASSES if name in received
        },
    }


def gold_groups(maps: Sequence[AttentionMaps], links: Sequence[GoldLinks], seed: int = 1) -> dict[str, Any]:
    """Return `GOLD_VALUES` of `CONTROLS`, for target words with 0, 1, and 2 or more links, and for all linked words.

    The weights are those of `AttentionMaps.words`, between words; the end of the source counts as not linked. Sure and
    possible links count.
    """
    generator = np.random.default_rng(seed)
    edits: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
        "attention": lambda weights: weights,
        "uniform": lambda weights: np.full_like(weights, 1 / weights.shape[-1]),
        "shuffled": lambda weights: generator.permuted(weights, axis=-1),
        "other word": lambda weights: other_rows(weights, generator),
    }
    found = {}
    for name in CONTROLS:
        sums: dict[str, Rows] = defaultdict(lambda: np.zeros(len(GOLD_VALUES)))
        for each, gold in zip(maps, links, strict=True):
            words = replace(each, weights=edits[name](each.weights)).words(by_spaces=True)
            assert words.weights is not None
            for group, row in gold_rows(words.weights[: len(words.target_words)], gold):
                sums[group] += row
        found[name] = {
            group: [round(sums[group][0]), *np.round(sums[group][1:] / sums[group][0], 4).tolist()]
            for group in ("all", "0", "1", "2")
            if group in sums
        }
    return found


def gold_rows(weights: NDArray[np.float64], gold: GoldLinks) -> Iterable[tuple[str, Rows]]:
    """Yield the group and the row of `GOLD_VALUES` of each target word. Shapes: weights [tgt, src + 1]."""
    effective = np.exp(-(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(-1))
    for word in range(len(weights)):
        linked = sorted({source for source, target in gold.possible | gold.sure if target == word})
        is_largest = np.isclose(weights[word], weights[word].max())
        on_link = is_largest[linked].sum() / is_largest.sum()
        row = np.array([1, weights[word, linked].sum(), on_link, effective[word]])
        if linked:
            yield "all", row
        yield str(min(len(linked), _MAX_LINKS)), row


def other_rows(weights: NDArray[np.float32], generator: np.random.Generator) -> NDArray[np.float32]:
    """Return maps in which every target word has the weights of another one. Shapes: [*, tgt + 1, src + 1].

    The order is a random cycle, so that no word keeps its own weights.
    """
    order = generator.permutation(weights.shape[-2])
    source = np.empty_like(order)
    source[order] = np.roll(order, 1)
    return weights[..., source, :]


def bleu_change(counts: NDArray[np.int64], base: NDArray[np.int64], seed: int = 1) -> list[float]:
    """Return BLEU minus that of `base`, and its 95 % interval by a paired bootstrap. Shapes: both [sentences, 10]."""
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), _RESAMPLES).astype(np.float64)
    changes = bleu_of_totals(drawn @ counts) - bleu_of_totals(drawn @ base)
    value = bleu_of_totals(counts.sum(0).astype(np.float64)) - bleu_of_totals(base.sum(0).astype(np.float64))
    low, high = np.quantile(changes, (0.025, 0.975))
    return [round(float(each), 2) for each in (value, low, high)]
