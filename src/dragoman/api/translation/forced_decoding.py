"""Compute the score of given translations (forced decoding)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman.api.translation.attention import with_next_steps
from dragoman.api.translation.batching import batch_by_length
from dragoman.api.translation.options import PairError
from dragoman.api.translation.prepared_text import Chunk
from dragoman.engines.protocol import AttentionEngine, Engine, EnsembleEngine
from dragoman.errors import ConfigError
from dragoman.search.hypothesis import Hypothesis

MAX_SCORED_TOKENS = 2048
"""Maximum tokens per side of a scored pair: the memory of attention grows with their square."""

_SCORED_TOKENS = 2048  # per batch: every token has a score per vocabulary entry
_ATTENTION_TOKENS = 1024  # per batch: every layer and head has a map
_BATCH_SENTENCES = 64

_Pair = tuple[Sequence[int], Sequence[int]]
_Map = NDArray[np.float32] | None
_Show = Callable[[Sequence[Sequence[int]], Sequence[Sequence[int]]], list[_Map]]


class ForcedDecoder:
    """Scores pairs of token ids; `max_tokens` is the maximum source length of the model, without the end.

    With `aligns_input` the attention weights of a token are those of the step after it.
    """

    def __init__(self, engine: Engine, max_tokens: int | None = None, *, aligns_input: bool = False) -> None:
        written = None if engine.longest is None else engine.longest - 1
        self.max_tokens = min(limit for limit in (MAX_SCORED_TOKENS, max_tokens, written) if limit is not None)
        self.engine, self.aligns_input = engine, aligns_input
        self._has_maps = True  # set to False when the model returns none

    def check(self, pairs: Sequence[_Pair]) -> None:
        """Raise `PairError` for a pair that is too long."""
        for number, pair in enumerate(pairs):
            for side, tokens in zip(("source", "translation"), pair, strict=True):
                if len(tokens) > self.max_tokens:
                    raise PairError(
                        number,
                        f"a {side} must have at most {self.max_tokens:,} tokens to be scored, got {len(tokens):,}; "
                        "split the pair into sentences",
                    )

    def score(self, pairs: Sequence[_Pair], *, show: bool) -> list[Hypothesis]:
        """Score pairs in batches of similar length; with `show` return attention maps too, if the model has any."""
        found: dict[int, Hypothesis] = {}
        lengths = [max(len(source), len(target)) for source, target in pairs]
        for rows in batch_by_length(lengths, tokens=_SCORED_TOKENS, sentences=_BATCH_SENTENCES):
            sources, targets = zip(*(pairs[row] for row in rows), strict=True)
            found.update(zip(rows, self.engine.score(sources, targets, return_attention=show), strict=True))
        shown = [found[row] for row in range(len(pairs))]
        return list(map(with_next_steps, shown)) if self.aligns_input else shown

    def attention(self, pairs: Sequence[_Pair]) -> list[_Map]:
        """Return all attention maps of each pair; requires the torch engine, which documents the shapes."""
        return self._shown(pairs, self._attentive().attention)

    def likelihoods(self, pairs: Sequence[_Pair]) -> list[_Map]:
        """Return the likelihood of each token given one source position alone; requires the torch engine."""
        return self._shown(pairs, self._attentive().likelihoods)

    def _attentive(self) -> AttentionEngine:
        engine = self.engine
        if isinstance(engine, EnsembleEngine):
            raise ConfigError(
                "a translator must be one model to show every layer and head of its attention, got an ensemble of "
                f"{len(engine.members)}; open one of its bundles alone"
            )
        if not isinstance(engine, AttentionEngine):
            raise ConfigError(
                f"engine must show every layer and head of its attention, got {engine.name}, which does not; open the "
                "translator with engine='torch'"
            )
        return engine

    @staticmethod
    def _shown(pairs: Sequence[_Pair], show: _Show) -> list[_Map]:
        found: dict[int, _Map] = {}
        lengths = [max(len(source), len(target)) for source, target in pairs]
        for rows in batch_by_length(lengths, tokens=_ATTENTION_TOKENS, sentences=_BATCH_SENTENCES):
            sources, targets = zip(*(pairs[row] for row in rows), strict=True)
            found.update(zip(rows, show(sources, targets), strict=True))
        return [found[row] for row in range(len(pairs))]

    def complete_alignments(self, chunks: Sequence[Chunk], unknown: int) -> None:
        """Give each token of a search its attention weights; compute those that unknown tokens lack."""
        for chunk in chunks if self.aligns_input else ():
            chunk.hypotheses = list(map(with_next_steps, chunk.hypotheses))
        rows = [
            (chunk, place)
            for chunk in chunks
            for place, hypothesis in enumerate(chunk.hypotheses)
            if unknown in hypothesis.tokens and hypothesis.alignment is None
        ]
        if not rows or not self._has_maps:
            return
        # Without the last token: the row of the end token, which follows it, has the weights of the last token.
        end = None if self.aligns_input else -1
        pairs = [(chunk.ids or [], chunk.hypotheses[place].tokens[:end]) for chunk, place in rows]
        for (chunk, place), scored in zip(rows, self.score(pairs, show=True), strict=True):
            self._has_maps = scored.alignment is not None
            chunk.hypotheses[place] = replace(chunk.hypotheses[place], alignment=scored.alignment)
