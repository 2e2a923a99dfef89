"""A TOML file of any content is parsed or refused in time and memory linear in its size, with one line."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from dragoman.config import load_config
from dragoman.config.base import parse_toml
from dragoman.errors import ConfigError
from testkit.growth import growth

HOSTILE = {
    "a key of many parts": "a" + ".a" * 50_000 + " = 1",
    "the same with spaces": "a" + " \t. a" * 50_000 + " = 1",
    "a table of many parts": "[a" + ".'b'" * 50_000 + "]",
    "an inline table of many parts": "a = {a" + ".a" * 50_000 + " = 1}",
    "arrays in arrays": "a = " + "[" * 50_000,
    "a number of many digits": "a = " + "9" * 50_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused_in_one_line(text: str, tmp_path: Path):
    path = tmp_path / "dragoman.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load_config(path)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("unit", ["a", "a.", "a ", "a. ", '"', "\t.", "a.b = 1\n", "'a'.", "[a]\n"])
def test_the_time_is_linear(unit: str):
    def parse(size: int) -> None:
        with suppress(ConfigError):
            parse_toml(unit * (size // len(unit)), "a.toml")

    assert growth(parse, 20_000, factor=8) <= 2.5**3


def test_a_file_that_never_ends_is_refused(tmp_path: Path):
    path = tmp_path / "dragoman.toml"
    path.symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="has more than"):
        load_config(path)


def test_settings_that_look_like_keys_are_accepted():
    assert parse_toml("a.b.c = 1\nd = '" + "x." * 20 + "'", "a.toml") == {"a": {"b": {"c": 1}}, "d": "x." * 20}
