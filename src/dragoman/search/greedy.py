"""Greedy search, and sampling: temperature, top-k [fan2018] (section 5.1), top-p [holtzman2020] (section 3.1)."""

from collections.abc import Callable, Sequence
from typing import Unpack

import numpy as np

from dragoman.config.search import SearchSettings
from dragoman.search.decoding_protocol import Floats, Numbers, SearchMonitor, StartDecoding
from dragoman.search.hypothesis import (
    Hypothesis,
    PartialHypotheses,
    Penalties,
    SearchInput,
    SearchOptions,
    StepProcessor,
)
from dragoman.text import BOS_ID, EOS_ID

_SORTED = 128  # tokens

TokenPicker = Callable[[Floats, Sequence[int]], Numbers]
"""Chooses the next token of each row, given the initial row numbers. Shapes: [rows, vocab], [rows] -> [rows]."""


def decode_rows(
    start: StartDecoding,
    sentences: Sequence[SearchInput],
    settings: SearchSettings,
    *,
    longest: int | None = None,
    **options: Unpack[SearchOptions],
) -> list[list[Hypothesis]]:
    """Decode the greedy translation of each sentence, or `settings.nbest` samples; none for a cancelled one."""
    pick, copies = (_sampler(sentences, settings), settings.nbest) if settings.sample else (_most_likely, 1)
    monitor, needs_attention = options.get("monitor"), options.get("return_attention", False)
    count = len(sentences)
    limits = np.array([settings.limit(len(sentence.tokens), longest, sentence.min_length) for sentence in sentences])
    processor, penalties = StepProcessor(sentences, settings), Penalties(settings)
    state = start([sentence.tokens for sentence in sentences], needs_attention or settings.coverage_penalty > 0)
    rows = np.repeat(np.arange(count), copies)  # the sentence of each row
    if copies > 1:
        state = state.select(rows)
    row_numbers = list(range(len(rows)))
    partial = PartialHypotheses.empty(len(rows))
    tokens = np.full(len(rows), BOS_ID)
    hypotheses: dict[int, Hypothesis] = {}
    cancelled = {sentence for sentence in range(count) if monitor is not None and monitor.is_cancelled(sentence)}
    while len(rows) and len(cancelled) < count:
        output = state.step(tokens)
        processor.apply(output.log_probs, partial.written, rows.tolist())
        tokens = pick(output.log_probs, row_numbers)
        token_log_probs = output.log_probs[np.arange(len(rows)), tokens]
        attended = partial.with_attention(output.weights)
        partial = attended.append(tokens, partial.log_probs + token_log_probs)
        state = output.next_state
        has_no_token = np.isneginf(token_log_probs)  # no token is allowed
        ended = has_no_token | (tokens == EOS_ID) | (partial.written.shape[1] >= limits[rows])
        for row in np.flatnonzero(ended).tolist():
            last = attended if has_no_token[row] else partial
            hypotheses[row_numbers[row]] = last.close(row, len(sentences[rows[row]].tokens), penalties).hypothesis
        cancelled |= _report_tokens(monitor, partial, rows, copies)
        active = np.flatnonzero(~ended & ~np.isin(rows, list(cancelled)) if cancelled else ~ended)
        if len(active) < len(rows):
            rows, tokens, row_numbers = rows[active], tokens[active], [row_numbers[row] for row in active]
            state, partial = state.select(active), partial.select(active)
    return [
        [
            hypotheses[row]
            for row in range(sentence * copies, (sentence + 1) * copies)
            if row in hypotheses and sentence not in cancelled
        ]
        for sentence in range(count)
    ]


def _report_tokens(monitor: SearchMonitor | None, partial: PartialHypotheses, rows: Numbers, copies: int) -> set[int]:
    """Report new tokens to the monitor; return the cancelled sentences."""
    if monitor is None:
        return set()
    for row, sentence in enumerate(rows.tolist()):
        if copies == 1 and partial.written[row, -1] != EOS_ID and monitor.is_streamed(sentence):
            monitor.on_tokens(sentence, partial.written[row].tolist())
    return {sentence for sentence in set(rows.tolist()) if monitor.is_cancelled(sentence)}


def _most_likely(log_probs: Floats, _rows: Sequence[int]) -> Numbers:
    """y_t = argmax p(y | y_<t, x), the first of equal ones."""
    return log_probs.argmax(1)


def _sampler(sentences: Sequence[SearchInput], settings: SearchSettings) -> TokenPicker:
    """Return what draws y_t ~ p(y | y_<t, x), a function of (seed, sentence, sample, step), not of the batch."""
    draws = [
        np.random.Generator(np.random.Philox(np.random.SeedSequence([settings.seed, sentence.number, copy])))
        for sentence in sentences
        for copy in range(settings.nbest)
    ]

    def pick(log_probs: Floats, rows: Sequence[int]) -> Numbers:
        drawn = [_draw(scores, draws[row].random(), settings) for scores, row in zip(log_probs, rows, strict=True)]
        return np.array(drawn, np.int64)

    return pick


def _draw(log_probs: Floats, uniform: float, settings: SearchSettings) -> int:
    """One token of [vocab] by the cumulative distribution, likely tokens first: sorting all would take far longer."""
    scores = log_probs.astype(np.float64) / settings.temperature
    best = scores.max()
    if np.isneginf(best):  # no token is allowed
        return 0
    p = np.exp(scores - best)
    if len(p) > 2 * _SORTED and settings.top_k <= _SORTED:
        first = np.argpartition(-p, _SORTED)[:_SORTED]
        order = np.sort(first)
        found = _invert(p, order[np.argsort(-p[order], kind="stable")], uniform, settings)
        if found is not None and p[found] > p[first].min():  # equal ones may be missing among the first
            return found
    found = _invert(p, np.argsort(-p, kind="stable"), uniform, settings)
    assert found is not None
    return found


def _invert(p: Floats, order: Numbers, uniform: float, settings: SearchSettings) -> int | None:
    """The token at `uniform` of the distribution, or None if it is not among those of `order`, the most likely."""
    is_whole, total = len(order) == len(p), p.sum()
    if settings.top_k:
        order = order[: settings.top_k]
        is_whole, total = True, p[order].sum()
    cumulative = p[order].cumsum()
    if settings.top_p < 1.0:
        end = int(np.searchsorted(cumulative, settings.top_p * total)) + 1
        if end > len(order) and not is_whole:
            return None
        cumulative, is_whole = cumulative[:end], True
    mass = cumulative[-1] if is_whole else total
    place = int(np.searchsorted(cumulative, uniform * mass, side="right"))
    if place >= len(cumulative) and not is_whole:
        return None
    return int(order[min(place, len(cumulative) - 1)])
