"""Link the tokens of the training pairs, for guided alignment: two hidden Markov models, trained to agree.

Papers: [vogel1996] (the model), [och2003] (section 2.1.1: the empty word), [liang2006] (agreement).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.preparation.cached_stage import Stage, versions
from dragoman.data.preparation.tokenizer_stage import Tokenizers
from dragoman.data.shards import Shards, ShardWriter
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.files import sha256_of_file
from dragoman.progress import Progress

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

_CELLS = 1 << 16  # pairs of tokens in one batch
_ROUNDS = 5  # of expectation maximization, for each of the two models
_EMPTY = np.float32(0.2)  # probability of the empty word
_FARTHEST = 256  # jumps that are farther share its probability
_LEAST = np.float32(1e-8)  # probability of any translation; smaller products would be slow denormal numbers
_FEWEST = 0.01  # added to counts, by variational Bayes: rare tokens do not attract links


@dataclass(frozen=True)
class _PaddedPairs:
    """Pairs of similar lengths, padded with -1. Shapes: rows [batch], source [batch, src], target [batch, tgt]."""

    rows: Numbers
    source: Numbers
    target: Numbers

    @cached_property
    def real(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self.source >= 0, self.target >= 0

    def keys(self, targets: int) -> Numbers:
        """One number per pair of tokens, -1 in the padding. Shapes: -> [batch, tgt, src]."""
        both = self.real[1][:, :, np.newaxis] & self.real[0][:, np.newaxis]
        return np.where(both, self.source[:, np.newaxis] * targets + self.target[:, :, np.newaxis], -1)


def _padded(sentences: Sentences, order: Numbers) -> Numbers:
    lengths = sentences.lengths[order]
    starts = (np.cumsum(sentences.lengths) - sentences.lengths)[order]
    places = np.arange(int(lengths.max(initial=0)))
    inside = places < lengths[:, np.newaxis]
    found = np.full(inside.shape, -1, np.int64)
    found[inside] = sentences.ids[(starts[:, np.newaxis] + places)[inside]]
    return found


def _batches(pairs: Pairs, first: int = 0) -> Iterator[_PaddedPairs]:
    """Yield the pairs with tokens on both sides, sorted by length."""
    source, target = pairs.source.lengths, pairs.target.lengths
    order = np.lexsort((target, source))
    order = order[np.minimum(source, target)[order] > 0]
    while len(order):
        cells = np.maximum.accumulate(source[order]) * np.maximum.accumulate(target[order])
        count = max(1, int(np.searchsorted(cells * np.arange(1, len(order) + 1), _CELLS, side="right")))
        some, order = order[:count], order[count:]
        yield _PaddedPairs(first + some, _padded(pairs.source, some), _padded(pairs.target, some))


def jump_matrix(jumps: Floats, size: int) -> Floats:
    """The weight of the jump from position i to j. Shapes: jumps [2 · farthest + 1] -> [size, size]."""
    farthest = len(jumps) // 2
    places = np.arange(size)
    found: Floats = jumps[np.clip(places - places[:, np.newaxis], -farthest, farthest) + farthest]
    return found


def hmm_posteriors(emission: Floats, empty: Floats, lengths: Numbers, jumps: Floats) -> tuple[Floats, Floats]:
    """p(a_t = s | both sentences), by the forward-backward algorithm, and the expected number of each jump.

    p(a_t = j | a_{t-1} = i) ∝ (1 − p_0) · jump(j − i) over the positions of the sentence; with p_0 the word is that of
    the empty word, and the position stays. Papers: [vogel1996], [och2003] (section 2.1.1).
    Shapes: emission [batch, tgt, src], empty [batch, tgt], lengths [batch] -> as emission, [src, src].
    """
    batch, tgt, src = emission.shape
    jump = jump_matrix(jumps, src)
    real = (np.arange(src) < lengths[:, np.newaxis]).astype(np.float32)
    total = real @ jump.T  # [batch, src]
    begin = real / lengths[:, np.newaxis].astype(np.float32)
    before = np.empty((tgt, batch, src), np.float32)  # forward probabilities of positions, with and without a link
    linked = np.empty((tgt, batch, src), np.float32)
    scales = np.empty((tgt, batch, 1), np.float32)
    for t in range(tgt):
        prior = begin if t == 0 else before[t - 1]
        moved = begin if t == 0 else (prior / total) @ jump
        link = (1 - _EMPTY) * moved * emission[:, t]
        both = link + _EMPTY * empty[:, t, np.newaxis] * prior
        scales[t] = both.sum(-1, keepdims=True)
        linked[t], before[t] = link / scales[t], both / scales[t]
    moves = np.zeros((src, src), np.float32)
    after = np.ones((batch, src), np.float32)  # backward probabilities
    found = np.empty_like(emission)
    for t in range(tgt - 1, -1, -1):
        found[:, t] = linked[t] * after
        if t:
            future = (1 - _EMPTY) * emission[:, t] * after / scales[t]
            moves += (before[t - 1] / total).T @ future
            after = (future @ jump.T) / total + _EMPTY * empty[:, t, np.newaxis] * after / scales[t]
    return found, moves * jump


class _Direction:
    """The probabilities of one direction: translations of each pair of tokens, the empty word, and jumps."""

    def __init__(self, givens: Numbers, frequencies: Numbers) -> None:
        """`givens` are the tokens that condition each pair of the table."""
        self.givens = givens
        self.table = np.ones(len(givens), np.float32)
        self.empty = (frequencies / max(1, frequencies.sum())).astype(np.float32)
        self.jumps = np.ones(2 * _FARTHEST + 1, np.float32)
        self._counts, self._moves = np.zeros(len(givens)), np.zeros(len(self.jumps))

    def count(self, cells: NDArray[np.int32], expected: Floats, moves: Floats | None) -> None:
        self._counts += np.bincount(cells, expected, len(self._counts))
        if moves is not None:
            places = np.arange(len(moves))
            distance = np.clip(places - places[:, np.newaxis], -_FARTHEST, _FARTHEST) + _FARTHEST
            self._moves += np.bincount(distance.ravel(), moves.ravel(), len(self._moves))

    def update(self) -> None:
        """Estimate everything from the counts, and clear them."""
        totals = np.bincount(self.givens, self._counts + _FEWEST)
        found = _exp_digamma(self._counts + _FEWEST) / _exp_digamma(np.maximum(totals, _FEWEST))[self.givens]
        self.table = np.maximum(found, _LEAST, dtype=np.float32, casting="same_kind")
        if self._moves.any():
            self.jumps = (self._moves / self._moves.sum() + 1e-4).astype(np.float32)
        self._counts[:], self._moves[:] = 0, 0


def _exp_digamma(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(ψ(x)), by the recurrence ψ(x) = ψ(x + 1) − 1 / x and exp(ψ(x)) ≈ x − 1/2 + 1/(24 (x − 1/2))."""
    shifted = x + 4.5
    less = sum(1 / (x + number) for number in range(5))
    found: NDArray[np.float64] = (shifted + 1 / (24 * shifted)) * np.exp(-less)
    return found


