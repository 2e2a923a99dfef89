"""What may be written next: the rules that hold whichever way translations are searched for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.search.hypothesis import Sentence
from dragoman.search.protocol import Floats, Numbers
from dragoman.search.settings import SearchSettings
from dragoman.text import BOS_ID, EOS_ID, PAD_ID

__all__ = ["Rules"]


class Rules:
    """Forbids words by setting their log p to −∞: begin and padding marks always, the end mark until a translation is
    long enough, everything but the prefix where one is given, and what would repeat a run of words.
    """

    def __init__(self, sentences: Sequence[Sentence], settings: SearchSettings) -> None:
        self.prefixes = [list(sentence.prefix) for sentence in sentences]
        self.longest_prefix = max(map(len, self.prefixes), default=0)
        self.min_length = settings.min_length
        self.ngram = settings.no_repeat_ngram
        self.required = [{piece for phrase in sentence.phrases for piece in phrase} for sentence in sentences]

    def apply(self, log_probs: Floats, written: Numbers, of: Sequence[int]) -> None:
        """Change log_probs in place. `of` says which sentence a row writes.

        Shapes: log_probs [rows, vocab], written [rows, words so far], of [rows].
        """
        step = written.shape[1]
        log_probs[:, [PAD_ID, BOS_ID]] = -np.inf
        if step < self.min_length:
            log_probs[:, EOS_ID] = -np.inf
        if self.ngram and step >= self.ngram:
            self._block(log_probs, written, of)
        if step < self.longest_prefix:
            self._force(log_probs, step, of)

    def _force(self, log_probs: Floats, step: int, of: Sequence[int]) -> None:
        for row, sentence in enumerate(of):
            if step < len(self.prefixes[sentence]):
                word = self.prefixes[sentence][step]
                kept = log_probs[row, word]
                log_probs[row] = -np.inf
                log_probs[row, word] = kept

    def _block(self, log_probs: Floats, written: Numbers, of: Sequence[int]) -> None:
        """Forbid the words that once followed the last n − 1 words, unless the translation must hold them."""
        runs = np.lib.stride_tricks.sliding_window_view(written, self.ngram, axis=1)  # [rows, runs, ngram]
        last = written[:, written.shape[1] - self.ngram + 1 :]
        rows, places = np.nonzero((runs[..., :-1] == last[:, np.newaxis]).all(-1))
        words = runs[rows, places, -1]
        step = written.shape[1]
        may_go = [
            word not in self.required[of[row]] and step >= len(self.prefixes[of[row]])
            for row, word in zip(rows.tolist(), words.tolist(), strict=True)
        ]
        log_probs[rows[may_go], words[may_go]] = -np.inf
