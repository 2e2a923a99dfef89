"""Streamed translations: complete, never retracted, and cancelled when the consumer stops."""

import random
import threading
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.api.translation.options import TranslateOptions, TranslationCancelled
from dragoman.text import Tokenizer, train_characters, train_words
from tests.unit.api.table_engine import subwords, table_translator

SUBWORDS = subwords()
TEXTS = st.lists(
    st.sampled_from(["the house is small.", "a house", "1 2 3", "你好。", "small!", "\n", " "]), max_size=5
).map(" ".join)


def test_text_comes_token_by_token():
    translator, _ = table_translator({"a house": "das Haus ist klein"}, tokenizers=SUBWORDS)
    deltas = list(translator.translate_stream("a house"))
    assert len(deltas) > 3
    assert "".join(deltas) == "das Haus ist klein"
    assert all(deltas)


@given(st.text(st.sampled_from("ab .!\n我好é😀\x1b▁_\x00\u200d\r1"), max_size=40), st.booleans())
@settings(deadline=None)
def test_parts_joined_are_the_translation(text: str, split: bool):
    translator, _ = table_translator(tokenizers=SUBWORDS)
    assert (
        "".join(translator.translate_stream(text, split_sentences=split))
        == translator.translate(text, split_sentences=split).text
    )


@given(st.lists(st.integers(0, SUBWORDS["target"].size - 1), max_size=12))
def test_stable_text_only_grows(tokens: list[int]):
    translator, _ = table_translator(tokenizers=SUBWORDS)
    texts = [translator.postprocessor.stable_text(tokens[:end]) for end in range(len(tokens) + 1)]
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


def test_event_cancels_the_stream():
    cancelled = threading.Event()
    translator, engine = table_translator(other=lambda text: text * 50, tokenizers=SUBWORDS, engine={"seconds": 0.002})
    stream = translator.translate_stream("the house is small", cancelled=cancelled)
    next(stream)
    cancelled.set()
    with pytest.raises(TranslationCancelled):
        list(stream)
    assert engine.steps < 100


def test_errors_are_raised_in_the_consumer(monkeypatch: pytest.MonkeyPatch):
    translator, engine = table_translator(tokenizers=SUBWORDS)
    monkeypatch.setattr(engine, "table", None)
    with pytest.raises(TypeError):
        list(translator.translate_stream("a house"))


def test_search_starts_with_the_first_read():
    translator, engine = table_translator(tokenizers=SUBWORDS)
    translator.translate_stream("a house")
    assert engine.batches == []


@given(TEXTS, st.integers(0, 1000))
@settings(deadline=None)
def test_chunks_in_any_order_give_the_text_in_order(text: str, seed: int):
    translator, _ = table_translator(tokenizers=SUBWORDS)
    wanted = translator.translate(text).text
    (prepared,) = translator.prepare([text], TranslateOptions())
    detokenizer = translator.detokenizer(prepared)
    parts = [detokenizer.start()]
    if prepared.pending:
        translator.search(prepared.pending, prepared.options)
    draw = random.Random(seed)
    places = [place for place, chunk in enumerate(prepared.chunks) if chunk.search_input is not None]
    left = dict.fromkeys(places, 0)
    while left:
        place = draw.choice(list(left))
        tokens = prepared.chunks[place].hypotheses[0].tokens
        left[place] += draw.randint(0, 3)
        if left[place] < len(tokens):
            parts.append(detokenizer.update(place, tokens[: left[place]]))
        else:
            del left[place]
            parts.append(detokenizer.finish(place))
        assert wanted.startswith("".join(parts))
    assert detokenizer.is_finished
    assert "".join(parts) == wanted == translator.assemble(prepared).text


def test_a_later_chunk_is_held_back():
    translator, _ = table_translator({"a house": "das Haus"}, tokenizers=SUBWORDS)
    (prepared,) = translator.prepare(["a house\na house"], TranslateOptions())
    translator.search(prepared.pending, prepared.options)
    detokenizer = translator.detokenizer(prepared)
    assert detokenizer.start() == ""
    assert detokenizer.update(1, prepared.chunks[1].hypotheses[0].tokens) == ""
    assert detokenizer.finish(0) == "das Haus\ndas Haus"
    assert not detokenizer.is_finished
    assert detokenizer.finish(1) == ""
    assert detokenizer.is_finished
