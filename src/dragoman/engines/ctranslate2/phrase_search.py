"""Translate with required phrases by forced prefixes, for a search that cannot be constrained at every step.

A sentence is translated without its phrases. As long as one is missing, the translation is cut where it attends to the
source words of that phrase, the phrase is appended, and the rest is translated again after this forced prefix. Every
round adds a phrase to the prefix, so each phrase occurs after as many rounds as there are phrases. The search does not
weigh a phrase against the words before it, as the constrained beam search of `dragoman.search` does.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dragoman.search.hypothesis import Hypothesis, SearchInput

Search = Callable[[Sequence[int], Sequence[SearchInput]], list[list[Hypothesis]]]
"""Search sentences, given their places in the batch, without phrases; cancelled ones have no hypotheses."""
NextTokens = Callable[[SearchInput], list[int]]
"""Return the most likely tokens after a prefix, the best first."""


def search_phrases(sentences: Sequence[SearchInput], search: Search, next_tokens: NextTokens) -> list[list[Hypothesis]]:
    """Translate sentences so that each translation contains the phrases of its sentence, in any order."""
    plain = [replace(each, phrases=(), phrase_sources=(), may_follow=None) for each in sentences]
    found = search(range(len(plain)), plain)

    def search_again(places: Sequence[int], given: Sequence[SearchInput]) -> None:
        for place, each, hypotheses in zip(places, given, search(places, given) if places else [], strict=True):
            plain[place], found[place] = each, hypotheses

    for _ in range(max((len(each.phrases) for each in sentences), default=0)):
        lacking = [place for place, each in enumerate(sentences) if found[place] and _missing(each, found[place][0])]
        search_again(lacking, [_with_next_phrase(sentences[place], plain[place], found[place][0]) for place in lacking])
        cut = [
            place for place in lacking if found[place] and not _ends_word(sentences[place], plain[place], found[place])
        ]
        search_again(cut, [_with_boundary(sentences[place], plain[place], next_tokens) for place in cut])
    return [_complete(each, hypotheses) for each, hypotheses in zip(sentences, found, strict=True)]


def _missing(sentence: SearchInput, found: Hypothesis) -> list[int]:
    """Return the indices of the phrases that a translation lacks."""
    return [number for number, phrase in enumerate(sentence.phrases) if not _occurs(phrase, found.tokens, sentence)]


def _occurs(phrase: Sequence[int], tokens: Sequence[int], sentence: SearchInput) -> bool:
    size, wanted = len(phrase), list(phrase)
    return any(
        list(tokens[start : start + size]) == wanted and _may_follow(sentence, tokens, start + size)
        for start in range(len(sentence.prefix), len(tokens) - size + 1)
    )


def _may_follow(sentence: SearchInput, tokens: Sequence[int], place: int) -> bool:
    """Whether a word ends before a position."""
    return place >= len(tokens) or sentence.may_follow is None or bool(sentence.may_follow[tokens[place]])


def _with_next_phrase(sentence: SearchInput, plain: SearchInput, found: Hypothesis) -> SearchInput:
    """Return the input with the first missing phrase, in the order of the translation, appended to its prefix."""
    least = len(plain.prefix)
    places = {number: max(least, _place(sentence, number, found)) for number in _missing(sentence, found)}
    number = min(places, key=lambda each: (places[each], each))
    cut = places[number]
    while cut > least and not _may_follow(sentence, found.tokens, cut):
        cut -= 1  # before the word that it would break
    return replace(plain, prefix=[*found.tokens[:cut], *sentence.phrases[number]])


def _place(sentence: SearchInput, number: int, found: Hypothesis) -> int:
    """Return the first step that attends most to the source of a phrase; without attention, by proportion."""
    sources = list(sentence.phrase_sources[number]) if number < len(sentence.phrase_sources) else []
    if not sources or not found.tokens:
        return len(found.tokens)
    if found.alignment is None:
        return round(len(found.tokens) * min(sources) / len(sentence.tokens))
    weights = np.asarray(found.alignment)[: len(found.tokens), : len(sentence.tokens)]  # [tgt, src]
    on_phrase = weights[:, sources].sum(1)  # [tgt]
    most = np.flatnonzero(np.isin(weights.argmax(1), sources))
    return int(most[0]) if len(most) else int(on_phrase.argmax())


def _ends_word(sentence: SearchInput, plain: SearchInput, hypotheses: list[Hypothesis]) -> bool:
    """Move a translation to the front whose forced phrase ends with a word; False if there is none."""
    for place, each in enumerate(hypotheses):
        if _may_follow(sentence, each.tokens, len(plain.prefix)):
            hypotheses.insert(0, hypotheses.pop(place))
            return True
    return False


def _with_boundary(sentence: SearchInput, plain: SearchInput, next_tokens: NextTokens) -> SearchInput:
    """Return the input with the most likely token after its prefix that begins a word."""
    tokens = [*plain.prefix]
    for token in next_tokens(plain):
        if _may_follow(sentence, [*tokens, token], len(tokens)):
            return replace(plain, prefix=[*tokens, token])
    return plain


def _complete(sentence: SearchInput, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Leave out the alternatives that lack a phrase."""
    return [each for place, each in enumerate(hypotheses) if place == 0 or not _missing(sentence, each)]
