"""Robustness: test sentences spoilt in ways that people and programs spoil text, and what that costs.

All of it is a function of the texts alone: what is spoilt in a sentence is drawn by the hash of the sentence itself, so
a sentence is spoilt in the same way in every set and on every machine.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.evaluation.figures import LOWER_IS_BETTER
from dragoman.evaluation.metrics import Score, corpus_scores
from dragoman.evaluation.report import Probe
from dragoman.text.characters import SPACELESS, is_spaceless

__all__ = ["Answer", "JOINED", "PROBES", "SHARES_MEAN", "SINGLE_WORDS", "Spoilt", "is_runaway", "judged", "sampled"]

JOINED = 5
"""So many sentences make one very long input."""
SINGLE_WORDS = "single words"
"""The probe that has no references: shares are measured in place of scores."""

SHARES_MEAN = (
    "Single words have no reference. Flagged: any quality flag. Runaway: more than five words, or cut at the limit. "
    "Repeated: the flag repetition."
)
"""What the shares of single words say, for readers of a table."""

_WORDS_A_TYPO = 5
_MOST_WORDS_OF_ONE, _MOST_CHARACTERS_OF_ONE = 5, 10  # of the translation of a single word, without and with spaces
_TYPED = re.compile(r"[^\W\d_]{3,}")  # words that a typo is made in
_WORD = re.compile(rf"[{SPACELESS}]|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_STOPS = ".。．।።۔"


@dataclass(frozen=True)
class Spoilt:
    """Texts to translate, and for each the places of the sentences that it was made from, counted from 0.

    Where no place was spoilt, there is no text for it.
    """

    texts: tuple[str, ...]
    places: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Answer:
    """A translation of a spoilt text, with the names of its quality flags if they were asked for."""

    text: str
    flags: frozenset[str] = frozenset()
    is_truncated: bool = False


def _typos(sources: Sequence[str]) -> Spoilt:
    return _each(sources, _mistyped)


def _lower(sources: Sequence[str]) -> Spoilt:
    return _each(sources, str.lower)


def _upper(sources: Sequence[str]) -> Spoilt:
    return _each(sources, str.upper)


def _without_stop(sources: Sequence[str]) -> Spoilt:
    return _each(
        [source.rstrip() for source in sources],  # else space at the end would count as a stop that was lost
        lambda text: text.rstrip(_STOPS).rstrip(),
    )


def _single_words(sources: Sequence[str]) -> Spoilt:
    """Every word of some sentences once, where it comes first; as many words as there are sentences at most."""
    places: dict[str, int] = {}
    for place, source in enumerate(sources):
        for word in _WORD.findall(source):
            places.setdefault(word, place)
            if len(places) == len(sources):
                return Spoilt(tuple(places), tuple((found,) for found in places.values()))
    return Spoilt(tuple(places), tuple((found,) for found in places.values()))


def _very_long(sources: Sequence[str]) -> Spoilt:
    groups = [tuple(range(first, first + JOINED)) for first in range(0, len(sources) - JOINED + 1, JOINED)]
    return Spoilt(tuple(_joined(sources, group) for group in groups), tuple(groups))


PROBES: dict[str, Callable[[Sequence[str]], Spoilt]] = {
    "typos": _typos,
    "lower case": _lower,
    "upper case": _upper,
    "no full stop": _without_stop,
    SINGLE_WORDS: _single_words,
    "very long": _very_long,
}
"""Every probe by its name.

typos: one word in five, at least one, has two letters swapped, one dropped or one doubled. single words: the words of
the sentences, one at a time. very long: five sentences that follow each other, as one.
"""


def sampled(count: int, most: int) -> list[int]:
    """At most so many places out of a set, evenly spread: probing takes as long as translating does."""
    if count <= most:
        return list(range(count))
    return [place * count // most for place in range(most)]


def judged(
    name: str,
    spoilt: Spoilt,
    answers: Sequence[Answer],
    clean: Sequence[str],
    references: Sequence[str],
    *,
    metrics: Sequence[str],
    language: str = "",
) -> Probe:
    """What the answers to spoilt texts lost against `clean`, the translations of the sentences as they were."""
    sentences, changed = len(references), len(spoilt.texts)
    if name == SINGLE_WORDS or not changed:
        return Probe(name, sentences, changed, (), {}, _shares(answers) if changed else {})
    wanted = [_joined(references, places) for places in spoilt.places]
    before = [_joined(clean, places) for places in spoilt.places]
    texts = [answer.text for answer in answers]
    scores, old = (corpus_scores(each, wanted, metrics=metrics, language=language) for each in (texts, before))
    drops = {now.name: _drop(now, then) for now, then in zip(scores, old, strict=True)}
    return Probe(name, sentences, changed, scores, drops)


def is_runaway(text: str) -> bool:
    """Whether the translation of one word goes on and on: more than five words, or ten characters without spaces."""
    spaceless = sum(map(is_spaceless, text))
    return len(text.split()) > _MOST_WORDS_OF_ONE or spaceless > _MOST_CHARACTERS_OF_ONE


def _shares(answers: Sequence[Answer]) -> dict[str, float]:
    counts = {
        "flagged": sum(bool(answer.flags) for answer in answers),
        "runaway": sum(answer.is_truncated or is_runaway(answer.text) for answer in answers),
        "repeated": sum("repetition" in answer.flags for answer in answers),
    }
    return {name: count / len(answers) for name, count in counts.items()}


def _drop(now: Score, then: Score) -> float:
    drop = then.value - now.value
    return -drop if now.name in LOWER_IS_BETTER else drop


def _each(sources: Sequence[str], spoil: Callable[[str], str]) -> Spoilt:
    texts = [(spoil(source), place) for place, source in enumerate(sources)]
    changed = [(text, (place,)) for text, place in texts if text != sources[place] and text.strip()]
    return Spoilt(tuple(text for text, _ in changed), tuple(places for _, places in changed))


def _joined(texts: Sequence[str], places: Sequence[int]) -> str:
    """Several texts as one, with spaces between them where their script has any."""
    whole = ""
    for place in places:
        text = texts[place].strip()
        space = "" if not whole or not text or is_spaceless(whole[-1]) else " "
        whole += space + text
    return whole


def _draws(text: str) -> Iterator[int]:
    """Large numbers without end that depend on the text alone."""
    number = 0
    while True:
        data = hashlib.sha256(f"{number}:{text}".encode("utf-8", "surrogatepass")).digest()
        for first in range(0, len(data), 4):
            yield int.from_bytes(data[first : first + 4], "big")
        number += 1


def _mistyped(text: str) -> str:
    words = list(_TYPED.finditer(text))
    draws = _draws(text)
    ranks = [(next(draws), place) for place in range(len(words))]
    chosen = [place for _, place in sorted(ranks)[: -(-len(words) // _WORDS_A_TYPO)]]
    for place in sorted(chosen, reverse=True):  # from the end, so that the words before it stay where they are
        word = words[place]
        text = text[: word.start()] + _typo(word[0], draws) + text[word.end() :]
    return text


def _typo(word: str, draws: Iterator[int]) -> str:
    """The word with one mistake, never in its first letter, which people get right."""
    place = 1 + next(draws) % (len(word) - 1)
    kind = next(draws) % 3
    if kind == 0 and place + 1 < len(word) and word[place] != word[place + 1]:
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    if kind == 1:
        return word[:place] + word[place + 1 :]
    return word[:place] + word[place] + word[place:]