class StatisticalAligner:
    """Token links of sentence pairs, from models of both directions that were trained on some of them."""

    def __init__(self, pairs: Pairs, sizes: tuple[int, int], *, advance: Callable[[float], None] | None = None) -> None:
        """Train; `sizes` are those of the vocabularies, `advance` receives the part that is done."""
        self._sizes = sizes
        batches = list(_batches(pairs))
        self._keys = np.unique(np.concatenate([np.unique(each.keys(sizes[1])) for each in batches] or [_NONE]))
        self._keys = self._keys[self._keys >= 0]
        tokens = np.divmod(self._keys, sizes[1])
        counts = [
            np.bincount(side.ids, minlength=size)
            for side, size in zip((pairs.source, pairs.target), sizes, strict=True)
        ]
        self._models = _Direction(tokens[0], counts[1]), _Direction(tokens[1], counts[0])
        cells = [np.searchsorted(self._keys, each.keys(sizes[1])).astype(np.int32) for each in batches]
        steps = 2 * _ROUNDS
        for step in range(steps):
            for number, (batch, places) in enumerate(zip(batches, cells, strict=True)):
                self._expect(batch, places, is_hidden=step >= _ROUNDS)
                if advance is not None:
                    advance((step + (number + 1) / len(batches)) / steps)
            for model in self._models:
                model.update()

    def links(self, pairs: Pairs, *, least: float) -> Pairs:
        """Return the positions of linked tokens: those whose posteriors have a product of at least `least`, squared."""
        found: list[tuple[Numbers, ...]] = []
        for batch in _batches(pairs):
            keys = batch.keys(self._sizes[1])
            places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            one, other = self._posteriors(batch, places, self._keys[places] == keys, is_hidden=True)
            row, target, source = np.nonzero((one[0] * other[0] >= least**2) & (keys >= 0))
            found.append((batch.rows[row], target, source))
        rows, target, source = (np.concatenate([each[n] for each in found] or [_NONE]) for n in range(3))
        order = np.lexsort((source, target, rows))
        lengths = np.bincount(rows, minlength=len(pairs))
        return Pairs(Sentences(source[order], lengths), Sentences(target[order], lengths))

    def _expect(self, batch: _PaddedPairs, places: NDArray[np.int32], *, is_hidden: bool) -> None:
        """Count a batch: the product of the posterior probabilities of both directions. Paper: [liang2006].

        Without positions, in the first rounds, both directions would agree on too few links; each has its own.
        """
        one, other = self._posteriors(batch, places, None, is_hidden=is_hidden)
        real = batch.real[1][:, :, np.newaxis] & batch.real[0][:, np.newaxis]
        agreed = (one[0] * other[0])[real] if is_hidden else None
        for model, (own, moves) in zip(self._models, (one, other), strict=True):
            model.count(places[real], own[real] if agreed is None else agreed, moves)

    def _posteriors(
        self, batch: _PaddedPairs, places: NDArray[np.integer], known: NDArray[np.bool_] | None, *, is_hidden: bool
    ) -> list[tuple[Floats, Floats | None]]:
        """The posterior probabilities of both directions, [batch, tgt, src], and the expected jumps."""
        found: list[tuple[Floats, Floats | None]] = []
        for number, model in enumerate(self._models):
            given, word = batch.real if number == 0 else batch.real[::-1]
            own = batch.target if number == 0 else batch.source
            table = model.table[np.minimum(places, len(model.table) - 1)]
            if known is not None:
                table = np.where(known, table, _LEAST)
            table = table if number == 0 else table.transpose(0, 2, 1)
            # A word in the padding is sure, wherever the position is.
            emission = np.where(word[:, :, np.newaxis], table, 1) * given[:, np.newaxis]
            empty = np.where(word, model.empty[own], 1)
            lengths = given.sum(1)
            moves = None
            if is_hidden:
                posteriors, moves = hmm_posteriors(emission, empty, lengths, model.jumps)
            else:
                weighted = (1 - _EMPTY) * emission / lengths[:, np.newaxis, np.newaxis]
                total = weighted.sum(-1, keepdims=True) + _EMPTY * empty[:, :, np.newaxis]
                posteriors = weighted / total
            found.append((posteriors if number == 0 else posteriors.transpose(0, 2, 1), moves))
        return found


