"""Every translation holds its phrases, and it is the best that does where the beam is wide enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Self

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dragoman.errors import ConfigError
from dragoman.search import Hypothesis, SearchInput, SearchSettings, search
from dragoman.search.beam.algorithms import StandardBeam
from dragoman.search.beam.constrained import ConstrainedBeam, PhraseAutomaton
from dragoman.search.beam.search import beam_search
from dragoman.search.decoding_protocol import Numbers, StepOutput
from dragoman.text import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from tests.unit.search.toy_models import SOURCES, toy_engine

WORDS = [4, 5, 6]
VOCAB = 7
CANNOT_FOLLOW = 6

Marks = np.ndarray[Any, np.dtype[np.bool_]]


def boundaries() -> Marks:
    marks = np.ones(VOCAB, np.bool_)
    marks[CANNOT_FOLLOW] = False
    return marks


@dataclass(frozen=True)
class Table:
    """A model without a source: log p of a word by the two words before it. `history` is [rows, 2]."""

    scores: np.ndarray[Any, np.dtype[np.float32]]
    history: Numbers

    @classmethod
    def random(cls, seed: int, rows: int) -> Table:
        scores = np.random.default_rng(seed).normal(size=(VOCAB, VOCAB, VOCAB)) * 2
        scores[..., [PAD_ID, UNK_ID, BOS_ID]] = -np.inf
        scores -= np.log(np.exp(scores).sum(-1, keepdims=True))
        return cls(scores.astype(np.float32), np.zeros((rows, 2), np.int64))

    def step(self, tokens: Numbers) -> StepOutput:
        history = np.stack([self.history[:, 1], tokens], 1)
        log_probs = self.scores[history[:, 0], history[:, 1]].copy()
        return StepOutput(log_probs, None, Table(self.scores, history))

    def reorder(self, rows: Numbers) -> Self:
        return self.select(rows)

    def select(self, rows: Numbers) -> Self:
        return type(self)(self.scores, self.history[rows])

    def log_prob(self, tokens: Sequence[int]) -> float:
        padded = [PAD_ID, BOS_ID, *tokens, EOS_ID]
        return sum(float(self.scores[run]) for run in zip(padded, padded[1:], padded[2:], strict=False))


def find(
    sentences: Sequence[SearchInput], seed: int, beam: int, limit: int, marks: Marks | None = None, **how: Any
) -> list[list[Hypothesis]]:
    chosen = SearchSettings(beam=beam, max_length=limit, **how)
    sentences = [replace(sentence, may_follow=marks) for sentence in sentences]
    chooser = ConstrainedBeam.of(sentences, beam, [limit] * len(sentences))
    return beam_search(lambda sources, return_attention: Table.random(seed, len(sources)), sentences, chosen, chooser)


def occurrences(phrase: Sequence[int], tokens: Sequence[int], marks: Marks | None, firsts: set[int]) -> int:
    """How often a phrase is in the tokens, without overlapping itself: counted plainly."""
    size, count, place = len(phrase), 0, 0
    while place + size <= len(tokens):
        following = tokens[place + size] if place + size < len(tokens) else None
        ends = following is None or marks is None or marks[following] or following in firsts
        if list(tokens[place : place + size]) == list(phrase) and ends:
            count += 1
            place += size
        else:
            place += 1
    return count


def holds(phrases: Sequence[Sequence[int]], tokens: Sequence[int], marks: Marks | None = None) -> bool:
    firsts = {phrase[0] for phrase in phrases}
    return all(occurrences(each, tokens, marks, firsts) >= list(phrases).count(each) for each in phrases)


phrases_of_words = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), max_size=3)
maybe_marks = st.sampled_from([None, boundaries()])


@given(phrases_of_words, st.lists(st.sampled_from(WORDS), max_size=9), maybe_marks)
def test_the_machine_is_right_about_any_text(phrases: list[list[int]], tokens: list[int], marks: Marks | None):
    machine = PhraseAutomaton(phrases, marks)
    state = machine.start
    assert machine.missing(state) == machine.size == sum(map(len, phrases))
    for count, token in enumerate([*tokens, None]):
        assert (machine.missing(state) == 0) == holds(phrases, tokens[:count], marks)
        if token is not None:
            assert machine.missing(machine.after(state, token)) <= machine.most_missing(state)
            state = machine.after(state, token)


@given(phrases_of_words, st.lists(st.sampled_from(WORDS), max_size=6), maybe_marks)
def test_one_can_always_go_on_with_less_missing(phrases: list[list[int]], tokens: list[int], marks: Marks | None):
    machine = PhraseAutomaton(phrases, marks)
    state = machine.start
    for token in tokens:
        state = machine.after(state, token)
    written = list(tokens)
    while missing := machine.missing(state):
        token = min(machine.advancing(state), key=lambda each: machine.missing(machine.after(state, each)))
        written.append(token)
        state = machine.after(state, token)
        assert machine.missing(state) < missing
    assert machine.advancing(state) == []
    assert holds(phrases, written, marks)


@pytest.mark.parametrize(
    ("phrases", "tokens", "missing"),
    [
        ([[4, 4, 5]], [4, 4, 4], 1),  # the wrong token begins the phrase again, two tokens long
        ([[4, 5, 4, 6]], [4, 5, 4, 5], 2),
        ([[4, 5], [5, 6]], [4, 5], 1),  # one is done, and the other has begun
        ([[4, 5], [5, 6]], [4, 5, 6], 0),
        ([[4, 4], [4, 4]], [4, 4, 4], 1),  # no phrase overlaps itself
        ([[4, 4], [4, 4]], [4, 4, 4, 4], 0),
        ([[4], [4, 5]], [4, 5], 0),
        ([[4, 5]], [4, 6], 2),
        ([[], [4]], [4], 0),
        ([], [4], 0),
    ],
)
def test_what_is_missing(phrases: list[list[int]], tokens: list[int], missing: int):
    machine = PhraseAutomaton(phrases)
    state = machine.start
    for token in tokens:
        state = machine.after(state, token)
    assert machine.missing(state) == missing


def test_a_word_that_goes_on_is_another_word():
    machine = PhraseAutomaton([[4]], boundaries())
    written = machine.after(machine.start, 4)
    assert machine.missing(written) == 0
    assert machine.missing(machine.after(written, CANNOT_FOLLOW)) == 1
    assert machine.missing(machine.after(written, 5)) == 0
    both = PhraseAutomaton([[4], [4, CANNOT_FOLLOW]], boundaries())
    written = both.after(both.after(both.start, 4), CANNOT_FOLLOW)
    assert both.missing(written) == 1
    assert both.advancing(written) == [4]


def leaves_room(phrases: list[list[int]], tokens: list[int], limit: int, marks: Marks | None) -> bool:
    """Whether at every place all that is missing would still fit, one phrase after the other."""
    machine = PhraseAutomaton(phrases, marks)
    state = machine.start
    for count, token in enumerate(tokens, 1):
        state = machine.after(state, token)
        if machine.missing(state) > limit - count - 1:
            return False
    return True


@settings(deadline=None)
@given(phrases_of_words, st.integers(0, 1000), maybe_marks, st.lists(st.sampled_from(WORDS), max_size=2))
def test_a_wide_beam_finds_the_best_of_all_that_hold_them(
    phrases: list[list[int]], seed: int, marks: Marks | None, prefix: list[int]
):
    limit = len(prefix) + min(5, sum(map(len, phrases)) + 3)
    assume(sum(map(len, phrases)) < limit - len(prefix))
    every = [[*prefix, *words] for length in range(limit - len(prefix)) for words in product(WORDS, repeat=length)]
    right = [each for each in every if holds(phrases, each[len(prefix) :], marks)]
    right = [each for each in right if leaves_room(phrases, each[len(prefix) :], limit - len(prefix), marks)]
    (found,) = find(
        [SearchInput([], prefix, phrases)], seed, 400, limit, marks, nbest=1, patience=None, length_penalty="none"
    )
    (best,) = found
    assert best.is_finished
    assert best.tokens in right
    assert best.log_prob == pytest.approx(max(map(Table.random(seed, 1).log_prob, right)), abs=1e-5)


@settings(deadline=None)
@given(
    st.lists(phrases_of_words, min_size=1, max_size=4),
    st.integers(0, 1000),
    st.integers(1, 4),
    st.integers(0, 4),
    maybe_marks,
    st.sampled_from([1.0, None]),
)
def test_a_narrow_beam_holds_them_too_whatever_the_company(
    phrases: list[list[list[int]]], seed: int, beam: int, more: int, marks: Marks | None, patience: float | None
):
    sentences = [SearchInput([], (), each) for each in phrases]
    limit = max(sum(map(len, each)) for each in phrases) + 1 + more
    together = find(sentences, seed, beam, limit, marks, nbest=beam, patience=patience)
    for sentence, found in zip(sentences, together, strict=True):
        assert found
        for each in found:
            assert each.is_finished or not sentence.phrases
            assert not each.is_finished or holds(sentence.phrases, each.tokens, marks)
            if each.is_finished:
                assert each.log_prob == pytest.approx(Table.random(seed, 1).log_prob(each.tokens), abs=1e-5)
        (alone,) = find([sentence], seed, beam, limit, marks, nbest=beam, patience=patience)
        assert [each.tokens for each in found] == [each.tokens for each in alone]


@given(st.integers(0, 1000), st.integers(1, 5))
def test_without_phrases_it_is_plain_beam_search(seed: int, beam: int):
    sentences = [SearchInput([]), SearchInput([], (), [[4, 5, 6, 4, 5]])]
    found, _ = find(sentences, seed, beam, 9, nbest=beam)
    chosen = SearchSettings(beam=beam, nbest=beam, max_length=9)
    (plain,) = beam_search(
        lambda sources, return_attention: Table.random(seed, len(sources)), sentences[:1], chosen, StandardBeam(beam)
    )
    assert [each.tokens for each in found] == [each.tokens for each in plain]
    assert [each.score for each in found] == [each.score for each in plain]


def test_width_is_the_sentences_own():
    sentences = [SearchInput([]), SearchInput([], (), [[4, 5, 6], [4]])]
    chooser = ConstrainedBeam.of(sentences, 3, [9, 9])
    assert chooser.width == 10
    assert chooser.select(np.array([0])).width == 3


def test_where_there_is_no_room_as_much_as_possible_is_written():
    """A model that can write three words only; else there is always room for what must be there."""
    sentences = [SearchInput([], (), [[4, 5, 6, 6, 5]])]
    for longest, wanted in ((3, ([4, 5, 6], False)), (None, ([4, 5, 6, 6, 5], True))):
        settings = SearchSettings(beam=2, max_length=3)
        ((best,),) = search(lambda sources, _: Table.random(1, len(sources)), sentences, settings, longest=longest)
        assert (best.tokens, best.is_finished) == wanted


def test_what_must_be_there_may_be_there_again():
    sentences = [SearchInput([], (), [[4, 4], [4, 4, 4]])]
    settings = SearchSettings(beam=2, no_repeat_ngram=1, max_length=9)
    ((best,),) = search(lambda sources, _: Table.random(1, len(sources)), sentences, settings)
    assert holds([[4, 4], [4, 4, 4]], best.tokens)


def test_phrases_are_for_plain_beam_search():
    for way in ({"sample": True}, {"beam": 4, "groups": 2}):
        with pytest.raises(ConfigError, match="phrases must be searched for by plain beam search, got"):
            search(
                lambda sources, _: Table.random(1, len(sources)),
                [SearchInput([], (), [[4]])],
                SearchSettings.model_validate(way),
            )


@dataclass(frozen=True)
class Reader:
    """A model that writes 4 5 6 7 with attention to one source word each; 8 is equally unlikely everywhere."""

    step_number: int
    rows: int

    def step(self, tokens: Numbers) -> StepOutput:
        log_probs = np.full((self.rows, 9), -9.0, np.float32)
        log_probs[:, [4, 5, 6, 7, EOS_ID][min(self.step_number, 4)]] = -0.1
        weights = np.full((self.rows, 5), 0.02, np.float32)
        weights[:, min(self.step_number, 4)] = 0.9
        return StepOutput(log_probs, weights, Reader(self.step_number + 1, self.rows))

    def reorder(self, rows: Numbers) -> Self:
        return self.select(rows)

    def select(self, rows: Numbers) -> Self:
        return type(self)(self.step_number, len(rows))


def test_a_phrase_is_written_where_its_source_is_looked_at():
    settings = SearchSettings(beam=3, max_length=9)
    for place, wanted in ((1, [4, 8, 6, 7]), (2, [4, 5, 8, 7]), (3, [4, 5, 6, 8])):
        sentence = SearchInput([1, 1, 1, 1], (), [[8]], [[place]])
        ((best,),) = search(lambda sources, _: Reader(0, len(sources)), [sentence], settings)
        assert best.tokens == wanted
        assert best.log_prob == pytest.approx(-9.0 - 4 * 0.1, abs=1e-5), "log p has no credit in it"
        assert best.score == pytest.approx(best.log_prob / 5), "nor has the score"


@pytest.mark.parametrize("name", ["bahdanau2015-desk", "vaswani2017-desk"])
def test_with_real_models_every_phrase_is_there(name: str):
    engine = toy_engine(name)
    phrases = [[[5, 9]], [], [[6], [6], [10, 4, 5]], [[8, 8, 7]], [[4], [5]], [[9, 9, 9, 9, 9, 9]]]
    sentences = [SearchInput(source, (), wanted) for source, wanted in zip(SOURCES, phrases, strict=True)]
    chosen = SearchSettings(beam=3, nbest=3, max_length=12)
    chooser = ConstrainedBeam.of(sentences, 3, [12] * len(sentences))
    found = beam_search(engine.start, sentences, chosen, chooser, return_attention=True)
    for sentence, hypotheses in zip(sentences, found, strict=True):
        assert hypotheses
        for each in hypotheses:
            assert holds(sentence.phrases, each.tokens)
            (forced,) = engine.score([sentence.tokens], [each.tokens])
            assert math.isclose(each.log_prob, forced.log_prob, abs_tol=1e-5) or not each.is_finished


@dataclass(frozen=True)
class WordTable(Table):
    """A model of one word of two tokens, 4 and 6, before which token 5 is less likely than within it."""

    @classmethod
    def of(cls, rows: int) -> Table:
        scores = np.full((VOCAB, VOCAB, VOCAB), -20.0)
        scores[..., EOS_ID] = -8.0
        scores[:, BOS_ID, [4, 5]] = [0.0, -9.0]
        scores[:, 4, [6, 5]] = [0.0, -3.0]
        scores[:, 6, [EOS_ID, 5]] = [0.0, -6.0]
        scores[:, 5, EOS_ID] = 0.0
        scores -= np.log(np.exp(scores).sum(-1, keepdims=True))
        return cls(scores.astype(np.float32), np.zeros((rows, 2), np.int64))


@pytest.mark.parametrize(
    ("phrases", "limit", "wanted"), [([[5]], 9, [4, 6, 5]), ([[5], [5, 5]], 9, None), ([[5]], 3, [4, 5])]
)
def test_a_phrase_does_not_begin_within_a_word(phrases: list[list[int]], limit: int, wanted: list[int] | None):
    sentence = replace(SearchInput([4, EOS_ID], [], phrases), may_follow=boundaries())
    chooser = ConstrainedBeam.of([sentence], 5, [limit])
    settings_ = SearchSettings(beam=5, max_length=limit)
    ((best, *_),) = beam_search(
        lambda sources, return_attention: WordTable.of(len(sources)), [sentence], settings_, chooser
    )
    if wanted is None:
        assert "4, 5" not in str(list(best.tokens))
    else:
        assert list(best.tokens) == wanted
