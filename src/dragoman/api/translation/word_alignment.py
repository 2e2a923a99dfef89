"""Merge attention weights between tokens into weights between words; replace unknown tokens; repair similar units.

Repair of a unit of a translation memory: its translation stays, except for the words that are linked only to words of
its source that the text does not have. In their place come words of the model's translation of the text: those that are
linked only to its new words. Links are those of `dragoman align`. A text where such words are not together keeps the
model's translation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.api.translation.options import PairError
from dragoman.api.translation.translation import Translation
from dragoman.errors import ConfigError
from dragoman.evaluation.word_alignment import Links, argmax_links
from dragoman.markup.protected_spans import find_damage, find_placeholders, placeholder_strings
from dragoman.markup.word_spans import LocatedWords
from dragoman.storage.memory_reader import USED, MemoryMatch, MemoryReader
from dragoman.text import EOS_ID, SPECIALS, map_words, merge_token_weights
from dragoman.text.characters import STOPS, is_spaceless
from dragoman.text.tokenizers.notation import PREFIX_MARK, SPACE_MARK, join_tokens
from dragoman.text.tokenizers.vocabulary import UNKNOWN

Kept = TypeVar("Kept")

_END = SPECIALS[EOS_ID]
_SHORT = 3  # characters of a word such as an article
_ALIKE = 0.6  # share of a word that two forms of it have in common
_MAX_TEXT = 1000  # characters of a side
_Edit = tuple[int, int, str]


@dataclass(frozen=True)
class WordAlignment:
    """Source and target words, and the attention weights between them; None for a model without attention.

    Shapes: weights [tgt (+ 1), src + 1]: the last column is the end of the source, and a row after those of the words
    is the end of the translation.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    weights: NDArray[np.float64] | None

    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of the columns and rows of the weights: the words, ends included."""
        rows, columns = (0, 0) if self.weights is None else self.weights.shape
        sides = ((self.source_words, columns), (self.target_words, rows))
        source, target = ((*words, _END) if size > len(words) else words for words, size in sides)
        return source, target

    def between_words(self) -> NDArray[np.float64] | None:
        """Return the weights between words, without ends. Shapes: [tgt, src]."""
        return None if self.weights is None else self.weights[: len(self.target_words), : len(self.source_words)]

    def links(self) -> Links | None:
        """Link every target word to the source word with the most weight; links are sorted by source word.

        A target word whose largest weight is on the end of the source has no link.
        """
        if self.weights is None:
            return None
        return argmax_links(self.weights[: len(self.target_words)], len(self.source_words))


def word_alignment(
    source: Sequence[str], target: Sequence[str], weights: NDArray[np.floating] | None, *, by_spaces: bool = False
) -> WordAlignment:
    """Merge weights between tokens, given without specials, into weights between words.

    With `by_spaces` words are delimited by white space, in every script.
    Shapes: weights [tgt (+ 1), src + 1], as in a `Hypothesis`.
    """
    if weights is None:
        words = [map_words(tokens, by_spaces=by_spaces).words for tokens in (source, target)]
        return WordAlignment(words[0], words[1], None)
    sides = [
        map_words([*tokens, _END] if size > len(tokens) else tokens, by_spaces=by_spaces)
        for tokens, size in ((target, weights.shape[0]), (source, weights.shape[1]))
    ]
    merged = merge_token_weights(weights, sides[1], sides[0])
    target_words, source_words = (
        side.words[:-1] if size > len(tokens) else side.words
        for side, tokens, size in zip(sides, (target, source), weights.shape, strict=True)
    )
    return WordAlignment(source_words, target_words, merged)


def require_attention(found: Kept | None) -> Kept:
    """Return a result of attention; raise `ConfigError` if it is None, for a model without attention."""
    if found is None:
        raise ConfigError("this model has no attention to align words with; use one that has")
    return found


def replace_unknown(
    target: Sequence[str], source: Sequence[str], weights: NDArray[np.floating], *, marks_words: bool
) -> list[str]:
    """Replace every ``<unk>`` of a translation by the source token with the most weight.

    `source` are the tokens as spelt in the text. With `marks_words` a token is a word with the space before it; a space
    is added unless the word is the first, or follows punctuation without one, such as a bracket.
    Shapes: weights [tgt (+ 1), src + 1].
    """
    tokens: list[str] = []
    first = int(bool(source) and source[0] == PREFIX_MARK)  # it has no text
    for place, token in enumerate(target):
        if token == UNKNOWN and len(source) > first:
            token = source[first + int(weights[place, first : len(source)].argmax())]
            if marks_words and not token.startswith(SPACE_MARK) and _needs_space(join_tokens(tokens)):
                token = SPACE_MARK + token
        tokens.append(token)
    return tokens


def _needs_space(before: str) -> bool:
    return before[-1:].isalnum() and not is_spaceless(before[-1])


@runtime_checkable
class PairScorer(Protocol):
    """A translator that scores given translations: one of a single model."""

    memory: MemoryReader | None

    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, alignment: bool = False, posterior: bool = False
    ) -> list[Translation]: ...


class _Aligned:
    """A text and its translation: words, their places in the translation, and links in both directions."""

    def __init__(self, scored: Translation) -> None:
        self.source = [word.lower() for word in scored.source_words]
        self.text = scored.text
        self.words = LocatedWords(scored.text, scored.target_words).words
        self.targets, self.sources = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
        for source, target in scored.alignment or ():
            self.targets[source].add(target)
            self.sources[target].add(source)

    def linked_only(self, first: int, end: int) -> tuple[int, int] | None:
        """Return the first and the last target word of source words; (0, -1) for none, None if others are between."""
        chosen = {target for place in range(first, end) for target in self.targets.get(place, ())}
        chosen = {each for each in chosen if self.sources[each] <= set(range(first, end))}
        if not chosen:
            return 0, -1
        between = range(min(chosen), max(chosen) + 1)
        return (
            None if any(each in self.sources and each not in chosen for each in between) else (between[0], between[-1])
        )

    def span(self, first: int, last: int) -> tuple[int, int]:
        return self.words[first].start, self.words[last].end


def repair(unit: Translation, own: Translation) -> str | None:
    """Return the translation of a unit, changed for a text, whose translation by the model is `own`; None if unsure.

    Both were scored with an alignment.
    """
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415 -- an extra

    if not unit.alignment or not own.alignment:
        return None
    old, new = _Aligned(unit), _Aligned(own)
    blocks = Levenshtein.editops(old.source, new.source).as_matching_blocks()
    same = {each.b + n: each.a + n for each in blocks for n in range(each.size)}
    edits: list[_Edit] = []
    at = (0, 0)
    for each in blocks:
        gone, come = old.linked_only(at[0], each.a), new.linked_only(at[1], each.b)
        at = each.a + each.size, each.b + each.size
        if gone is None or come is None:
            return None
        if gone[1] >= 0 and come[1] >= 0:
            gone, come = _with_forms(old, new, gone, come, same)
        text = new.text[slice(*new.span(*come))] if come[1] >= 0 else ""
        if gone[1] >= 0:
            edits.append((*old.span(*gone), text))
        elif text:
            if (place := _insertion(old, new, come, same)) is None:
                return None
            edits.append((place[0], place[0], f"{text} " if place[1] else f" {text}"))
    return _edited(old.text, sorted(edits))


def _with_forms(
    old: _Aligned, new: _Aligned, gone: tuple[int, int], come: tuple[int, int], same: dict[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Extend words and their replacement by a neighbour that only has another form, such as an article: it agrees."""
    (first, last), (start, end) = gone, come
    while first and start and _is_form(old, new, first - 1, start - 1, same):
        first, start = first - 1, start - 1
    while last + 1 < len(old.words) and end + 1 < len(new.words) and _is_form(old, new, last + 1, end + 1, same):
        last, end = last + 1, end + 1
    return (first, last), (start, end)


