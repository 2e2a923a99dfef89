"""Every direction between some languages, and language tokens with names of their own."""

import time
from typing import Any

import pytest

from dragoman.config import parse_config
from dragoman.config.corpus import DataConfig
from dragoman.errors import ConfigError
from dragoman.text.language_tokens import begin_tokens, language_tokens


def data(**settings: Any) -> DataConfig:
    config = parse_config({"data": {"source": "en", "target": "de", **settings}, "model": {"family": "transformer"}})
    assert config.data is not None
    return config.data


def test_every_direction_between_languages():
    found = data(languages=["en", "deu", "zh_Hant"])
    assert found.all_directions() == [
        ("en", "de"),
        ("en", "zh-Hant"),
        ("de", "en"),
        ("de", "zh-Hant"),
        ("zh-Hant", "en"),
        ("zh-Hant", "de"),
    ]
    assert found.is_multilingual
    assert begin_tokens(found, ("en", "de")) == (("<2de>",), ())


def test_200_languages_take_no_time():
    codes = [f"{first}{second}q" for first in "abcdefghijklmnopqrst" for second in "bcdfghjkln"]
    found = data(languages=codes)
    assert len(found.all_directions()) == 39_800
    start = time.process_time()
    assert all(found.is_multilingual for _ in range(1000))
    assert len(found.all_directions()) == 39_800
    assert time.process_time() - start < 1.0


def test_tokens_have_names_of_their_own():
    names = ["de:deu_Latn", "en:eng_Latn"]
    found = data(languages=["en", "de", "fr"], language_tokens="both", language_token_names=names)
    assert begin_tokens(found, ("en", "de")) == (("eng_Latn",), ("deu_Latn",))
    assert begin_tokens(found, ("en", "fr")) == (("eng_Latn",), ("<2fr>",))
    assert language_tokens(found) == ["<2fr>", "deu_Latn", "eng_Latn"]


def test_tokens_of_one_direction():
    assert begin_tokens(data(), ("en", "de")) == ((), ())
    found = data(language_tokens="target", language_token_names=["de:__de__"])
    assert found.is_multilingual
    assert begin_tokens(found, ("en", "de")) == ((), ("__de__",))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"languages": ["en", "de"], "directions": ["en:de"]}, "data.languages must be left out where data.directions"),
        ({"languages": ["en", "eng"]}, "data.languages must differ, got en, en"),
        ({"language_token_names": ["de"]}, "must have a language and a name of up to 60 characters, got 'de'"),
        ({"language_token_names": ["de:a b"]}, "must have a language and a name"),
        ({"language_token_names": ["de:x", "en:x"]}, "each language and token once, got 'x' twice; keep one of both"),
        ({"language_token_names": ["de:x", "deu:y"]}, "each language and token once, got 'de' twice; keep one"),
    ],
)
def test_mistakes(settings: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        data(**settings)
