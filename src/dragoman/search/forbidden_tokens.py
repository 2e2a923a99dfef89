"""Set the log-probability of forbidden tokens to −∞ at each decoding step, for all search algorithms."""

from collections.abc import Sequence

import numpy as np

from dragoman.config.search import SearchSettings
from dragoman.search.decoding_protocol import Floats, Numbers
from dragoman.search.hypothesis import SearchInput
from dragoman.text import BOS_ID, EOS_ID, PAD_ID


class StepProcessor:
    """Sets the log p of begin, padding, early ends, repeated n-grams, and all but a given prefix, to −∞."""

    def __init__(self, sentences: Sequence[SearchInput], settings: SearchSettings) -> None:
        self.prefixes = [list(sentence.prefix) for sentence in sentences]
        self.longest_prefix = max(map(len, self.prefixes), default=0)
        self.min_length = settings.min_length
        self.ngram = settings.no_repeat_ngram
        self.required = [{token for phrase in sentence.phrases for token in phrase} for sentence in sentences]

    def apply(self, log_probs: Floats, written: Numbers, of: Sequence[int]) -> None:
        """Change log_probs [rows, vocab] in place; written [rows, tokens so far], `of` [rows] are the sentences."""
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
                token = self.prefixes[sentence][step]
                kept = log_probs[row, token]
                log_probs[row] = -np.inf
                log_probs[row, token] = kept

    def _block(self, log_probs: Floats, written: Numbers, of: Sequence[int]) -> None:
        """Forbid the tokens that followed the last n − 1 tokens before, except those of required phrases."""
        runs = np.lib.stride_tricks.sliding_window_view(written, self.ngram, axis=1)  # [rows, runs, ngram]
        last = written[:, written.shape[1] - self.ngram + 1 :]
        rows, places = np.nonzero((runs[..., :-1] == last[:, np.newaxis]).all(-1))
        words = runs[rows, places, -1]
        step = written.shape[1]
        is_blocked = [
            word not in self.required[of[row]] and step >= len(self.prefixes[of[row]])
            for row, word in zip(rows.tolist(), words.tolist(), strict=True)
        ]
        log_probs[rows[is_blocked], words[is_blocked]] = -np.inf
