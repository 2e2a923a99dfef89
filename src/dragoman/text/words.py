"""Split and count words, map tokens to words, and merge weights of tokens into weights of words.

A word is a run of text without white space. In scripts without spaces (Chinese, Japanese, Thai, Khmer, …) each
character with its combining marks is a word, and so is each run of other text between them: ``我用Python写`` has the
words ``我 用 Python 写``. Words depend on the text only, not on the tokenizer.
"""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.errors import DataError
from dragoman.text.characters import SPACELESS, attaches, attaching_class, is_spaceless
from dragoman.text.perturbation import WORD
from dragoman.text.tokenizers.notation import PREFIX_MARK, TextUnit, trace_tokens
from dragoman.text.tokenizers.vocabulary import EOS_ID, SPECIALS

TextPair = tuple[str, str]
Link = tuple[re.Match[str], re.Match[str]]

_MOST_CELLS = 3_000_000  # pairs of words that are counted: about 2 s
_ROUNDS = 5
_LEAST_COUNT = 3  # sentence pairs that have a word
_LEAST = 0.3  # geometric mean of the probabilities of both directions
_DISTANCE = 0.5  # how much a link loses from one end of a sentence to the other: it decides between equal words


@dataclass(frozen=True)
class WordLinks:
    """Translations of each source word in lower case, with the geometric mean of both directions' probabilities."""

    scores: Mapping[str, Mapping[str, float]]

    @classmethod
    def learn(cls, pairs: Iterable[TextPair]) -> Self:
        """Estimate the probabilities of translations from the first pairs, as many as take about two seconds."""
        names: tuple[dict[str, int], dict[str, int]] = {"": 0}, {"": 0}  # 0 translates words without translation
        rows: list[tuple[list[int], list[int]]] = []
        cells = 0
        for pair in pairs:
            words = [{word.lower() for word in WORD.findall(text)} for text in pair]
            cells += (len(words[0]) + 1) * (len(words[1]) + 1)
            if cells > _MOST_CELLS:
                break
            if all(words):
                one, other = (
                    [known.setdefault(word, len(known)) for word in sorted(side)]
                    for known, side in zip(names, words, strict=True)
                )
                rows.append((one, other))
        return cls(_estimate(rows, names)) if rows else cls({})

    def find(self, pair: TextPair) -> list[Link]:
        """Return the words of both sides that are each other's best translation, in the order of the source."""
        sides = [list(WORD.finditer(text)) for text in pair]
        lengths = [len(text) or 1 for text in pair]
        others = [(word[0].lower(), word.start() / lengths[1]) for word in sides[1]]
        forward: dict[int, tuple[float, int]] = {}
        backward: dict[int, tuple[float, int]] = {}
        for one, word in enumerate(sides[0]):
            if known := self.scores.get(word[0].lower()):
                place = word.start() / lengths[0]
                for other, (name, at) in enumerate(others):
                    if name in known:
                        score = known[name] * (1 - _DISTANCE * abs(place - at))
                        forward[one] = max(forward.get(one, (0.0, 0)), (score, other))
                        backward[other] = max(backward.get(other, (0.0, 0)), (score, one))
        return [(sides[0][one], sides[1][other]) for one, (_, other) in forward.items() if backward[other][1] == one]


def _estimate(
    rows: list[tuple[list[int], list[int]]], names: tuple[dict[str, int], dict[str, int]]
) -> dict[str, dict[str, float]]:
    """Return the scores of translations that are good enough, from the words of each pair."""
    cells = [np.add.outer(np.array([0, *one]) * len(names[1]), np.array([0, *other])).ravel() for one, other in rows]
    keys, cell = np.unique(np.concatenate(cells), return_inverse=True)  # the two words of a cell, and its number
    words = np.divmod(keys, len(names[1]))
    together = np.bincount(cell)
    sizes = np.array([(len(one) + 1, len(other) + 1) for one, other in rows])
    probabilities = []
    for side in range(2):
        groups = _groups(sizes, side)
        probability = np.ones(len(keys))
        for _ in range(_ROUNDS):
            weights = np.where(words[side] == 0, 0.0, probability)[cell]  # the empty word has no translation
            shares = weights / np.maximum(np.bincount(groups, weights), 1e-300)[groups]
            counts = np.bincount(cell, shares)
            probability = counts / np.maximum(np.bincount(words[1 - side], counts), 1e-300)[words[1 - side]]
        probabilities.append(probability)
    scores = np.sqrt(probabilities[0] * probabilities[1])
    ids = [list(side) for side in names]
    found: dict[str, dict[str, float]] = {}
    is_good = (scores >= _LEAST) & (together >= _LEAST_COUNT) & (words[0] > 0) & (words[1] > 0)
    for number in np.flatnonzero(is_good).tolist():
        found.setdefault(ids[0][words[0][number]], {})[ids[1][words[1][number]]] = float(scores[number])
    return found


