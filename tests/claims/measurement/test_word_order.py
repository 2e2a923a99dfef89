"""Tasks on strings: their pairs, and what small models learn of them."""

from __future__ import annotations

import itertools
import random

import pytest

from claims.measurement.hard_attention import reversed_strings
from claims.measurement.reading_order import reading_order, updates_to
from claims.measurement.string_tasks import train_on_strings
from claims.measurement.toy_language import are_right, changes, sentence, toy_language
from claims.measurement.word_order import TASKS, word_order
from dragoman.api.notebook.tutorial_strings import share_right, small_config

LENGTHS = (3, 6)


def test_the_tasks_are_what_their_names_say():
    draw = random.Random(1)
    pairs = {name: [task(LENGTHS)(draw) for _ in range(50)] for name, task in TASKS.items()}
    assert all(3 <= len(source) <= 6 for some in pairs.values() for source, _ in some)
    assert all(source == target for source, target in pairs["copy"])
    assert all(source[::-1] == target for source, target in pairs["reverse"])
    for source, target in pairs["first"]:
        assert source.count("o") == source.count("p") == 1
        assert target == min("op", key=source.index)
    assert {target for _, target in pairs["first"]} == {"o", "p"}


def test_every_model_has_shares_of_all_tasks_and_lengths():
    samples = word_order(1, updates=1, test=3)
    names = ("rnn", "transformer", "no-positions")
    assert set(samples) == {f"{n} {task} {where}" for n in names for task in TASKS for where in ("trained", "longer")}
    assert all(len(shares) == 3 and 0 <= min(shares) <= max(shares) <= 1 for shares in samples.values())


@pytest.mark.slow
def test_a_recurrent_model_learns_to_copy_and_the_same_seed_gives_the_same_losses():
    config = small_config(32, decoder={"attend": "after"})
    draw = TASKS["copy"](LENGTHS)
    model, losses = train_on_strings(config, draw, 300, seed=1)
    drawn = random.Random(2)
    assert share_right(model, [draw(drawn) for _ in range(50)]) > 0.9
    assert train_on_strings(config, draw, 300, seed=1)[1] == losses


def test_the_toy_language_moves_adjectives_behind_their_nouns():
    draw = random.Random(1)
    for length in range(1, 9):
        source, target, order = sentence(length, draw)
        assert len(source) == len(target) == length
        assert "".join(source[place] for place in order) == target
        assert sorted(order) == list(range(length))
        for first, second in itertools.pairwise(source):
            assert first < "i" or second < "i"  # an adjective is before a noun
            if first >= "i":
                assert second + first in target


def test_the_toy_language_has_every_condition_of_its_claims():
    samples = toy_language(1, updates=2, test=4)
    for name in ("vector", "attention"):
        assert {f"{name} {longest}" for longest in (4, 8, 12, 16)} <= set(samples)
        assert {f"{name} linked", f"{name} ratio"} <= set(samples)
    assert samples["both right"] == [0.0]


def test_changes_of_a_model_that_ignores_its_source_are_none():
    model, _ = train_on_strings(small_config(8), TASKS["copy"](LENGTHS), 1, seed=1)
    for weight in model.encoder.parameters():
        weight.data.zero_()
    draw = random.Random(1)
    sentences = [sentence(4, draw) for _ in range(5)]
    assert changes(model, sentences, draw) == (0.0, 0.0)
    assert are_right(model, sentences) == [False] * 5


def test_the_updates_to_learn_are_the_first_low_mean_of_fifty():
    assert updates_to([1.0] * 100 + [0.0] * 100) == 145  # the mean of 5 of 1 and 45 of 0 is 0.1
    assert updates_to([1.0] * 100) == 200


def test_reading_orders_and_kinds_of_attention_are_all_measured():
    order = reading_order(1, updates=2, test=3)
    assert set(order) == {"forward", "reversed", "best", "forward updates", "reversed updates"}
    assert order["forward updates"] == [2.0]  # twice the training
    assert {name: len(values) for name, values in reversed_strings(1, 2, 3).items()} == {
        "soft": 3,
        "hard": 3,
        "none": 3,
    }
