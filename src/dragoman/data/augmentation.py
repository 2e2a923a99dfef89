"""Change pairs when they are drawn for training: a pure function of the seed, the epoch and the slot."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.config import Config, DataConfig
from dragoman.config.corpus import AugmentConfig, Direction
from dragoman.data.permutation import GAMMA, mix, mix_key
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.text import Tokenizer
from dragoman.text.perturbation import (
    STOPS,
    WORD,
    draw_numbers,
    join_texts,
    lower_case,
    mistyped,
    title_case,
    untranslatable,
    upper_case,
    without_stop,
)

Rows = NDArray[np.int64]
TextPair = tuple[str, str]
TokenPair = tuple[NDArray[np.integer], NDArray[np.integer]]
Side = TypeVar("Side")

_MOST_JOINED = 5
_MOST_WORDS = 3  # of a phrase
_SHOWN_PAIRS = 100  # among which an example of each change is looked for
_LEXICON_PAIRS = 20_000  # of all corpora, each with the same part
_LEAST_COUNT, _LEAST_DICE = 5, 0.4  # of two words: their common pairs, and 1 if none has one of them alone
_MOST_RATIO = (2 - _LEAST_DICE) / _LEAST_DICE  # of the frequencies of such words


def word_translations(pairs: Iterable[TextPair]) -> dict[str, str]:
    """Return words and their translations: each of two words is most often in the same pairs as the other (Dice)."""
    sides = [[set(WORD.findall(text)) for text in side] for side in zip(*pairs, strict=True)] or [[], []]
    counts = [Counter(chain.from_iterable(side)) for side in sides]
    names = [[word for word, number in count.items() if number >= _LEAST_COUNT] for count in counts]
    places = [{word: place for place, word in enumerate(each)} for each in names]
    frequent = [np.array([count[word] for word in each], np.int64) for count, each in zip(counts, names, strict=True)]
    both = [np.empty(0, np.int64)]
    for pair in zip(*sides, strict=True):
        one, other = (
            np.array([known[word] for word in words if word in known], np.int64)
            for words, known in zip(pair, places, strict=True)
        )
        ratios = frequent[0][one][:, np.newaxis] / frequent[1][other]
        both.append((one[:, np.newaxis] * len(names[1]) + other)[(ratios <= _MOST_RATIO) & (1 / ratios <= _MOST_RATIO)])
    keys, together = np.unique(np.concatenate(both), return_counts=True)
    firsts, seconds = np.divmod(keys, max(1, len(names[1])))
    dices = 2 * together / (frequent[0][firsts] + frequent[1][seconds])
    best: tuple[dict[str, tuple[float, str]], dict[str, tuple[float, str]]] = {}, {}
    for number in np.flatnonzero((together >= _LEAST_COUNT) & (dices >= _LEAST_DICE)).tolist():
        source, target, dice = names[0][firsts[number]], names[1][seconds[number]], float(dices[number])
        best[0][source] = max(best[0].get(source, (0.0, "")), (dice, target))
        best[1][target] = max(best[1].get(target, (0.0, "")), (dice, source))
    return {source: target for source, (_, target) in best[0].items() if best[1][target][1] == source}


def _phrase(pair: TextPair, draws: Iterator[int], lexicon: Mapping[str, str]) -> TextPair:
    """Return one to three successive words with a translation each, which succeed each other too; or the pair."""
    found: dict[str, re.Match[str]] = {word[0]: word for word in WORD.finditer(pair[1])}
    links = [(word, found.get(lexicon.get(word[0], ""))) for word in WORD.finditer(pair[0])]
    starts = [place for place, (_, other) in enumerate(links) if other is not None]
    if not starts:
        return pair
    first = starts[next(draws) % len(starts)]
    chosen: list[tuple[re.Match[str], re.Match[str]]] = []
    for word, other in links[first : first + 1 + next(draws) % _MOST_WORDS]:
        if other is None or (chosen and not _follow(pair, chosen[-1], (word, other))):
            break
        chosen.append((word, other))
    source, target = (text[chosen[0][side].start() : chosen[-1][side].end()] for side, text in enumerate(pair))
    return source, target


def _follow(pair: TextPair, before: Sequence[re.Match[str]], after: Sequence[re.Match[str]]) -> bool:
    """Return whether only a space is between two words, on both sides."""
    return all(text[one.end() : other.start()] == " " for text, one, other in zip(pair, before, after, strict=True))


def _change(
    kind: str, pairs: Sequence[TextPair], draws: Iterator[int], languages: Direction, lexicon: Mapping[str, str]
) -> TextPair:
    """Return the first pair with a change, or all joined; it may be the same pair, as in a script without cases."""
    source, target = pairs[0]
    match kind:
        case "upper":
            source, target = upper_case(source, languages[0]), upper_case(target, languages[1])
        case "title":
            source, target = title_case(source, languages[0]), title_case(target, languages[1])
        case "lower":
            source = lower_case(source, languages[0])
        case "typos":
            source = mistyped(source, draws, kinds=4)
        case "punctuation" if next(draws) % 4 == 0 and source[-1:] in {*STOPS, "!", "?"}:
            source += source[-1]
        case "punctuation":
            source, target = without_stop(source), without_stop(target)
        case "joined":
            source, target = (join_texts(side) for side in zip(*pairs, strict=True))
        case "words":
            source, target = _phrase(pairs[0], draws, lexicon)
        case _:
            source = target = untranslatable(draws)
    return source, target


def changed_examples(config: DataConfig, pairs: Sequence[TextPair]) -> Iterator[tuple[str, TextPair, TextPair]]:
    """Yield kinds of changes, each with a pair before and after it."""
    lexicon = word_translations(pairs) if config.augment is not None and config.augment.words else {}
    for kind, share in config.augment or ():
        for number, pair in enumerate(pairs[:_SHOWN_PAIRS] if share else ()):
            languages, draws = (config.source, config.target), draw_numbers(f"{config.seed} {number}")
            made = _change(kind, pairs[number : number + 2], draws, languages, lexicon)
            if made != pair:
                yield kind, pair, made
                break


@dataclass(frozen=True)
class Augmentation:
    """The changes of all draws.

    `lengths` and `gather` return the tokens of rows, as those of `Shards`; `ends` are the rows after each corpus. A
    pair is unchanged if a change would need more than `max_tokens`, or a token that the vocabulary lacks.
    """

    source: Tokenizer
    target: Tokenizer
    shares: AugmentConfig
    languages: Direction
    lengths: Callable[[Rows], NDArray[np.int64]]
    gather: Callable[[Rows], Pairs]
    ends: Sequence[int]
    seed: int
    max_tokens: int

    @classmethod
    def of(
        cls,
        config: Config,
        tokenizers: Mapping[str, Tokenizer],
        lengths: Callable[[Rows], NDArray[np.int64]],
        gather: Callable[[Rows], Pairs],
        ends: Sequence[int],
    ) -> Self | None:
        """Return the changes of a configuration; None without any."""
        data, training = config.data, config.training
        if data is None or data.augment is None:
            return None
        languages = ("", "") if data.is_multilingual else (data.source, data.target)
        most = min(data.max_tokens, training.batch_tokens - 1)
        sides = tokenizers["source"], tokenizers["target"]
        made = cls(*sides, data.augment, languages, lengths, gather, ends, training.seed, most)
        if data.augment.words:
            made._lexicons  # noqa: B018 -- once, for all workers: it takes seconds
        return made

    def kinds(self, epoch: int, slots: Rows) -> NDArray[np.int64]:
        """Return the number of the change of each draw, in the order of the settings, -1 for none. Shapes: [n]."""
        words = mix(slots.astype(np.uint64) * GAMMA ^ mix_key((self.seed, epoch), 1))
        bounds = np.cumsum(list(self.shares.model_dump().values()))
        found = np.searchsorted(bounds, (words >> np.uint64(11)).astype(np.float64) / 2**53, side="right")
        return np.where(found < len(bounds), found, -1)

    def planned_lengths(self, epoch: int, slots: Rows, rows: Rows) -> NDArray[np.int64]:
        """Return the tokens of both sides of draws after their changes. Shapes: [n], [n] -> [n, 2]."""
        lengths = self.lengths(rows)
        places = np.flatnonzero(self.kinds(epoch, slots) >= 0)
        changed = self._changed(self.gather(rows[places]), epoch, slots[places], rows[places])
        for place, more, _ in changed:
            lengths[places[place]] += more
        return lengths

    def draw(self, pairs: Pairs, epoch: int, slots: Rows, rows: Rows) -> Pairs:
        """Return the pairs of the rows with the changes of their draws."""
        sides = list(pairs.source.split()), list(pairs.target.split())
        for place, _, tokens in self._changed(pairs, epoch, slots, rows):
            for side, own in zip(sides, tokens, strict=True):
                side[place] = np.array(own, dtype=side[place].dtype)
        source, target = (Sentences(np.concatenate(side), np.array(list(map(len, side)))) for side in sides)
        return Pairs(source, target)

    def _changed(
        self, pairs: Pairs, epoch: int, slots: Rows, rows: Rows
    ) -> Iterator[tuple[int, NDArray[np.int64], list[list[int]]]]:
        """Yield the place of each pair that changes, the tokens that it gains, and its new tokens."""
        names = list(self.shares.model_dump())
        before = self.lengths(rows)
        known = list(_split(pairs))
        for place, number in enumerate(self.kinds(epoch, slots).tolist()):
            if number < 0:
                continue
            read = [known[place]]
            if names[number] == "joined":
                read += _split(self.gather(self._following(int(rows[place]), int(slots[place]) + epoch)))
            if any(tokenizer.unk_id in side for pair in read for tokenizer, side in self._with_tokenizers(pair)):
                continue
            texts = [self._text(pair) for pair in read]
            draws = draw_numbers(f"{self.seed} {epoch} {slots[place]}")
            lexicon = self._lexicons[bisect_right(self.ends, rows[place])] if names[number] == "words" else {}
            made = _change(names[number], texts, draws, self.languages, lexicon)
            tokens = [tokenizer.encode(text) for tokenizer, text in self._with_tokenizers(made)]
            gained = np.array([len(own) - len(old) for own, old in zip(tokens, known[place], strict=True)])
            is_known = all(own and tokenizer.unk_id not in own for tokenizer, own in self._with_tokenizers(tokens))
            if is_known and (before[place] + gained).max() <= self.max_tokens:
                yield place, gained, tokens

    @cached_property
    def _lexicons(self) -> list[dict[str, str]]:
        """The translations of words in the first pairs of each corpus."""
        most = _LEXICON_PAIRS // len(self.ends)
        ranges = [np.arange(first, min(end, first + most)) for first, end in pairwise((0, *self.ends))]
        return [word_translations(map(self._text, _split(self.gather(rows)))) for rows in ranges]

    def _following(self, row: int, draw: int) -> Rows:
        """Return the rows of the pairs to join with a row: one to four of the same corpus."""
        end = self.ends[bisect_right(self.ends, row)]
        return np.arange(row + 1, min(row + 2 + draw % (_MOST_JOINED - 1), end))

    def _text(self, pair: TokenPair) -> TextPair:
        source, target = (tokenizer.decode(side.tolist()) for tokenizer, side in self._with_tokenizers(pair))
        return source, target

    def _with_tokenizers(self, sides: Iterable[Side]) -> Iterator[tuple[Tokenizer, Side]]:
        return zip((self.source, self.target), sides, strict=True)


def _split(pairs: Pairs) -> Iterator[TokenPair]:
    return zip(pairs.source.split(), pairs.target.split(), strict=True)
