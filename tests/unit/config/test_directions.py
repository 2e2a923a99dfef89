"""Directions of a configuration: from corpora, or named."""

import time
from typing import Any

import pytest
from pydantic import ValidationError

from dragoman.config import DataConfig
from dragoman.config.corpus import CorpusConfig, parse_direction
from dragoman.errors import ConfigError
from dragoman.text.language_tokens import begin_tokens, language_tokens

THREE: dict[str, Any] = {"files": ["a.en", "a.de", "a.fr"], "languages": ["en", "de", "fr"]}


def data(*corpora: dict[str, Any], **settings: Any) -> DataConfig:
    return DataConfig.model_validate({"train": list(corpora), **settings})


def test_one_corpus_of_two_languages_is_one_direction():
    found = data({"files": ["a.en", "a.de"]}, source="en", target="de")
    assert found.all_directions() == [("en", "de")]
    assert not found.is_multilingual
    assert language_tokens(found) == []
    assert begin_tokens(found, ("en", "de")) == ((), ())


def test_three_languages_are_six_directions():
    found = data(THREE)
    assert found.all_directions() == [
        ("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en"), ("de", "fr"), ("fr", "de"),
    ]  # fmt: skip
    assert [corpus.files for corpus in found.train_pairs()] == [
        ["a.en", "a.de"], ["a.en", "a.fr"], ["a.de", "a.fr"],
    ]  # fmt: skip
    assert language_tokens(found) == ["<2de>", "<2en>", "<2fr>"]


def test_directions_are_listed_without_copies_of_corpora(monkeypatch: pytest.MonkeyPatch):
    corpora = [data(THREE | {"both_directions": both}).train[0] for both in (None, True, False)]
    found = data(THREE)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a copy")

    monkeypatch.setattr(CorpusConfig, "model_copy", refuse)
    default, both, one = map(found.directions_of, corpora)
    assert default == both == found.all_directions()
    assert one == [("en", "de"), ("en", "fr"), ("de", "fr")]


def test_40_000_named_directions_take_no_time():
    codes = [f"{first}{second}q" for first in "abcdefghijklmnopqrst" for second in "bcdfghjkln"]
    found = data(
        directions=[f"{one}:{other}" for one in codes for other in codes if one != other], source="en", target="de"
    )
    start = time.process_time()
    assert all(len(found.all_directions()) == 39_800 for _ in range(20))
    assert time.process_time() - start < 1.0


def test_the_main_direction_is_that_of_the_first_corpus():
    assert (data(THREE).source, data(THREE).target) == ("en", "de")
    assert data({"files": ["a", "b"], "languages": ["fr", "de"]}, source="de", target="fr").source == "de"
    with pytest.raises(ValidationError, match="source"):
        data({"files": ["a", "b"]})


def test_a_share_is_divided_among_the_pairs_of_languages():
    found = data(THREE | {"share": 0.3}, {"files": ["c", "d"]}, source="en", target="de").train_pairs()
    assert [each.share for each in found] == [pytest.approx(0.1)] * 3 + [None]


def test_held_out_sets_may_have_several_languages():
    found = data(THREE, validation=THREE, test=[THREE])
    assert len(found.validation_sets()) == len(found.test_sets()) == 3
    assert data(THREE, directions=["en:de", "en:de"]).all_directions() == [("en", "de")]


def test_a_corpus_can_be_of_one_direction_or_both():
    corpora: list[dict[str, Any]] = [
        {"files": ["a", "b"], "languages": ["en", "de"], "both_directions": True},
        {"files": ["c", "d"], "languages": ["fr", "en"]},
    ]
    assert data(*corpora).all_directions() == [("en", "de"), ("de", "en"), ("fr", "en")]


def test_validation_sets_of_corpora_follow_the_common_one():
    own = THREE | {"validation": ["v.en", "v.de", "v.fr"]}
    found = data(own, validation={"files": ["w.en", "w.de"]})
    assert [each.files for each in found.validation_sets()] == [
        ["w.en", "w.de"], ["v.en", "v.de"], ["v.en", "v.fr"], ["v.de", "v.fr"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "source", "target"),
    [(None, ("<2de>",), ()), ("source", ("<2de>",), ()), ("target", (), ("<2de>",)), ("both", ("<2en>",), ("<2de>",))],
)
def test_language_tokens_begin_either_side(place: str | None, source: tuple[str, ...], target: tuple[str, ...]):
    assert begin_tokens(data(THREE, language_tokens=place), ("en", "de")) == (source, target)


def test_named_directions_replace_those_of_the_corpora():
    found = data(directions=["en:de", "EN:fr"], source="en", target="de")
    assert found.all_directions() == [("en", "de"), ("en", "fr")]
    with pytest.raises(ConfigError, match=r"two languages with a colon, got 'en-de'; write"):
        parse_direction("en-de")
    with pytest.raises(ConfigError, match=r"two languages with a colon, got 'en-de'; write"):
        data(directions=["en-de"], source="en", target="de")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"languages": ["en", "de", "en"]}, "languages must differ, got en, de, en"),
        ({"files": ["a.tsv"]}, "one text file per language, got 1 files of the format auto"),
        ({"format": "tmx"}, "one text file per language, got 3 files of the format tmx"),
        ({"validation": ["v.en", "v.de"]}, "one text file per language, got 2 files"),
    ],
)
def test_what_a_corpus_of_three_languages_must_have(change: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        data(THREE | change)
