"""A translation as it is written: all of it, nothing taken back, and over when nobody listens."""

import threading
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.api.request import Cancelled
from dragoman.text import Tokenizer, train_characters, train_words
from tests.unit.api.table_engine import subwords, table_translator

SUBWORDS = subwords()


def test_text_comes_piece_by_piece():
    translator, _ = table_translator({"a house": "das Haus ist klein"}, tokenizers=SUBWORDS)
    deltas = list(translator.translate_stream("a house"))
    assert len(deltas) > 3
    assert "".join(deltas) == "das Haus ist klein"
    assert all(deltas)


@given(st.text(st.sampled_from("ab .!\n我好é😀\x1b▁_\x00\u200d\r1"), max_size=40), st.booleans())
@settings(deadline=None)
def test_joined_it_is_the_whole(text: str, split: bool):
    translator, _ = table_translator(tokenizers=SUBWORDS)
    assert "".join(translator.translate_stream(text, split=split)) == translator.translate(text, split=split).text


@given(st.lists(st.integers(0, SUBWORDS["target"].size - 1), max_size=12))
def test_what_is_certain_never_changes(pieces: list[int]):
    translator, _ = table_translator(tokenizers=SUBWORDS)
    texts = [translator._target.certain(pieces[:end]) for end in range(len(pieces) + 1)]
    for before, after in pairwise(texts):
        assert after.startswith(before)


@pytest.mark.parametrize("train", [train_words, train_characters])
def test_other_tokenizers(train):
    tokenizer: Tokenizer = train(["the house is small."], size=None)
    translator, _ = table_translator(tokenizers={"source": tokenizer, "target": tokenizer})
    text = "the house. is (unknown) small!\nthe é house"
    assert "".join(translator.translate_stream(text)) == translator.translate(text).text


def test_closing_ends_the_search_within_a_step():
    translator, engine = table_translator(other=lambda text: text * 50, tokenizers=SUBWORDS, engine={"seconds": 0.002})
    stream = translator.translate_stream("the house is small ")
    assert isinstance(stream, Iterator)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    steps = engine.steps
    time.sleep(0.05)
    assert engine.steps == steps < 50
    assert not [thread for thread in threading.enumerate() if thread.name == "dragoman-stream"]


def test_an_event_ends_it():
    cancelled = threading.Event()
    translator, engine = table_translator(other=lambda text: text * 50, tokenizers=SUBWORDS, engine={"seconds": 0.002})
    stream = translator.translate_stream("the house is small", cancelled=cancelled)
    next(stream)
    cancelled.set()
    with pytest.raises(Cancelled):
        list(stream)
    assert engine.steps < 100


def test_what_goes_wrong_is_raised_where_somebody_listens(monkeypatch: pytest.MonkeyPatch):
    translator, engine = table_translator(tokenizers=SUBWORDS)
    monkeypatch.setattr(engine, "table", None)
    with pytest.raises(TypeError):
        list(translator.translate_stream("a house"))


def test_nothing_begins_before_somebody_listens():
    translator, engine = table_translator(tokenizers=SUBWORDS)
    translator.translate_stream("a house")
    assert engine.batches == []