def _groups(sizes: NDArray[np.int64], side: int) -> NDArray[np.int64]:
    """Return a number for each cell, the same for those of one word of one pair. `side` is that of the word."""
    areas: NDArray[np.int64] = sizes[:, 0] * sizes[:, 1]
    place = np.arange(areas.sum()) - np.repeat(np.cumsum(areas) - areas, areas)
    width = np.repeat(sizes[:, 1], areas)
    word = place // width if side == 0 else place % width
    first: NDArray[np.int64] = np.repeat(np.cumsum(sizes[:, side]) - sizes[:, side], areas)
    return first + word


_CHUNK = re.compile(r"\S+")
_END = SPECIALS[EOS_ID]


@dataclass(frozen=True, slots=True)
class WordMap:
    """The words that a list of tokens spells. Spans are half-open, ``(first, last + 1)``.

    ``word_of[token]`` is the word of a token, the first if it touches several, and ``word_spans[token]`` all of them:
    a token may hold several characters of a script without spaces. ``token_spans[word]`` are the tokens of a word.
    ``is_spaced[word]`` is true if there is a space between it and the word before it.
    """

    words: tuple[str, ...]
    word_of: tuple[int, ...]
    word_spans: tuple[tuple[int, int], ...]
    token_spans: tuple[tuple[int, int], ...]
    is_spaced: tuple[bool, ...]


@dataclass(slots=True)
class _WordMapBuilder:
    """Collect the words of a `WordMap`."""

    words: list[list[str]] = field(default_factory=list)  # the parts of each word
    is_spaced: list[bool] = field(default_factory=list)
    touched: list[list[int]] = field(default_factory=list)  # the words of each token

    def add(self, unit: TextUnit, *, starts_word: bool, is_spaced: bool) -> None:
        if starts_word:
            self.words.append([])
            self.is_spaced.append(is_spaced)
        self.words[-1].append(unit.text)
        for token in range(unit.first, unit.last + 1):
            self.touched[token].append(len(self.words) - 1)


def map_words(tokens: Sequence[str], *, by_spaces: bool = False) -> WordMap:
    """Find the words in a list of tokens of any tokenizer.

    With `by_spaces` only white space divides words, in every script: for texts that are split into words already.

    Byte tokens are joined into characters. A token that is only a space belongs to the word after it, or at the end to
    the last word. A special token (``</s>``, ``<unk>``, …) is a word of its own. If all tokens are spaces, they make
    one empty word, so every token has a word. A prefix without text, such as the token of the target language, is no
    word: it belongs to the end of the sentence if the tokens have it, else to the first word.
    """
    if tokens[:1] == [PREFIX_MARK] or tokens[:1] == (PREFIX_MARK,):
        return _with_prefix(map_words(tokens[1:], by_spaces=by_spaces), has_end=tokens[-1] == _END)
    builder = _WordMapBuilder(touched=[[] for _ in tokens])
    before: TextUnit | None = None  # the last unit of the current word that is not a combining mark
    is_spaced = False
    for unit in trace_tokens(tokens):
        if not unit.is_special and unit.text.isspace():
            before, is_spaced = None, True
        elif before is not None and not unit.is_special and attaches(unit.text[0]):
            builder.add(unit, starts_word=False, is_spaced=False)
        else:
            starts = _starts_word(before, unit, by_spaces=by_spaces)
            builder.add(unit, starts_word=starts, is_spaced=is_spaced and bool(builder.words))
            before, is_spaced = unit, False
    return _finish(builder)


