"""A search of CTranslate2's, made to find what ours finds. `ctranslate2_engine` says where the two differ."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.engines.ctranslate2_calls import Calls
from dragoman.engines.ctranslate2_results import Found, Onlooker, hypothesis, whole_map
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.penalties import Penalties
from dragoman.search.protocol import Floats, Watch
from dragoman.search.settings import SearchSettings

__all__ = ["Job"]

_WATCHED = 16  # sentences between two looks at what was cancelled, where a beam cannot be interrupted
_NEXT_TO_NOTHING = 1e-30  # an exponent of 0 would make CTranslate2 stop before there are n translations to choose from


@dataclass(frozen=True)
class Job:
    """One search for some sentences."""

    calls: Calls
    longest: int
    sentences: Sequence[Sentence]
    settings: SearchSettings
    show: bool
    watch: Watch | None

    @property
    def _is_told_by_word(self) -> bool:
        """Whether who looks on is told every word at once: CTranslate2 can do so for a sentence by itself."""
        return self.settings.beam == 1 and len(self.sentences) == 1

    def batches(self) -> Iterator[list[int]]:
        """Which sentences go together: those with a prefix and those without are not searched in quite the same way."""
        kinds: dict[bool, list[int]] = defaultdict(list)
        for number, sentence in enumerate(self.sentences):
            kinds[bool(sentence.prefix)].append(number)
        for numbers in kinds.values():
            size = _WATCHED if self.watch is not None and self.settings.beam > 1 else len(numbers)
            for first in range(0, len(numbers), size):
                yield numbers[first : first + size]

    def run(self, numbers: list[int]) -> dict[int, list[Hypothesis]]:
        """The translations of some sentences; those that nobody waits for are left out."""
        awaited = self._awaited(numbers)
        empty = [number for number in awaited if not self.sentences[number].pieces]
        full = [number for number in awaited if self.sentences[number].pieces]
        found = {number: [Found(list(self.sentences[number].prefix), 0.0, None, True)] for number in empty}
        found |= self._translate(full)
        awaited = self._awaited(awaited)
        self._score_again({number: found[number] for number in awaited if self._is_other_log_prob(number)})
        results = {number: self._ranked(found[number]) for number in awaited}
        if self.watch is not None and (empty or not self._is_told_by_word):
            for number, hypotheses in results.items():
                self.watch.wrote(number, hypotheses[0].pieces)
        return results

    def _translate(self, numbers: list[int]) -> dict[int, list[Found]]:
        """One call for all; then one for those of each length that would have been stopped before.

        Greedy search would have written the same words: there the rest is cut off.
        """
        if not numbers:
            return {}
        enough = math.ceil((self.settings.patience or 1.0) * self.settings.beam)
        found = self._call(numbers, max(map(self._limit, numbers)), enough)
        again: dict[int, list[int]] = defaultdict(list)
        for number in numbers:
            if any(self._is_too_long(each, self._limit(number)) for each in found[number]):
                again[self._limit(number)].append(number)
        if self.settings.beam == 1:
            cut = {number: [each.cut(limit) for each in found[number]] for limit in again for number in again[limit]}
            self._score_again(cut)
            return found | cut
        for limit, stopped in again.items():
            # So many translations there can be at most when the longest are cut; to see all changes nothing else.
            found |= self._call(stopped, limit, enough - 1 + self.settings.beam)
        return found

    def _call(self, numbers: list[int], limit: int, enough: int) -> dict[int, list[Found]]:
        settings = self.settings
        is_greedy = settings.beam == 1
        exponent = 0.0 if is_greedy or settings.length_penalty == "none" else settings.alpha
        options: dict[str, Any] = {
            "beam_size": settings.beam,
            "patience": 1.0 if is_greedy else enough / settings.beam,
            "num_hypotheses": 1 if is_greedy else enough,
            "length_penalty": exponent or _NEXT_TO_NOTHING,
            "no_repeat_ngram_size": settings.no_repeat_ngram,
            "min_decoding_length": min(settings.min_length, limit),
            "max_decoding_length": limit,
            "return_attention": self.show,
        }
        onlooker = None
        if self.watch is not None and is_greedy:
            onlooker = options["callback"] = Onlooker(self.watch, numbers, is_told=self._is_told_by_word)
        sentences = [self.sentences[number] for number in numbers]
        sources = [sentence.pieces for sentence in sentences]
        results = self.calls.translate(sources, [sentence.prefix for sentence in sentences], **options)
        if onlooker is not None:
            onlooker.raise_fault()
        found = [self.calls.read(result, exponent) for result in results]
        if self.show and not is_greedy and len(numbers) > 1:
            self._mend_first_rows(found, sources)
        return dict(zip(numbers, found, strict=True))

    def _mend_first_rows(self, found: list[list[Found]], sources: Sequence[Sequence[int]]) -> None:
        """Where a model looks for the first word depends on the source alone: one step of greedy search tells it."""
        firsts = self.calls.translate(
            sources,
            [()] * len(sources),
            beam_size=1,
            max_decoding_length=1,
            min_decoding_length=0,
            return_attention=True,
        )
        for drafts, first in zip(found, firsts, strict=True):
            for each in drafts:
                assert each.attention is not None
                each.attention[0] = first.attention[0][0]

    def _is_too_long(self, found: Found, limit: int) -> bool:
        """Whether a translation shows that the search went on where it had to stop, or that it was stopped."""
        return found.length > limit or (self.settings.beam > 1 and not found.is_finished)

    def _is_other_log_prob(self, number: int) -> bool:
        """Whether CTranslate2's log p is that of the words that it may choose, instead of all, or not there."""
        sentence, settings = self.sentences[number], self.settings
        return bool(sentence.prefix) or not sentence.pieces or settings.min_length > 0 or settings.no_repeat_ngram > 0

    def _score_again(self, found: dict[int, list[Found]]) -> None:
        if not found:
            return
        drafts = [(self.sentences[number].pieces, each) for number in found for each in found[number]]
        gains = self.calls.gains([source for source, _ in drafts], [each.pieces for _, each in drafts])
        for (_, each), gained in zip(drafts, gains, strict=True):
            each.log_prob = sum(gained[: each.length])

    def _ranked(self, found: list[Found]) -> list[Hypothesis]:
        """The best first; those that were cut come after all that ended."""
        penalties = Penalties(self.settings)
        ranked = sorted(
            found, key=lambda each: (not each.is_finished, -penalties.score(each.log_prob, each.length, None))
        )
        return [
            hypothesis(each.pieces, each.log_prob, self._map(each), penalties, is_finished=each.is_finished)
            for each in ranked[: self.settings.nbest]
        ]

    def _map(self, each: Found) -> Floats | None:
        return whole_map(each.attention, each.length) if self.show else None

    def _limit(self, number: int) -> int:
        return self.settings.limit(len(self.sentences[number].pieces), self.longest)

    def _awaited(self, numbers: list[int]) -> list[int]:
        if self.watch is None:
            return numbers
        return [number for number in numbers if not self.watch.is_cancelled(number)]
