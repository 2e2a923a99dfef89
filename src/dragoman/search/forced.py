"""Forced decoding: how likely given translations are, and where the model looks while it writes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.search.drafts import Drafts
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.penalties import Penalties
from dragoman.search.protocol import Start
from dragoman.search.settings import SearchSettings
from dragoman.text import BOS_ID, EOS_ID

__all__ = ["force"]


def force(
    start: Start, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, show: bool = False
) -> list[Hypothesis]:
    """Write the targets, piece numbers without specials, word by word; their score is the average log p of a word."""
    penalties = Penalties(SearchSettings())
    writing = start(sources, show)
    rows = list(range(len(sources)))
    drafts = Drafts.empty(len(rows))
    last = np.full(len(rows), BOS_ID)
    found: dict[int, Hypothesis] = {}
    while rows:
        step = drafts.written.shape[1]
        prediction = writing.step(last)
        writing = prediction.after
        last = np.array([targets[row][step] if step < len(targets[row]) else EOS_ID for row in rows], np.int64)
        gained = prediction.log_probs[np.arange(len(rows)), last]
        drafts = drafts.looked(prediction.weights).wrote(last, drafts.log_probs + gained)
        stays = [place for place, row in enumerate(rows) if step < len(targets[row])]
        for place in set(range(len(rows))).difference(stays):
            found[rows[place]] = drafts.closed(place, len(sources[rows[place]]), penalties).hypothesis
        if len(stays) < len(rows):
            kept = np.array(stays, np.int64)
            rows, last = [rows[place] for place in stays], last[kept]
            drafts, writing = drafts.select(kept), writing.select(kept)
    return [found[row] for row in range(len(sources))]
