"""Run CTranslate2's search; search, score or rank again where its results differ from `dragoman.search`.

It cannot be constrained at every step, so a sentence is first translated without its phrases. As long as one is
missing, the translation is cut where it attends to the source words of that phrase, the phrase is appended, and the
rest is translated again after this forced prefix, in as many rounds as there are phrases. The search does not weigh a
phrase against the words before it, as the constrained beam search of `dragoman.search` does.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dragoman.config.search import SearchSettings
from dragoman.engines.ctranslate2.token_id_client import (
    EngineHypothesis,
    StepCallback,
    TranslatorClient,
    complete_attention,
    hypothesis,
)
from dragoman.search.decoding_protocol import Floats, SearchMonitor
from dragoman.search.hypothesis import Hypothesis, Penalties, SearchInput

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


_CANCELLABLE = 16  # sentences per call when a beam can be cancelled: a running call cannot be interrupted
_LONG = 128  # source tokens: a beam copies all rows of the attention at every step, which takes quadratic time
_ALMOST_ZERO = 1e-30  # with an exponent of 0 CTranslate2 would stop before it has n translations


@dataclass(frozen=True)
class BatchSearch:
    """One search for a batch of sentences."""

    calls: TranslatorClient
    longest: int
    sentences: Sequence[SearchInput]
    settings: SearchSettings
    return_attention: bool
    monitor: SearchMonitor | None

    @property
    def _streams_tokens(self) -> bool:
        """Whether every token is reported immediately: CTranslate2 can do that for a single sentence."""
        return self.settings.beam == 1 and len(self.sentences) == 1

    def batches(self) -> Iterator[list[int]]:
        """Group sentences for the calls: those with a prefix and long ones are searched separately."""
        kinds: dict[tuple[bool, bool], list[int]] = defaultdict(list)
        for number, sentence in enumerate(self.sentences):
            kinds[bool(sentence.prefix), self._is_long(number)].append(number)
        for numbers in kinds.values():
            size = _CANCELLABLE if self.monitor is not None and self.settings.beam > 1 else len(numbers)
            for first in range(0, len(numbers), size):
                yield numbers[first : first + size]

    def run(self, numbers: list[int]) -> dict[int, list[Hypothesis]]:
        """Translate these sentences; cancelled ones are omitted."""
        active = self._not_cancelled(numbers)
        empty = [number for number in active if not self.sentences[number].tokens]
        full = [number for number in active if self.sentences[number].tokens]
        drafts = {number: [EngineHypothesis(list(self.sentences[number].prefix), 0.0, None, True)] for number in empty}
        drafts |= self._translate(full)
        active = self._not_cancelled(active)
        self._score_again({number: drafts[number] for number in active if self._needs_rescoring(number)})
        results = {number: self._ranked(number, drafts[number]) for number in active}
        if self.monitor is not None and (empty or not self._streams_tokens):
            for number, hypotheses in results.items():
                self.monitor.on_tokens(number, hypotheses[0].tokens)
        return results

    def _translate(self, numbers: list[int]) -> dict[int, list[EngineHypothesis]]:
        """One call for all; then one per length limit for the sentences that exceeded theirs.

        Greedy search gives the same prefix with a lower limit, so its result is cut instead. A beam with enough
        finished translations within the limit needs no other call: the beam of a call with that limit is the same.
        """
        if not numbers:
            return {}
        enough = math.ceil((self.settings.patience or 1.0) * self.settings.beam)
        drafts = self._call(numbers, max(map(self._limit, numbers)), enough)
        again: dict[int, list[int]] = defaultdict(list)
        for number in numbers:
            limit = self._limit(number)
            if not any(self._is_too_long(each, limit) for each in drafts[number]):
                continue
            within = [each for each in drafts[number] if each.is_finished and each.length <= limit]
            if len(within) >= self.settings.nbest and self._is_ranked(number):
                drafts[number] = within
            else:
                again[limit].append(number)
        if self.settings.beam == 1:
            cut = {number: [each.cut(limit) for each in drafts[number]] for limit in again for number in again[limit]}
            self._score_again(cut)
            return drafts | cut
        for limit, stopped in again.items():
            # The maximum number of translations when the longest are cut; requesting all of them changes nothing else.
            drafts |= self._call(stopped, limit, enough - 1 + self.settings.beam)
        return drafts

    def _call(self, numbers: list[int], limit: int, enough: int) -> dict[int, list[EngineHypothesis]]:
        settings = self.settings
        is_greedy = settings.beam == 1
        returns_attention = self.return_attention and not self._is_long(numbers[0])
        exponent = 0.0 if is_greedy or settings.length_penalty == "none" else settings.alpha
        options: dict[str, Any] = {
            "beam_size": settings.beam,
            "patience": 1.0 if is_greedy else enough / settings.beam,
            "num_hypotheses": 1 if is_greedy else enough,
            "length_penalty": exponent or _ALMOST_ZERO,
            "no_repeat_ngram_size": settings.no_repeat_ngram,
            "min_decoding_length": min(settings.min_length, limit),
            "max_decoding_length": limit,
            "return_attention": returns_attention,
        }
        callback = None
        if self.monitor is not None and is_greedy:
            callback = options["callback"] = StepCallback(self.monitor, numbers, is_streamed=self._streams_tokens)
        sentences = [self.sentences[number] for number in numbers]
        sources = [sentence.tokens for sentence in sentences]
        results = self.calls.translate(sources, [sentence.prefix for sentence in sentences], **options)
        if callback is not None:
            callback.raise_error()
        drafts = [self.calls.read(result, exponent) for result in results]
        if returns_attention and not is_greedy and len(numbers) > 1:
            self._replace_first_rows(drafts, sources)
        return dict(zip(numbers, drafts, strict=True))

    def _replace_first_rows(self, drafts: list[list[EngineHypothesis]], sources: Sequence[Sequence[int]]) -> None:
        """Compute the attention of the first word with one greedy step; it depends only on the source."""
        firsts = self.calls.translate(
            sources,
            [()] * len(sources),
            beam_size=1,
            max_decoding_length=1,
            min_decoding_length=0,
            return_attention=True,
        )
        for of_sentence, first in zip(drafts, firsts, strict=True):
            for each in of_sentence:
                assert each.attention is not None
                each.attention[0] = first.attention[0][0]

    def _is_too_long(self, draft: EngineHypothesis, limit: int) -> bool:
        """Whether the search exceeded its length limit, or was stopped by it."""
        return draft.length > limit or (self.settings.beam > 1 and not draft.is_finished)

    def _is_ranked(self, number: int) -> bool:
        """Whether CTranslate2 returns the best translations by our score, which it then has not dropped."""
        is_same = self.settings.beam > 1 and self.settings.length_penalty != "gnmt"
        return is_same and not self._needs_rescoring(number)

    def _needs_rescoring(self, number: int) -> bool:
        """Whether the log p of CTranslate2 is missing, or normalised over allowed words only."""
        sentence, settings = self.sentences[number], self.settings
        return bool(sentence.prefix) or not sentence.tokens or settings.min_length > 0 or settings.no_repeat_ngram > 0

    def _score_again(self, drafts: dict[int, list[EngineHypothesis]]) -> None:
        if not drafts:
            return
        pairs = [(self.sentences[number].tokens, each) for number in drafts for each in drafts[number]]
        gains = self.calls.gains([source for source, _ in pairs], [each.tokens for _, each in pairs])
        for (_, each), gained in zip(pairs, gains, strict=True):
            each.log_prob = sum(gained[: each.length])

    def _ranked(self, number: int, drafts: list[EngineHypothesis]) -> list[Hypothesis]:
        """The best first; cut translations come after all finished ones."""
        penalties = Penalties(self.settings)
        ranked = sorted(
            drafts, key=lambda each: (not each.is_finished, -penalties.score(each.log_prob, each.length, None))
        )[: self.settings.nbest]
        if self.return_attention and self._is_long(number):
            self._add_attention(self.sentences[number].tokens, ranked)
        return [
            hypothesis(each.tokens, each.log_prob, self._map(each), penalties, is_finished=each.is_finished)
            for each in ranked
        ]

    def _add_attention(self, source: Sequence[int], drafts: list[EngineHypothesis]) -> None:
        maps = self.calls.forced_maps([source] * len(drafts), [each.tokens for each in drafts])
        for each, attention in zip(drafts, maps, strict=True):
            each.attention = attention[: each.length, :-1]

    def _is_long(self, number: int) -> bool:
        """Whether the attention of a sentence is computed after a beam search, for its results only."""
        return self.settings.beam > 1 and len(self.sentences[number].tokens) >= _LONG

    def _map(self, each: EngineHypothesis) -> Floats | None:
        return complete_attention(each.attention, each.length) if self.return_attention else None

    def _limit(self, number: int) -> int:
        sentence = self.sentences[number]
        return self.settings.limit(len(sentence.tokens), self.longest, sentence.min_length)

    def _not_cancelled(self, numbers: list[int]) -> list[int]:
        if self.monitor is None:
            return numbers
        return [number for number in numbers if not self.monitor.is_cancelled(number)]
