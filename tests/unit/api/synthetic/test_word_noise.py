"""Noise of words: a function of the text, the settings and the line number, within its limits."""

from __future__ import annotations

import statistics

import pytest

from dragoman.api.synthetic.settings import BLANK, NoiseSettings
from dragoman.api.synthetic.word_noise import noisy
from dragoman.config.validation_errors import validate
from dragoman.errors import ConfigError

TEXT = " ".join(f"w{number}" for number in range(20))


def settings(drop: float = 0.0, blank: float = 0.0, swap: int = 0, seed: int = 1) -> NoiseSettings:
    return NoiseSettings(noise=True, noise_drop=drop, noise_blank=blank, noise_swap=swap, noise_seed=seed)


def test_no_noise_changes_nothing():
    assert noisy(TEXT, settings(), 3) == TEXT


def test_draws_depend_on_seed_and_number_alone():
    every = NoiseSettings(noise=True)
    assert noisy(TEXT, every, 7) == noisy(TEXT, every, 7)
    assert len({noisy(TEXT, every, number) for number in range(20)}) == 20
    assert noisy(TEXT, every, 7) != noisy(TEXT, settings(0.1, 0.1, 3, seed=2), 7)


def test_words_move_by_at_most_the_limit():
    farthest = 0
    for number in range(200):
        words = noisy(TEXT, settings(swap=3), number).split()
        assert sorted(words) == sorted(TEXT.split())
        farthest = max([farthest, *(abs(int(word[1:]) - place) for place, word in enumerate(words))])
    assert farthest == 3


def test_rates_are_those_of_the_settings():
    dropped = [20 - len(noisy(TEXT, settings(drop=0.1), number).split()) for number in range(500)]
    blanks = [noisy(TEXT, settings(blank=0.2), number).count(BLANK) for number in range(500)]
    assert statistics.fmean(dropped) == pytest.approx(2, abs=0.25)
    assert statistics.fmean(blanks) == pytest.approx(4, abs=0.35)


def test_a_text_is_never_empty():
    assert {noisy("one", settings(drop=0.99), number) for number in range(50)} == {"one"}
    assert noisy("", settings(drop=0.99), 0) == ""


def test_scripts_without_spaces_get_none():
    assert noisy("我用Python写 code", settings(), 0) == "我用Python写code"
    assert " " not in noisy("我们今天去公园", settings(drop=0.3, swap=3), 0)


def test_settings_of_noise_require_noise():
    with pytest.raises(ConfigError, match="noise_drop must come with noise"):
        validate(NoiseSettings, {"noise_drop": 0.3})