def _is_form(old: _Aligned, new: _Aligned, one: int, other: int, same: dict[int, int]) -> bool:
    """Whether two words translate the same word of the source, and begin alike or are short."""
    a, b = (side.text[slice(*side.span(n, n))] for side, n in ((old, one), (new, other)))
    if {same.get(each) for each in new.sources.get(other, ())} != set(old.sources.get(one, ())):
        return False
    is_short = max(len(a), len(b)) <= _SHORT and a.isalpha() and b.isalpha()
    start = next((n for n, (one_, other_) in enumerate(zip(a, b, strict=False)) if one_ != other_), min(len(a), len(b)))
    return a != b and (is_short or start >= _ALIKE * max(len(a), len(b)))


def _insertion(old: _Aligned, new: _Aligned, come: tuple[int, int], same: dict[int, int]) -> tuple[int, bool] | None:
    """Return where words without a counterpart belong, and whether that is before a word: as in the new translation."""

    def counterparts(word: int) -> set[int]:
        return {target for place in new.sources.get(word, ()) if place in same for target in old.targets[same[place]]}

    before: Iterable[set[int]] = map(counterparts, range(come[0] - 1, -1, -1))
    if found := next(filter(None, before), None):
        return old.words[max(found)].end, False
    behind = map(counterparts, range(come[1] + 1, len(new.words)))
    found = next(filter(None, behind), None)
    return (old.words[min(found)].start, True) if found else None


