"""The direction of a model with several, by its languages."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from dragoman.api.translation.translator import Translator
from dragoman.config import Config, load_config, parse_config
from dragoman.engines.directions import choose_direction, in_direction
from dragoman.errors import ConfigError
from dragoman.text import Tokenizer, train_sentencepiece
from dragoman.text.glossary import Glossary
from tests.unit.api.table_engine import TEXT, TableEngine

SIX = [(one, other) for one in ("en", "de", "fr") for other in ("en", "de", "fr") if one != other]
AROUND_ENGLISH = [("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en")]


@pytest.mark.parametrize(
    ("directions", "source", "target", "chosen"),
    [
        (SIX, "en", "fr", ("en", "fr")),
        (SIX, "EN", "fr-CA", ("en", "fr")),
        (AROUND_ENGLISH, "de", None, ("de", "en")),
        (AROUND_ENGLISH, None, "fr", ("en", "fr")),
        (AROUND_ENGLISH, "de", "fr", ("de", "fr")),
        ([("en", "de")], None, None, ("en", "de")),
    ],
)
def test_the_chosen_direction(directions: list[Any], source: str, target: str, chosen: tuple[str, str]):
    assert choose_direction(directions, source, target) == chosen


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (None, None, r"one direction of the model \(en → de, de → en, .*\); name both"),
        ("en", None, r"\(en → de, en → fr\), got en → \?; name both"),
        ("en", "zh", "got en → zh; name one of these, or another model"),
        ("de", "de", "got de → de; name one of these"),
    ],
)
def test_what_is_no_direction(source: str | None, target: str | None, message: str):
    with pytest.raises(ConfigError, match=message):
        choose_direction(AROUND_ENGLISH, source, target)


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    tokenizer = train_sentencepiece(TEXT, size=345, control_tokens=["<2de>", "<2en>", "<2fr>"])
    return {"source": tokenizer, "target": tokenizer}


def config(place: str) -> Config:
    corpora = [{"files": ["a", "b"], "languages": ["en", other], "both_directions": True} for other in ("de", "fr")]
    data = {"train": corpora, "language_tokens": place}
    return parse_config(load_config("luong2015-desk").model_dump(exclude_none=True) | {"data": data})


def translator(tokenizers: dict[str, Tokenizer], place: str) -> tuple[Translator, TableEngine]:
    engine = TableEngine(tokenizers)
    return Translator(engine, config(place), tokenizers), engine


def test_source_tokens_name_the_target_language(tokenizers: dict[str, Tokenizer]):
    both, engine = translator(tokenizers, "source")
    both.translate("the house", source="en", target="fr")
    (sentence,) = engine.batches[-1]
    assert sentence.tokens[0] == tokenizers["source"].token_to_id("<2fr>")
    assert list(sentence.prefix) == []


def test_target_tokens_begin_the_translation(tokenizers: dict[str, Tokenizer]):
    both, engine = translator(tokenizers, "both")
    both.translate("the house", source="en", target="de", prefix="das")
    (sentence,) = engine.batches[-1]
    find = tokenizers["source"].token_to_id
    assert sentence.tokens[0] == find("<2en>")
    assert tuple(sentence.prefix) == (find("<2de>"), *tokenizers["target"].encode("das"))


def test_translators_of_directions_share_the_engine(tokenizers: dict[str, Tokenizer]):
    both, engine = translator(tokenizers, "source")
    to_french = both.direction("en", "fr")
    assert both.direction("EN", "fr") is to_french
    assert to_french.engine is engine
    assert (to_french.languages, to_french.directions) == (("en", "fr"), (("en", "fr"),))
    assert to_french.direction() is to_french
    assert both.directions == tuple(AROUND_ENGLISH)
    with pytest.raises(ConfigError, match=r"\); name both languages"):
        both.translate("the house")
    with pytest.raises(ConfigError, match="got en → de; name one of these, or another model"):
        to_french.direction("en", "de")


def test_a_translator_of_one_direction_is_in_any(tokenizers: dict[str, Tokenizer]):
    """A test set may be named by other codes than the model."""
    both, _ = translator(tokenizers, "source")
    to_french = in_direction(both, ("en", "fr"))
    assert to_french is both.direction("en", "fr")
    assert in_direction(to_french, ("en", "xx")) is to_french
    with pytest.raises(ConfigError, match="got en → xx; name one of these"):
        in_direction(both, ("en", "xx"))


def test_a_glossary_of_the_model_is_that_of_its_directions(tokenizers: dict[str, Tokenizer]):
    glossary = Glossary({"house": "Haus"})
    opened = Translator(TableEngine(tokenizers), config("both"), tokenizers, glossary=glossary)
    assert opened.direction("en", "de").glossary is glossary


def test_no_cycle_keeps_the_engine(tokenizers: dict[str, Tokenizer]):
    """A server unloads models, and reference cycles are not collected there."""
    engine = TableEngine(tokenizers)
    gone, both = weakref.ref(engine), Translator(engine, config("both"), tokenizers)
    both.direction("en", "fr").translate("the house")
    gc.disable()
    try:
        del both, engine
        assert gone() is None
    finally:
        gc.enable()


def test_untrained_pairs_of_trained_languages_are_translated(tokenizers: dict[str, Tokenizer]):
    both, engine = translator(tokenizers, "source")
    assert both.direction("de", "fr").languages == ("de", "fr")
    both.translate("das Haus", source="de", target="fr")
    assert engine.batches[-1][0].tokens[0] == tokenizers["source"].token_to_id("<2fr>")
