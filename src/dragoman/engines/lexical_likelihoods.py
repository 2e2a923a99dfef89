"""Compute the likelihood of each target word as the translation of each source word alone, cached by source word.

Attention weights belong to the step that predicts a token, which is not an input of that step: they cannot depend on
the token that is chosen. A posterior multiplies them by the likelihood of the token given each source position
([shankar2019], section 2). With one decoding step per source position and target token it would take longer than the
search itself. Here the model reads each source word as a sentence of its own, for one step: every engine can do this,
and frequent words take no time.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.protocol import Engine
from dragoman.text import Tokenizer, map_words
from dragoman.text.tokenizers.notation import PREFIX_MARK

_KEPT_TOKENS = 256  # per source word: the others get the likelihood of the last of these
_CACHED_WORDS = 16_384  # 2 kB each
_MIN_CACHED_WORDS = 256
_WORD_TOKENS = 16  # per source word: a longer one is cut
_BATCH_TOKENS, _BATCH_WORDS = 1024, 128

Floats = NDArray[np.float32]
_Word = tuple[int, ...]


@dataclass(frozen=True)
class _FirstTokens:
    """The most likely first tokens of the translation of one word: ids in ascending order, and their log p."""

    ids: NDArray[np.int32]
    log_probs: Floats
    lowest: np.float32

    def of(self, tokens: NDArray[np.int64]) -> Floats:
        """Return the log p of tokens. Shapes: [n] -> [n]."""
        places = np.minimum(np.searchsorted(self.ids, tokens), len(self.ids) - 1)
        return np.where(self.ids[places] == tokens, self.log_probs[places], self.lowest)


class LexicalLikelihoods:
    """Likelihoods of the words of translations, from an engine; words are cached. Thread-safe."""

    def __init__(self, engine: Engine, source: Tokenizer, target: Tokenizer, *, translators: int = 1) -> None:
        """`translators` is the number of directions that share the memory of the cache."""
        self._engine, self._source, self._target = engine, source, target
        self._cached_words = min(_CACHED_WORDS, max(_MIN_CACHED_WORDS, _CACHED_WORDS // translators))
        self._cache: OrderedDict[_Word, _FirstTokens] = OrderedDict()
        self._lock = threading.Lock()

    def between_tokens(
        self, pairs: Sequence[tuple[str, Sequence[int], Sequence[int]]], targets: Sequence[Sequence[str]] | None = None
    ) -> list[Floats]:
        """Return the log p of each target token given each source token: that of their words.

        A pair is a normalized source, its ids, and the ids of its translation; `targets` are the tokens of the
        translations as spelt in their texts. Only the first token of a target word counts. Shapes: each [tgt, src].
        """
        surfaces = [self._source.tokens(text) for text, _, _ in pairs]
        sources = list(map(map_words, surfaces))
        spelt = targets or [list(map(self._target.id_to_token, written)) for _, _, written in pairs]
        heads = [int(some[:1] == [PREFIX_MARK]) for some in surfaces]  # every word is read with the prefix
        words = [
            [(*ids[:head], *ids[max(first, head) : end][:_WORD_TOKENS]) for first, end in source.token_spans]
            for head, source, (_, ids, _) in zip(heads, sources, pairs, strict=True)
        ]
        known = self._first_tokens(word for some in words for word in some)
        found = []
        for some, source, tokens, (_, _, written) in zip(words, sources, spelt, pairs, strict=True):
            target = map_words(tokens)
            firsts = np.array([written[first] for first, _ in target.token_spans], np.int64)
            likely = np.stack([known[word].of(firsts) for word in some], 1) if some else np.zeros((len(firsts), 0))
            found.append(likely[list(target.word_of)][:, list(source.word_of)].astype(np.float32))
        return found

    def _first_tokens(self, words: Iterable[_Word]) -> dict[_Word, _FirstTokens]:
        wanted = set(words)
        found: dict[_Word, _FirstTokens] = {}
        with self._lock:
            for word in wanted & self._cache.keys():
                found[word] = self._cache[word]
                self._cache.move_to_end(word)
        missing = sorted(wanted - found.keys(), key=lambda word: (len(word), word))
        for batch in _batches(missing):
            log_probs = self._engine.first_token_log_probs(batch)
            found.update(zip(batch, map(_most_likely, log_probs), strict=True))
        with self._lock:
            self._cache.update((word, found[word]) for word in missing)
            while len(self._cache) > self._cached_words:
                self._cache.popitem(last=False)
        return found


def _batches(words: Sequence[_Word]) -> Iterator[Sequence[_Word]]:
    """Yield batches of words of similar length, given in ascending order of length."""
    end = len(words)
    while end:
        first = max(0, end - min(_BATCH_WORDS, max(1, _BATCH_TOKENS // (len(words[end - 1]) + 1))))
        yield words[first:end]
        end = first


def _most_likely(log_probs: Floats) -> _FirstTokens:
    """Shapes: log_probs [vocab]."""
    kept = min(_KEPT_TOKENS, len(log_probs))
    ids = np.sort(np.argpartition(log_probs, len(log_probs) - kept)[-kept:])
    some = log_probs[ids].astype(np.float32)
    return _FirstTokens(ids.astype(np.int32), some, some.min())
