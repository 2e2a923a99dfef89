"""The yardstick itself: tasks are what they say, sets are disjoint, and counting counts faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from dragoman.models import Model, Step
from dragoman.nn.attention import Alignment
from dragoman.text import EOS_ID
from testkit.toy_tasks import (
    COPY,
    REVERSE,
    REWRITE,
    SHORT_COPY,
    SYMBOLS,
    VOCABULARY,
    Budget,
    Sentence,
    Task,
    exact_match,
    learn,
    translate,
    well_aligned,
)
from tests.learning.small_models import small

TASKS = [REVERSE, COPY, SHORT_COPY, REWRITE]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
class TestTask:
    def test_keeps_the_sets_apart(self, task: Task) -> None:
        development, held_out = set(task.development), set(task.held_out)
        assert len(development) == len(held_out) == 256
        assert not development & held_out
        assert not (development | held_out) & set(islice(task.training(1), 20_000))

    def test_is_the_same_every_time(self, task: Task) -> None:
        assert task.held_out == task.held_out
        first, again, other = (list(islice(task.training(seed), 50)) for seed in (1, 1, 2))
        assert first == again != other

    def test_has_sentences_of_every_length(self, task: Task) -> None:
        lengths = set(range(task.shortest, task.longest + 1))
        assert {len(source) for source, _ in islice(task.training(1), 500)} == lengths
        assert {len(source) for source, _ in task.held_out + task.development} == lengths

    def test_stays_inside_the_vocabulary(self, task: Task) -> None:
        for source, target in task.held_out:
            assert len(source) == len(target)
            assert {*source, *target} <= set(SYMBOLS)


def test_translations_by_hand() -> None:
    assert REVERSE.translation((4, 5, 9)) == (9, 5, 4)
    assert COPY.translation((4, 5, 9)) == (4, 5, 9)
    assert [REVERSE.origin(step, 3) for step in range(3)] == [2, 1, 0]


def test_rewriting_depends_on_the_left_neighbour_only() -> None:
    after_even, after_odd = REWRITE.translation((4, 6)), REWRITE.translation((5, 6))
    assert after_even[1] != after_odd[1]
    assert REWRITE.translation((8, 6)) == (REWRITE.translation((8,))[0], after_even[1])
    one_to_one = {REWRITE.translation((symbol,)) for symbol in SYMBOLS}
    assert len(one_to_one) == len(SYMBOLS)


@dataclass(frozen=True)
class Reading:
    """The state of a `Parrot`: how many words it has written."""

    written: int


class Parrot:
    """A model that writes `answers[source]`, with attention to given positions."""

    def __init__(self, answers: dict[Sentence, Sentence], place: int) -> None:
        self.answers = answers
        self.place = place
        self.decoder = self

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[list[Sentence], int]:
        sentences = [tuple(row[: length - 1]) for row, length in zip(source.tolist(), lengths.tolist(), strict=True)]
        return [self.answers[sentence] for sentence in sentences], source.size(1)

    def start(self, memory: tuple[list[Sentence], int]) -> Reading:
        return Reading(0)

    def step(self, tokens: Tensor, state: Reading, memory: tuple[list[Sentence], int]) -> Step[Any]:
        answers, src = memory
        log_probs = torch.full((len(answers), VOCABULARY), -10.0)
        for row, answer in enumerate(answers):
            log_probs[row, answer[state.written] if state.written < len(answer) else EOS_ID] = 0.0
        weights = torch.zeros(len(answers), 1, src)
        weights[:, :, self.place] = 1.0
        return Step(log_probs, cast("Any", Reading(state.written + 1)), Alignment(weights))


def parrot(answers: dict[Sentence, Sentence], place: int = 0) -> Model[Any, Any]:
    return cast("Model[Any, Any]", Parrot(answers, place))


def share_exact(answers: Sequence[Sentence]) -> float:
    """The `exact_match` of answers to sources whose right translations are (4,), (4, 5) and (6, 7, 8)."""
    pairs = [((4,), (4,)), ((5, 4), (4, 5)), ((8, 7, 6), (6, 7, 8))]
    return exact_match(parrot(dict(zip([source for source, _ in pairs], answers, strict=True))), pairs)


def test_a_match_is_exact_or_none() -> None:
    assert share_exact([(4,), (4, 5), (6, 7, 8)]) == 1.0
    assert share_exact([(4,), (4, 5), (6, 7, 9)]) == pytest.approx(2 / 3), "a wrong symbol"
    assert share_exact([(4,), (4, 5, 5), (6, 7, 8)]) == pytest.approx(2 / 3), "a symbol too many"
    assert share_exact([(), (4,), (6, 7)]) == 0.0, "a symbol too few"


def test_a_translation_ends_at_its_end_or_is_cut_off() -> None:
    answers = {(4, 5): (7, 8), (4, 5, 6): (9,) * 50}
    short, endless = translate(parrot(answers, place=1), list(answers))
    assert short.target == (7, 8)
    assert short.places == (1, 1, 1)
    assert set(endless.target) == {9}
    assert len(endless.target) == 8


def test_alignment_counts_the_words_looked_at() -> None:
    answers = dict(COPY.held_out)
    assert well_aligned(parrot(answers, place=0), COPY) == pytest.approx(
        len(answers) / sum(len(source) for source in answers)
    ), "the first word of each sentence and no other"


def test_learning_stops_when_enough_is_learnt_and_at_the_latest_when_the_budget_is_spent() -> None:
    config = small("sutskever2014-desk")
    assert learn(config, SHORT_COPY, Budget(7, check_every=2, enough=0.0)).updates == 2
    assert learn(config, SHORT_COPY, Budget(7, check_every=2, enough=1.1)).updates == 7


def test_learning_is_repeatable() -> None:
    first, again, other = (
        torch.cat([weight.flatten() for weight in learn(config, SHORT_COPY, Budget(3)).model.state_dict().values()])
        for config in (small("sutskever2014-desk", f"training.seed={seed}") for seed in (1, 1, 2))
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