def _with_prefix(found: WordMap, *, has_end: bool) -> WordMap:
    """Add a token before the others."""
    word = len(found.words) - 1 if has_end else 0
    spans = [(first + 1, end + 1) for first, end in found.token_spans]
    if not has_end and spans:
        spans[0] = (0, spans[0][1])
    return WordMap(
        words=found.words or ("",),
        word_of=(word, *found.word_of),
        word_spans=((word, word + 1), *found.word_spans),
        token_spans=tuple(spans) or ((0, 1),),
        is_spaced=found.is_spaced or (False,),
    )


def _starts_word(before: TextUnit | None, unit: TextUnit, *, by_spaces: bool) -> bool:
    if before is None or before.is_special or unit.is_special:
        return True
    return not by_spaces and (is_spaceless(before.text[0]) or is_spaceless(unit.text[0]))


def _finish(builder: _WordMapBuilder) -> WordMap:
    if not builder.words and builder.touched:
        builder.words.append([])
        builder.is_spaced.append(False)
    word_spans: list[tuple[int, int]] = []
    following = len(builder.words) - 1  # the word of a token of spaces, from the end
    for touched in reversed(builder.touched):
        span = (touched[0], touched[-1] + 1) if touched else (following, following + 1)
        following = span[0]
        word_spans.append(span)
    word_spans.reverse()
    tokens_of: list[list[int]] = [[] for _ in builder.words]
    for token, (first, end) in enumerate(word_spans):
        for word in range(first, end):
            tokens_of[word].append(token)
    return WordMap(
        words=tuple("".join(parts) for parts in builder.words),
        word_of=tuple(first for first, _ in word_spans),
        word_spans=tuple(word_spans),
        token_spans=tuple((tokens[0], tokens[-1] + 1) for tokens in tokens_of),
        is_spaced=tuple(builder.is_spaced),
    )


def merge_token_weights(weights: ArrayLike, source: WordMap, target: WordMap) -> NDArray[np.float64]:
    """Merge weights between tokens into weights between words. Shapes: [*, tgt tokens, src tokens] -> [*, tgt, src].

    A row holds the attention weights of one target token. Weights are *summed* over the source tokens of a word and
    *averaged* over the target tokens of a word, so a row that sums to one still does. A source token that touches
    several words gives each an equal share; a target token counts in each of its words.
    """
    values = np.asarray(weights, dtype=np.float64)
    expected = (len(target.word_of), len(source.word_of))
    if values.shape[-2:] != expected:
        raise DataError(
            f"weights must be [..., {expected[0]} target tokens, {expected[1]} source tokens], got the shape "
            f"{values.shape}; drop the rows and columns of special tokens, or put those into the maps"
        )
    shares = _membership(source)  # [src tokens, src words]
    shares /= shares.sum(axis=1, keepdims=True)
    means = _membership(target).T  # [tgt words, tgt tokens]
    means /= means.sum(axis=1, keepdims=True)
    merged: NDArray[np.float64] = means @ values @ shares
    return merged


def _membership(words: WordMap) -> NDArray[np.float64]:
    belongs = np.zeros((len(words.word_of), len(words.words)))
    for token, (first, end) in enumerate(words.word_spans):
        belongs[token, first:end] = 1
    return belongs


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of each word of a text."""
    spans: list[tuple[int, int]] = []
    for chunk in _CHUNK.finditer(text):
        if chunk[0].isascii():
            spans.append(chunk.span())
        else:
            spans += (match.span() for match in _word_pattern().finditer(text, *chunk.span()))
    return spans


def count_words(text: str) -> int:
    """Return the number of words of a text."""
    return len(word_spans(text))


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word in a text without white space."""
    marks = attaching_class()
    return re.compile(rf"[{SPACELESS}][{marks}]*|[^{SPACELESS}](?:[^{SPACELESS}]|[{marks}])*+")


def split_words(text: str) -> list[str]:
    """Split a text into words (characters in scripts without spaces), punctuation and white space, losslessly."""
    starts: list[int] = []
    before = ""
    for place, character in enumerate(text):
        kind = _character_kind(character)
        if not starts or not (attaches(character) or (kind == before and kind in ("word", "space"))):
            starts.append(place)
            before = kind
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def _character_kind(character: str) -> str:
    if character.isspace():
        return "space"
    if is_spaceless(character):
        return "alone"
    return "word" if character.isalnum() else "mark"
