"""Search by the algorithm of the settings, forced decoding, and ensembles ([sutskever2014], section 3.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np

from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError
from dragoman.search.decoding_protocol import DecodingState, Floats, Numbers, StartDecoding, StepOutput
from dragoman.search.greedy import decode_rows
from dragoman.search.hypothesis import Hypothesis, PartialHypotheses, Penalties, SearchInput, SearchOptions
from dragoman.text import BOS_ID, EOS_ID

if TYPE_CHECKING:
    from dragoman.search.beam.algorithms import BeamAlgorithm


def search(
    start: StartDecoding,
    sentences: Sequence[SearchInput],
    settings: SearchSettings,
    *,
    longest: int | None = None,
    **options: Unpack[SearchOptions],
) -> list[list[Hypothesis]]:
    """Translate sentences as one batch. For each sentence: its translations, the best first."""
    if not sentences:
        return []
    has_phrases = any(sentence.phrases for sentence in sentences)
    if not has_phrases and (settings.sample or (settings.beam == 1 and options.get("trace") is None)):
        return decode_rows(start, sentences, settings, longest=longest, **options)
    from dragoman.search.beam.algorithms import DiverseBeam, StandardBeam  # noqa: PLC0415 -- many models search greedily
    from dragoman.search.beam.search import beam_search  # noqa: PLC0415

    if has_phrases:
        algorithm: BeamAlgorithm = _constrained(sentences, settings, longest)
    else:
        algorithm = DiverseBeam.of(settings) if settings.groups > 1 else StandardBeam(settings.beam)
    return beam_search(start, sentences, settings, algorithm, longest=longest, **options)


def _constrained(sentences: Sequence[SearchInput], settings: SearchSettings, longest: int | None) -> BeamAlgorithm:
    if settings.sample or settings.groups > 1:
        method = "sampling" if settings.sample else "diverse beam search"
        raise ConfigError(
            f"phrases must be searched for by plain beam search, got {method}; disable it, or omit the glossary"
        )
    from dragoman.search.beam.constrained import ConstrainedBeam  # noqa: PLC0415 -- few texts have phrases

    limits = [settings.limit(len(sentence.tokens), longest, sentence.min_length) for sentence in sentences]
    return ConstrainedBeam.of(sentences, settings.beam, limits)


def forced_decode(
    start: StartDecoding,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    return_attention: bool = False,
) -> list[Hypothesis]:
    """Decode the given targets (token ids without specials) step by step; the score is the average log p per token."""
    penalties = Penalties(SearchSettings())
    state = start(sources, return_attention)
    rows = list(range(len(sources)))
    partial = PartialHypotheses.empty(len(rows))
    last = np.full(len(rows), BOS_ID)
    found: dict[int, Hypothesis] = {}
    while rows:
        step = partial.written.shape[1]
        output = state.step(last)
        state = output.next_state
        last = np.array([targets[row][step] if step < len(targets[row]) else EOS_ID for row in rows], np.int64)
        gained = output.log_probs[np.arange(len(rows)), last]
        partial = partial.with_attention(output.weights).append(last, partial.log_probs + gained)
        active = [place for place, row in enumerate(rows) if step < len(targets[row])]
        for place in set(range(len(rows))).difference(active):
            found[rows[place]] = partial.close(place, len(sources[rows[place]]), penalties).hypothesis
        if len(active) < len(rows):
            kept = np.array(active, np.int64)
            rows, last = [rows[place] for place in active], last[kept]
            partial, state = partial.select(kept), state.select(kept)
    return [found[row] for row in range(len(sources))]


def ensemble_start(starts: Sequence[StartDecoding]) -> StartDecoding:
    """Combine models with the same vocabularies: p(y_t) and attention weights are the means of theirs."""

    def start(sources: Sequence[Sequence[int]], return_attention: bool) -> DecodingState:
        return _EnsembleState(tuple(each(sources, return_attention) for each in starts))

    return start


@dataclass(frozen=True)
class _EnsembleState:
    members: tuple[DecodingState, ...]

    def step(self, tokens: Numbers) -> StepOutput:
        outputs = [member.step(tokens) for member in self.members]
        maps = [each.weights for each in outputs if each.weights is not None]
        return StepOutput(
            _mean([each.log_probs for each in outputs]),
            sum(maps[1:], start=maps[0]) / np.float32(len(maps)) if maps else None,
            _EnsembleState(tuple(each.next_state for each in outputs)),
        )

    def reorder(self, rows: Numbers) -> Self:
        return type(self)(tuple(member.reorder(rows) for member in self.members))

    def select(self, rows: Numbers) -> Self:
        return type(self)(tuple(member.select(rows) for member in self.members))


def _mean(log_probs: list[Floats]) -> Floats:
    """log of the mean of p. Shapes: each [rows, vocab] -> [rows, vocab]."""
    if len(log_probs) == 1:
        return log_probs[0]
    total: Floats = reduce(np.logaddexp, log_probs)
    return total - np.float32(np.log(len(log_probs)))
