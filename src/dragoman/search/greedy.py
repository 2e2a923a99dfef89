"""Searches in which no row looks at another: greedy, and by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dragoman.search.drafts import Drafts
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.penalties import Penalties
from dragoman.search.protocol import Floats, Numbers, Start, Watch
from dragoman.search.rules import Rules
from dragoman.search.settings import SearchSettings
from dragoman.text import BOS_ID, EOS_ID

__all__ = ["Pick", "greedy", "likeliest", "write_rows"]


class Pick(Protocol):
    """Chooses the next word of each row."""

    def __call__(self, log_probs: Floats, rows: Sequence[int], /) -> Numbers:
        """`rows` numbers the rows as they were at the start. Shapes: [rows, vocab], [rows] -> [rows]."""


def greedy(
    start: Start,
    sentences: Sequence[Sentence],
    settings: SearchSettings,
    *,
    longest: int | None = None,
    show: bool = False,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """y_t = argmax p(y | y_<t, x). One translation a sentence, none of a cancelled one."""
    return write_rows(start, sentences, settings, likeliest, longest=longest, show=show, watch=watch)


def likeliest(log_probs: Floats, _rows: Sequence[int]) -> Numbers:
    """The likeliest word; of equal ones the first."""
    return log_probs.argmax(1)


def write_rows(
    start: Start,
    sentences: Sequence[Sentence],
    settings: SearchSettings,
    pick: Pick,
    *,
    copies: int = 1,
    longest: int | None = None,
    show: bool = False,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """Write `copies` translations of each sentence, word by word as `pick` says; finished ones leave the batch."""
    count = len(sentences)
    limits = np.array([settings.limit(len(sentence.pieces), longest, sentence.least) for sentence in sentences])
    rules, penalties = Rules(sentences, settings), Penalties(settings)
    writing = start([sentence.pieces for sentence in sentences], show or settings.coverage_penalty > 0)
    rows = np.repeat(np.arange(count), copies)  # the sentence of each row
    if copies > 1:
        writing = writing.select(rows)
    names = list(range(len(rows)))
    drafts = Drafts.empty(len(rows))
    tokens = np.full(len(rows), BOS_ID)
    found: dict[int, Hypothesis] = {}
    called_off = {sentence for sentence in range(count) if watch is not None and watch.is_cancelled(sentence)}
    while len(rows) and len(called_off) < count:
        prediction = writing.step(tokens)
        rules.apply(prediction.log_probs, drafts.written, rows.tolist())
        tokens = pick(prediction.log_probs, names)
        gained = prediction.log_probs[np.arange(len(rows)), tokens]
        looked = drafts.looked(prediction.weights)
        drafts = looked.wrote(tokens, drafts.log_probs + gained)
        writing = prediction.after
        stuck = np.isneginf(gained)  # nothing may be written any more
        ended = stuck | (tokens == EOS_ID) | (drafts.written.shape[1] >= limits[rows])
        for row in np.flatnonzero(ended).tolist():
            draft = (looked if stuck[row] else drafts).closed(row, len(sentences[rows[row]].pieces), penalties)
            found[names[row]] = draft.hypothesis
        called_off |= _tell(watch, drafts, rows, copies)
        stays = np.flatnonzero(~ended & ~np.isin(rows, list(called_off)))
        if len(stays) < len(rows):
            rows, tokens, names = rows[stays], tokens[stays], [names[row] for row in stays]
            writing, drafts = writing.select(stays), drafts.select(stays)
    return [
        [
            found[row]
            for row in range(sentence * copies, (sentence + 1) * copies)
            if row in found and sentence not in called_off
        ]
        for sentence in range(count)
    ]


def _tell(watch: Watch | None, drafts: Drafts, rows: Numbers, copies: int) -> set[int]:
    """Tell who looks on what has been written; the sentences that nobody waits for."""
    if watch is None:
        return set()
    for row, sentence in enumerate(rows.tolist()):
        if copies == 1 and drafts.written[row, -1] != EOS_ID and watch.is_told(sentence):
            watch.wrote(sentence, drafts.written[row].tolist())
    return {sentence for sentence in set(rows.tolist()) if watch.is_cancelled(sentence)}
