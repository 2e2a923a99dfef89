"""Word classes without a tagger: punctuation, numbers, and words by their frequency rank."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dragoman.text import map_words

CLASSES = ("function", "frequent", "rare", "continuation", "number", "punctuation", "end")
"""The 50 most frequent words, ranks 51 to 500, other words, tokens that continue a word, tokens with a digit, tokens
of punctuation and symbols only, and the end of the sentence."""

_FUNCTION, _FREQUENT = 50, 500  # last rank of each class


@dataclass(frozen=True)
class WordRanks:
    """The frequency rank of each word of a text, from 1; words are lower-case, without punctuation."""

    ranks: dict[str, int]

    @classmethod
    def count(cls, lines: Iterable[str]) -> WordRanks:
        """Count the words of a text that have no digit; equally frequent words are in alphabetical order."""
        words = (_bare(word) for line in lines for word in line.split())
        counts = Counter(word for word in words if word and not any(map(str.isdigit, word)))
        ordered = sorted(counts, key=lambda word: (-counts[word], word))
        return cls({word: rank for rank, word in enumerate(ordered, 1)})

    def classes(self, tokens: Sequence[str]) -> list[str]:
        """Return the class of each token, and of the end of the sentence."""
        found = map_words(tokens, by_spaces=True)
        has_begun = [False] * len(found.words)
        classes = []
        for token, word in zip(tokens, found.word_of, strict=True):
            bare = _bare(token)
            if not bare:
                classes.append("punctuation")
            elif any(map(str.isdigit, bare)):
                classes.append("number")
            else:
                classes.append("continuation" if has_begun[word] else self._by_rank(_bare(found.words[word])))
            has_begun[word] |= bool(bare)
        return [*classes, "end"]

    def _by_rank(self, word: str) -> str:
        rank = self.ranks.get(word, _FREQUENT + 1)
        return "function" if rank <= _FUNCTION else "frequent" if rank <= _FREQUENT else "rare"


def _bare(text: str) -> str:
    """Return a text in lower case without punctuation, symbols and marks of spaces."""
    return "".join(each for each in text.lower() if unicodedata.category(each)[0] in "LN")
