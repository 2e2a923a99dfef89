"""Change pairs when they are drawn for training: a pure function of the seed, the epoch and the slot."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, pairwise, zip_longest
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.config import Config, DataConfig
from dragoman.config.corpus import AugmentConfig, Direction
from dragoman.data.permutation import GAMMA, mix, mix_key
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.text import Tokenizer
from dragoman.text.perturbation import (
    HINT,
    STOPS,
    TAGS,
    draw_numbers,
    join_texts,
    lower_case,
    mistyped,
    title_case,
    untranslatable,
    upper_case,
    without_stop,
)
from dragoman.text.words import Link, TextPair, WordLinks

Rows = NDArray[np.int64]
Spans = tuple[tuple[int, int], tuple[int, int]]
TokenPair = tuple[NDArray[np.integer], NDArray[np.integer]]
Side = TypeVar("Side")

LINKED = frozenset({"words", "tags", "terms"})
"""The kinds of changes that need links between words."""

_MOST_JOINED = 5
_MOST_WORDS = 3  # of a phrase
_EXAMPLES = 10
_SHOWN_PAIRS = 100  # among which examples are looked for
_LINKED_PAIRS = 20_000  # of all corpora, each with the same part
_NO_LINKS = WordLinks({})


def linked_spans(pair: TextPair, draws: Iterator[int], links: WordLinks) -> Spans | None:
    """Return one to three successive words whose translations succeed each other too, or None; half are one word."""
    found = links.find(pair)
    if not found:
        return None
    first = next(draws) % len(found)
    last = first
    for _ in range(max(0, next(draws) % (2 * _MOST_WORDS - 2) - _MOST_WORDS + 2)):
        if last + 1 == len(found) or not _follow(pair, found[last], found[last + 1]):
            break
        last += 1
    (source, target), (source_end, target_end) = found[first], found[last]
    return (source.start(), source_end.end()), (target.start(), target_end.end())


def _follow(pair: TextPair, before: Link, after: Link) -> bool:
    """Return whether only a space is between two words, on both sides."""
    return all(text[one.end() : other.start()] == " " for text, one, other in zip(pair, before, after, strict=True))


def _linked(kind: str, pair: TextPair, draws: Iterator[int], links: WordLinks) -> TextPair:
    """Return linked words alone, with a tag or as a placeholder, or with a hint; the pair if no words are linked."""
    spans = linked_spans(pair, draws, links)
    if spans is None:
        return pair
    source, target = (text[slice(*span)] for text, span in zip(pair, spans, strict=True))
    if kind == "words":
        return source, target
    if kind == "terms":
        end = spans[0][1]
        return f"{pair[0][:end]} {HINT[0]} {target} {HINT[1]}{pair[0][end:]}", pair[1]
    form = TAGS[next(draws) % len(TAGS)].replace("#", str(next(draws) % 10))
    source, target = (
        text[:start] + form.replace("@", text[start:end]) + text[end:]
        for text, (start, end) in zip(pair, spans, strict=True)
    )
    return source, target


def _change(
    kind: str, pairs: Sequence[TextPair], draws: Iterator[int], languages: Direction, links: WordLinks
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
        case "words" | "tags" | "terms":
            source, target = _linked(kind, pairs[0], draws, links)
        case _:
            source = target = untranslatable(draws)
    return source, target


def changed_examples(config: DataConfig, pairs: Sequence[TextPair]) -> Iterator[tuple[str, TextPair, TextPair]]:
    """Yield ten changed pairs: the kind of change, the pair before and after it; each kind before one comes again."""
    kinds = [kind for kind, share in config.augment or () if share]
    links = WordLinks.learn(pairs) if not LINKED.isdisjoint(kinds) else WordLinks({})
    languages = ("", "") if config.is_multilingual else (config.source, config.target)
    found = [_examples(kind, config.seed, pairs[n:], languages, links) for n, kind in enumerate(kinds)]  # other pairs
    rounds = chain.from_iterable(zip_longest(*(islice(each, _EXAMPLES) for each in found)))
    yield from sorted(islice(filter(None, rounds), _EXAMPLES), key=lambda example: kinds.index(example[0]))


def _examples(
    kind: str, seed: int, pairs: Sequence[TextPair], languages: Direction, links: WordLinks
) -> Iterator[tuple[str, TextPair, TextPair]]:
    for number, pair in enumerate(pairs[:_SHOWN_PAIRS]):
        draws = draw_numbers(f"{seed} {kind} {number}")
        made = _change(kind, pairs[number : number + 2 + next(draws) % (_MOST_JOINED - 1)], draws, languages, links)
        if made != pair:
            yield kind, pair, made


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
        if any(getattr(data.augment, kind) for kind in LINKED):
            made._links  # noqa: B018 -- once, for all workers: it takes seconds
        return made

    def kinds(self, epoch: int, slots: Rows) -> NDArray[np.int64]:
        """Return the number of the change of each draw, in the order of the settings, -1 for none. Shapes: [n]."""
        words = mix(slots.astype(np.uint64) * GAMMA ^ mix_key((self.seed, epoch), 1))
        found = np.searchsorted(self._bounds, (words >> np.uint64(11)).astype(np.float64) / 2**53, side="right")
        return np.where(found < len(self._bounds), found, -1)

    def planned_lengths(self, epoch: int, slots: Rows, rows: Rows) -> NDArray[np.int64]:
        """Return the tokens of both sides of draws after their changes, kept for `draw`. Shapes: [n], [n] -> [n, 2]."""
        lengths = self.lengths(rows)
        kinds = self.kinds(epoch, slots)
        places = np.flatnonzero(kinds >= 0)
        known = list(_split(self.gather(rows[places])))
        self._planned.clear()
        for place, pair in zip(places.tolist(), known, strict=True):
            slot, row = int(slots[place]), int(rows[place])
            tokens = self._changed(int(kinds[place]), pair, epoch, slot, row, lengths[place].tolist())
            self._planned[epoch, slot] = tokens
            if tokens is not None:
                lengths[place] += [len(own) - len(old) for own, old in zip(tokens, pair, strict=True)]
        return lengths

    def draw(self, pairs: Pairs, epoch: int, slots: Rows, rows: Rows) -> Pairs:
        """Return the pairs of the rows with the changes of their draws."""
        sides = list(pairs.source.split()), list(pairs.target.split())
        kinds = self.kinds(epoch, slots)
        before = self.lengths(rows)
        for place in np.flatnonzero(kinds >= 0).tolist():
            slot = int(slots[place])
            if (epoch, slot) in self._planned:
                tokens = self._planned.pop((epoch, slot))
            else:
                pair = sides[0][place], sides[1][place]
                tokens = self._changed(int(kinds[place]), pair, epoch, slot, int(rows[place]), before[place].tolist())
            for side, own in zip(sides, tokens or (), strict=False):
                side[place] = np.array(own, dtype=side[place].dtype)
        source, target = (Sentences(np.concatenate(side), np.array(list(map(len, side)))) for side in sides)
        return Pairs(source, target)

    def _changed(
        self, number: int, pair: TokenPair, epoch: int, slot: int, row: int, before: Sequence[int]
    ) -> list[list[int]] | None:
        """Return the tokens of a pair after a change; None if it stays. `before` are its lengths in a batch."""
        kind, read = self._names[number], [pair]
        if kind == "joined":
            read += _split(self.gather(self._following(row, slot + epoch)))
        known = [[ids.tolist() for ids in each] for each in read]
        if any(tokenizer.unk_id in ids for each in known for tokenizer, ids in self._with_tokenizers(each)):
            return None
        texts = [self._text(each) for each in known]
        links = self._links[bisect_right(self.ends, row)] if kind in LINKED else _NO_LINKS
        made = _change(kind, texts, draw_numbers(f"{self.seed} {epoch} {slot}"), self.languages, links)
        if made == texts[0]:
            return None
        tokens = [
            old if new == text else tokenizer.encode(new)
            for old, text, new, tokenizer in zip(known[0], texts[0], made, (self.source, self.target), strict=True)
        ]
        is_short = all(
            had + len(own) - len(old) <= self.max_tokens for had, own, old in zip(before, tokens, known[0], strict=True)
        )
        is_known = all(own and tokenizer.unk_id not in own for tokenizer, own in self._with_tokenizers(tokens))
        return tokens if is_short and is_known else None

    @cached_property
    def _names(self) -> list[str]:
        return list(self.shares.model_dump())

    @cached_property
    def _bounds(self) -> NDArray[np.float64]:
        return np.cumsum(list(self.shares.model_dump().values()))

    @cached_property
    def _planned(self) -> dict[tuple[int, int], list[list[int]] | None]:
        """The tokens of the changed pairs of the last plan, by epoch and slot."""
        return {}

    @cached_property
    def _links(self) -> list[WordLinks]:
        """The links of words, learned from the first pairs of each corpus."""
        most = _LINKED_PAIRS // len(self.ends)
        ranges = [np.arange(first, min(end, first + most)) for first, end in pairwise((0, *self.ends))]
        return [
            WordLinks.learn(self._text([ids.tolist() for ids in pair]) for pair in _split(self.gather(rows)))
            for rows in ranges
        ]

    def _following(self, row: int, draw: int) -> Rows:
        """Return the rows of the pairs to join with a row: one to four of the same corpus."""
        end = self.ends[bisect_right(self.ends, row)]
        return np.arange(row + 1, min(row + 2 + draw % (_MOST_JOINED - 1), end))

    def _text(self, sides: Iterable[list[int]]) -> TextPair:
        source, target = (tokenizer.decode(ids) for tokenizer, ids in self._with_tokenizers(sides))
        return source, target

    def _with_tokenizers(self, sides: Iterable[Side]) -> Iterator[tuple[Tokenizer, Side]]:
        return zip((self.source, self.target), sides, strict=True)


def _split(pairs: Pairs) -> Iterator[TokenPair]:
    return zip(pairs.source.split(), pairs.target.split(), strict=True)