def _edited(text: str, edits: Sequence[_Edit]) -> str | None:
    parts: list[str] = []
    at = 0
    for start, end, new in edits:
        if start < at:
            return None
        is_alone = not text[end : end + 1].strip() or text[end] in STOPS
        start -= not new and start > at and is_alone and text[start - 1] == " "  # a removed word leaves no space
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]]).strip()


def repaired_texts(
    translator: PairScorer, texts: Sequence[str], translations: Sequence[str], units: Sequence[MemoryMatch]
) -> list[str | None]:
    """Return the repaired translations of similar units, None where that is unsure or a placeholder would be lost."""
    places = [
        place
        for place, (text, done, unit) in enumerate(zip(texts, translations, units, strict=True))
        if max(map(len, (text, done, unit.source, unit.text))) <= _MAX_TEXT
    ]
    old = _scored(translator, [units[place].source for place in places], [units[place].text for place in places])
    new = _scored(translator, [texts[place] for place in places], [translations[place] for place in places])
    found: list[str | None] = [None] * len(texts)
    for place, unit, own in zip(places, old, new, strict=True):
        changed = None if unit is None or own is None else repair(unit, own)
        strings = placeholder_strings(texts[place], find_placeholders(texts[place]))
        if changed and find_damage(strings, texts[place], changed) is None:
            found[place] = changed
    return found


def repaired(translator: PairScorer, prefixes: Sequence[str], found: list[Translation]) -> list[Translation]:
    """Return translations, similar units repaired if the memory is opened for that and no text has a prefix."""
    if translator.memory is None or not translator.memory.repairs or any(prefixes):
        return found
    places = [place for place, each in enumerate(found) if _is_repairable(each)]
    some = [found[place] for place in places]
    texts = repaired_texts(
        translator, [each.source for each in some], [each.text for each in some], [each.matches[0] for each in some]
    )
    done = list(found)
    for place, each, text in zip(places, some, texts, strict=True):
        if text is not None:
            flags = None if each.flags is None else ()
            done[place] = Translation(each.source, text, flags=flags, memory=each.matches[0], matches=each.matches)
    return done


def _is_repairable(found: Translation) -> bool:
    is_similar = bool(found.matches) and found.matches[0].score < USED
    return found.memory is None and is_similar and not found.damage


def _scored(translator: PairScorer, sources: Sequence[str], targets: Sequence[str]) -> list[Translation | None]:
    try:
        return [*translator.score(sources, targets, alignment=True, posterior=True)] if sources else []
    except PairError:  # a pair has too many tokens
        pairs = zip(sources, targets, strict=True)
        return (
            [None] if len(sources) == 1 else [each for one, two in pairs for each in _scored(translator, [one], [two])]
        )
