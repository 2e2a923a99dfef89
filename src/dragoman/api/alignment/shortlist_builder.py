"""Build a lexical shortlist for a model from a parallel corpus: which target tokens attend to each source token."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dragoman.api.files.parallel_lines import LinePairs
from dragoman.api.translation.forced_decoding import ForcedDecoder
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle, write_bundle
from dragoman.bundle.shortlist import Shortlist
from dragoman.config.schema import ModelConfig, TransformerConfig, aligns_input
from dragoman.engines.select import architecture
from dragoman.errors import CombinationError, DataError
from dragoman.search.hypothesis import Hypothesis

_MAX_TOKENS = 256  # per side; longer pairs are left out
_LEAST_WEIGHT = 0.1  # attention weights below it are no alignment
_SAMPLED = 10_000  # pairs from which the report is computed

_Pair = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True)
class ShortlistResult:
    """The new bundle, and counts for a report; `covered` is the share of target tokens in the shortlists."""

    bundle: Bundle
    pairs: int
    source_tokens: int
    mean_candidates: float
    covered: float


@dataclass
class _Counts:
    """Alignment weights of source and target tokens, frequencies of target tokens, and the first pairs."""

    aligned: defaultdict[int, defaultdict[int, float]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(float))
    )
    targets: Counter[int] = field(default_factory=Counter)
    pairs: int = 0
    sample: list[_Pair] = field(default_factory=list)

    def add(self, pair: _Pair, hypothesis: Hypothesis) -> None:
        source, target = pair
        self.pairs += 1
        if len(self.sample) < _SAMPLED:
            self.sample.append(pair)
        self.targets.update(target)
        if hypothesis.alignment is None:
            return
        weights = hypothesis.alignment[: len(target), : len(source)]
        for row, column in zip(*np.nonzero(weights >= _LEAST_WEIGHT), strict=True):
            self.aligned[source[column]][target[row]] += float(weights[row, column])


def check_architecture(model: ModelConfig) -> None:
    """Raise a `CombinationError` for a model whose engine cannot use a shortlist."""
    if architecture(model) != "ssru":
        got = model.decoder if isinstance(model, TransformerConfig) else model.family
        raise CombinationError(
            f"model.decoder must be ssru for a shortlist, got {got}; the engines of other models have no shortlist"
        )


def add_shortlist(
    bundle: Bundle,
    blocks: Iterable[LinePairs],
    output: Path,
    *,
    frequent: int = 100,
    per_token: int = 50,
    threads: int | None = None,
) -> ShortlistResult:
    """Write a copy of a bundle with a shortlist from sentence pairs.

    A sentence may write the `frequent` most frequent target tokens, up to `per_token` tokens that attend most to each
    of its source tokens, and its own source tokens if the vocabulary is joint.
    """
    check_architecture(bundle.config.model)
    counts = _count(Translator.open(bundle, threads=threads, shortlist=False), blocks)
    if not counts.pairs:
        raise DataError("there are no sentence pairs to build a shortlist from; name files with text")
    tokenizers = bundle.tokenizers()
    shortlist = _shortlist(
        counts,
        tokenizers["source"].size,
        frequent=frequent,
        per_token=per_token,
        is_joint=tokenizers["source"] is tokenizers["target"],
    )
    written = write_bundle(
        output,
        bundle.config,
        bundle.weights(),
        tokenizers,
        bundle.card(),
        quantization=bundle.quantization(),
        shortlist=shortlist,
    )
    sizes, hits, total = [], 0, 0
    for source, target in counts.sample:
        candidates = set(shortlist.candidates(source).tolist())
        sizes.append(len(candidates))
        hits += sum(token in candidates for token in target)
        total += len(target)
    return ShortlistResult(written, counts.pairs, len(counts.aligned), sum(sizes) / len(sizes), hits / max(1, total))


def _count(translator: Translator, blocks: Iterable[LinePairs]) -> _Counts:
    """Score pairs with the model and count its attention."""
    is_later = aligns_input(translator.bundles[0].config.model)
    decoder, counts = ForcedDecoder(translator.engine, aligns_input=is_later), _Counts()
    for block in blocks:
        pairs = [
            (translator.preprocessor.sentence(source).ids or [], translator.postprocessor.tokenize(target).ids)
            for source, target in block
        ]
        pairs = [pair for pair in pairs if all(0 < len(side) <= _MAX_TOKENS for side in pair)]
        for pair, hypothesis in zip(pairs, decoder.score(pairs, show=True), strict=True):
            counts.add(pair, hypothesis)
    return counts


def _shortlist(counts: _Counts, source_vocab: int, *, frequent: int, per_token: int, is_joint: bool) -> Shortlist:
    lists: list[list[int]] = [[] for _ in range(source_vocab)]
    for source, found in counts.aligned.items():
        best = sorted(found, key=lambda token: (-found[token], token))
        lists[source] = sorted(best[:per_token])
    if is_joint:
        lists = [sorted({*each, token}) for token, each in enumerate(lists)]
    usual = sorted(counts.targets, key=lambda token: (-counts.targets[token], token))
    return Shortlist.of_lists(usual[:frequent], lists)
