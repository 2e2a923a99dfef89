"""Translations that are given, read by an engine: how likely they are, and where they look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman.api.parts import Part, batches
from dragoman.api.request import PairError
from dragoman.engines.protocol import Attentive, Engine
from dragoman.engines.stepping import EnsembleEngine
from dragoman.errors import ConfigError
from dragoman.search.hypothesis import Hypothesis

__all__ = ["ForcedDecoder", "LONGEST_SCORED"]

LONGEST_SCORED = 2048
"""The most pieces of either side of a pair that is scored: attention takes memory by their square."""

_SCORED_TOKENS = 2048  # a score for each word of the vocabulary is kept for every one of them
_SHOWN_TOKENS = 1024  # every layer and head has a map
_BATCH_SENTENCES = 64

_Pair = tuple[Sequence[int], Sequence[int]]
_Map = NDArray[np.float32] | None
_Show = Callable[[Sequence[Sequence[int]], Sequence[Sequence[int]]], list[_Map]]


class ForcedDecoder:
    """Scores pairs of piece numbers; `longest` is how many pieces the model can read, without the end."""

    def __init__(self, engine: Engine, longest: int | None = None) -> None:
        written = None if engine.longest is None else engine.longest - 1
        self.longest = min(limit for limit in (LONGEST_SCORED, longest, written) if limit is not None)
        self._engine = engine
        self._has_maps = True  # until it is known better

    def check(self, pairs: Sequence[_Pair]) -> None:
        """Refuse what is too long, by the number of the pair."""
        for number, pair in enumerate(pairs):
            for side, pieces in zip(("source", "translation"), pair, strict=True):
                if len(pieces) > self.longest:
                    raise PairError(
                        number,
                        f"a {side} must have at most {self.longest:,} pieces to be scored, got {len(pieces):,}; split "
                        "the pair into sentences",
                    )

    def score(self, pairs: Sequence[_Pair], *, show: bool) -> list[Hypothesis]:
        """Score pairs, in batches of like length; with `show` maps come too, where the model has any."""
        found: dict[int, Hypothesis] = {}
        lengths = [max(len(source), len(target)) for source, target in pairs]
        for rows in batches(lengths, pieces=_SCORED_TOKENS, sentences=_BATCH_SENTENCES):
            sources, targets = zip(*(pairs[row] for row in rows), strict=True)
            found.update(zip(rows, self._engine.score(sources, targets, show=show), strict=True))
        return [found[row] for row in range(len(pairs))]

    def attention(self, pairs: Sequence[_Pair]) -> list[_Map]:
        """Every map of every layer and head, pair by pair; only the torch engine can tell. Shapes: as it says."""
        return self._shown(pairs, self._attentive().attention)

    def likelihoods(self, pairs: Sequence[_Pair]) -> list[_Map]:
        """How likely each place of the source alone makes each piece; likewise."""
        return self._shown(pairs, self._attentive().likelihoods)

    def _attentive(self) -> Attentive:
        engine = self._engine
        if isinstance(engine, EnsembleEngine):
            raise ConfigError(
                "a translator must be one model to show every layer and head of its attention, got an ensemble of "
                f"{len(engine.members)}; open one of its bundles alone"
            )
        if not isinstance(engine, Attentive):
            raise ConfigError(
                f"engine must show every layer and head of its attention, got {engine.name}, which does not; open the "
                "translator with engine='torch'"
            )
        return engine

    @staticmethod
    def _shown(pairs: Sequence[_Pair], show: _Show) -> list[_Map]:
        found: dict[int, _Map] = {}
        lengths = [max(len(source), len(target)) for source, target in pairs]
        for rows in batches(lengths, pieces=_SHOWN_TOKENS, sentences=_BATCH_SENTENCES):
            sources, targets = zip(*(pairs[row] for row in rows), strict=True)
            found.update(zip(rows, show(sources, targets), strict=True))
        return [found[row] for row in range(len(pairs))]

    def look_up_unknown(self, parts: Sequence[Part], unknown: int) -> None:
        """Find out where unknown words were looked at, for translations that hold some and come without a map."""
        rows = [
            (part, place)
            for part in parts
            for place, hypothesis in enumerate(part.found)
            if unknown in hypothesis.pieces and hypothesis.alignment is None
        ]
        if not rows or not self._has_maps:
            return
        # Without the last piece: the row of the end, which follows it, is where the last piece looked.
        pairs = [(part.ids or [], part.found[place].pieces[:-1]) for part, place in rows]
        for (part, place), scored in zip(rows, self.score(pairs, show=True), strict=True):
            self._has_maps = scored.alignment is not None
            part.found[place] = replace(part.found[place], alignment=scored.alignment)