_NONE = np.empty(0, np.int64)


_VERSION = 2
_STAGE = "linking words"
_MOST_PAIRS = 200_000  # from which an aligner learns
_MOST_CELLS = 200_000_000  # sum of the products of the lengths of both sides: 4 bytes each, and time grow with it
_CHUNK = 20_000
_LEAST_PROBABILITY = 0.4  # of a link, the geometric mean of both directions; chosen on hand-aligned sentences
_LEARNING = 0.9  # of the time


def write_links(
    shards: dict[str, Any], tokenizers: Tokenizers, folder: Path, progress: Progress, *, is_multilingual: bool
) -> list[dict[str, Any]]:
    """Write the links of all training pairs, with an aligner per pair of languages, or use the cached result."""
    train = shards["splits"]["train"]["shards"]
    depends = [_VERSION, is_multilingual, [shard["sha256"] for shard in train], versions("numpy")]
    stage = Stage(folder, "links", depends)
    result: list[dict[str, Any]] | None = stage.result()
    if result is not None:
        progress.skip(_STAGE)
        return result
    progress.begin(_STAGE)
    vocabularies = tokenizers.load()
    sizes = vocabularies["source"].size, vocabularies["target"].size
    groups: dict[int, list[dict[str, Any]]] = {}
    for shard in train:
        groups.setdefault(shard["corpus"] if is_multilingual else 0, []).append(shard)
    total, done, result = max(1, sum(shard["rows"] for shard in train)), 0, []
    for group in groups.values():
        opened = Shards([folder / shards["folder"] / shard["path"] for shard in group])
        aligner = StatisticalAligner(
            opened.gather(_sample(opened)),
            sizes,
            advance=_part(progress, done / total, _LEARNING * len(opened) / total),
        )
        first = 0
        for shard in group:
            path = stage.folder / shard["path"]
            with ShardWriter(path, (1 << 16, 1 << 16)) as writer:
                for start in range(first, first + shard["rows"], _CHUNK):
                    rows = np.arange(start, min(start + _CHUNK, first + shard["rows"]))
                    writer.append(aligner.links(opened.gather(rows), least=_LEAST_PROBABILITY))
            first += shard["rows"]
            progress.advance((done + len(opened) * _LEARNING + first * (1 - _LEARNING)) / total, done + first)
            result.append(
                {
                    "path": f"{stage.folder.name}/{path.name}",
                    "rows": shard["rows"],
                    "bytes": path.stat().st_size,
                    "sha256": sha256_of_file(path),
                }
            )
        done += len(opened)
    stage.finish(result, [Path(each["path"]).name for each in result])
    return result


def _sample(shards: Shards) -> NDArray[np.int64]:
    """Return rows at equal distances, as many as an aligner may learn from."""
    rows = _spread(len(shards), _MOST_PAIRS)
    cells = int(shards.lengths(rows).prod(1).sum())
    return rows if cells <= _MOST_CELLS else rows[_spread(len(rows), max(1, len(rows) * _MOST_CELLS // cells))]


def _spread(count: int, most: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def _part(progress: Progress, begin: float, share: float) -> Callable[[float], None]:
    return lambda done: progress.advance(begin + share * done)
