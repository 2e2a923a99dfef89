"""The translator around an engine: what goes in, what comes out, in which order."""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dragoman.api.translation.forced_decoding import MAX_SCORED_TOKENS
from dragoman.api.translation.options import PairError, TranslationCancelled
from dragoman.api.translation.translation import Translation, join_sentences
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError, DataError
from dragoman.text import Tokenizer
from tests.unit.api.table_engine import TableEngine, languages, table_translator

HOUSE = {"the house is small": "das Haus ist klein", "a house": "ein Haus"}


def test_a_sentence(tokenizers: dict[str, Tokenizer]):
    translator, engine = table_translator(HOUSE, tokenizers=tokenizers)
    found = translator.translate("the house is small")
    assert found == Translation(
        "the house is small",
        "das Haus ist klein",
        -0.5,
        -1.0,
        tuple(tokenizers["target"].tokens("das Haus ist klein")),
    )
    assert [sentence.tokens for sentence in engine.batches[0]] == [tokenizers["source"].encode("the house is small")]


def test_results_come_in_the_order_of_the_texts(tokenizers: dict[str, Tokenizer]):
    translator, engine = table_translator(other=str.upper, tokenizers=tokenizers, batch_tokens=40)
    texts = ["a " * (number * 7 % 23) + "b" for number in range(100)]
    assert [found.text for found in translator.translate(texts, split_sentences=False)] == [
        text.upper() for text in texts
    ]
    lengths = [[len(sentence.tokens) for sentence in batch] for batch in engine.batches]
    flat = [length for batch in lengths for length in batch]
    assert flat == sorted(flat, reverse=True), "like lengths are translated together"
    assert all(len(batch) == 1 or len(batch) * (batch[0] + 1) <= 40 for batch in lengths)
    assert translator.translate([]) == []


def test_a_wide_beam_has_fewer_sentences_in_a_batch(tokenizers: dict[str, Tokenizer]):
    translator, engine = table_translator(tokenizers=tokenizers, batch_tokens=100)
    for beam in (1, 5, 20):
        translator.translate(["a house"] * 64, search=SearchSettings(beam=beam), split_sentences=False)
        engine.batches, sizes = [], [len(batch) for batch in engine.batches]
        assert max(sizes) == (100 if beam <= 5 else 25) // (len(tokenizers["source"].encode("a house")) + 1)


@pytest.mark.parametrize("text", ["", " ", "123", "1,5 € + 2 %", "…!?", "😀👍", "\n\t\n", "\x00\x00", "1\n\n2 ", "①½"])
@pytest.mark.parametrize("split", [True, False])
def test_what_holds_no_letters_passes_untouched(text: str, split: bool, tokenizers: dict[str, Tokenizer]):
    translator, engine = table_translator(other=lambda _: "wrong", tokenizers=tokenizers)
    assert translator.translate(text, split_sentences=split).text == text
    assert "".join(translator.translate_stream(text, split_sentences=split)) == text
    assert engine.batches == []


def test_what_passes_is_aligned_with_itself(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    found = translator.translate("12 34", alignment=True)
    assert (found.source_words, found.alignment) == (("12", "34"), ((0, 0), (1, 1)))


@pytest.mark.parametrize(
    "text", ["مرحبا بالعالم", "我用Python写。", "a 😀 b 👩‍👩‍👧", "a\x00b", "Ὀδυσσεύς", "हिन्दी", "a ▁ \x1b b", "ﬁ é"]
)
def test_any_script_goes_through(text: str, tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    normal = translator.preprocessor.normalize(text)
    found = translator.translate(text, alignment=True, attention=True, flags=True)
    assert found.text == normal
    assert found.alignment is not None
    assert json.loads(json.dumps(found.to_json()))["text"] == normal


def test_a_lone_surrogate_is_refused(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    for text in ("a\ud800b", "\udfff"):
        for split in (True, False):
            with pytest.raises(DataError, match="lone surrogate"):
                translator.translate(text, split_sentences=split)


@pytest.mark.parametrize(
    ("given", "got"),
    [(None, "NoneType"), (3, "int"), (["a", None], "NoneType"), (b"a", "bytes"), ({"a": "b"}, "dict")],
)
def test_what_is_no_text_is_named(given: Any, got: str, tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(HOUSE, tokenizers=tokenizers)
    with pytest.raises(DataError, match=f"a text must be a string, and several a list of strings, got {got};"):
        translator.translate(given)


def test_text_is_normalised_as_in_training(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator({"é x": "gut"}, tokenizers=tokenizers)
    assert translator.translate("e\u0301 \t x\ufeff", split_sentences=False).text == "gut"


def test_what_is_written_is_one_line(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator({"a house": " ein\nHaus\x00 "}, tokenizers=tokenizers)
    assert translator.translate("a house").text == "ein Haus"


def test_sentences_are_translated_one_by_one(tokenizers: dict[str, Tokenizer]):
    table = {"Yes it is.": "Ja.", "The house is small.": "Das Haus ist klein."}
    translator, engine = table_translator(table, tokenizers=tokenizers)
    text = "  The house is small. Yes it is.\n\n12\nYes it is. \n"
    found = translator.translate(text, alignment=True)
    assert found.text == "  Das Haus ist klein. Ja.\n\n12\nJa. \n"
    assert [each.text for each in found.sentences] == ["Das Haus ist klein.", "Ja.", "12", "Ja."]
    assert found.source == text
    assert found.log_prob == -3.0
    assert found.score == pytest.approx(-0.5)
    assert found.source_words == tuple(text.split())
    assert found.target_words == tuple(found.text.split())
    assert found.alignment is not None
    assert (7, 5) in found.alignment, "the number is linked with itself"
    assert sum(map(len, engine.batches)) == 3
    assert [each.text for each in translator.translate([text, "Yes it is."], split_sentences=True)] == [
        found.text,
        "Ja.",
    ]


@pytest.mark.parametrize(
    ("source", "target", "text", "table", "expected"),
    [
        ("zh", "en", "你好。我很好！\n12", {"你好。": "Hello.", "我很好！": "I am fine!"}, "Hello. I am fine!\n12"),
        ("en", "zh", "Hello there. So am I!", {"Hello there.": "你好。", "So am I!": "我很好！"}, "你好。我很好！"),
    ],
)
def test_chinese(
    source: str, target: str, text: str, table: dict[str, str], expected: str, tokenizers: dict[str, Tokenizer]
):
    translator, _ = table_translator(table, tokenizers=tokenizers, config=languages(source, target))
    assert translator.translate(text).text == expected
    assert "".join(translator.translate_stream(text)) == expected


def test_a_sentence_that_is_too_long_is_translated_in_parts(tokenizers: dict[str, Tokenizer]):
    translator, engine = table_translator(tokenizers=tokenizers)
    text = "the house is small " * 500
    for split in (True, False):
        found = translator.translate(text.strip(), split_sentences=split)
        assert found.text == text.strip()
        assert found.is_cut
    assert max(len(sentence.tokens) for batch in engine.batches for sentence in batch) <= 512
    assert not translator.translate("a house").is_cut


def test_parts_without_letters_pass_where_a_sentence_is_cut(tokenizers: dict[str, Tokenizer]):
    translator, engine = table_translator(other=str.upper, tokenizers=tokenizers)
    text = "a " * 50 + "1 " * 3000 + "b"
    found = translator.translate(text, split_sentences=False)
    assert found.text == text.upper()
    assert found.is_cut
    letters = [tokenizers["source"].decode(each.tokens) for batch in engine.batches for each in batch]
    assert all(any(map(str.isalpha, each)) for each in letters)
    assert len(letters) == 2


def test_one_endless_word_is_translated_in_parts(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    for text in ("x" * 20_000, "好" * 5_000):
        assert translator.translate(text).text == text
        assert translator.translate(text, split_sentences=False).is_cut


def test_many_lines(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    for text in ("\n" * 100_000, "a\n" * 5_000, " \n1" * 20_000):
        assert translator.translate(text).text == text


def test_learnt_positions_bound_what_is_read_at_once(tokenizers: dict[str, Tokenizer]):
    config = languages("en", "de", "vaswani2017-desk")
    model = config.model.model_copy(update={"positions": "learned", "max_positions": 10})
    translator, engine = table_translator(tokenizers=tokenizers, config=config.model_copy(update={"model": model}))
    text = "the house is small a small house is the house"
    assert translator.translate(text).text == text
    assert max(len(sentence.tokens) for batch in engine.batches for sentence in batch) <= 9, "and its end"


def test_alternatives(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(HOUSE, tokenizers=tokenizers)
    found = translator.translate("a house", nbest=2, alignment=True)
    assert [each.score for each in found.nbest] == [-0.5, -1.5]
    assert found.nbest[0].text == found.text == "ein Haus"
    assert found.to_json()["nbest"][1]["score"] == -1.5
    assert translator.translate("a house").nbest == ()
    with pytest.raises(ConfigError, match="nbest must be at most the beam"):
        translator.translate("a house", nbest=6)
    with pytest.raises(ConfigError, match="nbest must be greater than or equal to 1"):
        translator.translate("a house", nbest=0)


def test_settings_of_a_call(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(HOUSE, tokenizers=tokenizers, search=SearchSettings(max_length=2))
    assert translator.translate("the house is small").is_truncated
    assert not translator.translate("the house is small", search=SearchSettings()).is_truncated
    with pytest.raises(TypeError, match="beams"):
        translator.translate("a house", beams=3)  # type: ignore[call-overload]


def test_words_links_weights_and_flags(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator({"a house 12": "ein Haus 13"}, tokenizers=tokenizers)
    found = translator.translate("a house 12", alignment=True, attention=True, flags=True)
    assert found.source_words == ("a", "house", "12")
    assert found.target_words == ("ein", "Haus", "13")
    assert found.alignment is not None
    assert found.weights is not None
    assert len(found.weights) == 3
    assert {len(row) for row in found.weights} == {3}
    assert "numbers" in {flag.name for flag in found.flags or ()}
    value = json.loads(json.dumps(found.to_json()))
    assert value["alignment"] == [list(link) for link in found.alignment]
    assert {"name", "detail"} == set(value["flags"][0])


def test_a_model_without_attention_has_no_links(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(HOUSE, tokenizers=tokenizers, engine={"attends": False})
    found = translator.translate("a house", alignment=True, attention=True, flags=True)
    assert (found.text, found.alignment, found.weights) == ("ein Haus", None, None)
    with pytest.raises(ConfigError, match="attention"):
        translator.align(["a house"], ["ein Haus"])


def test_unknown_words_come_from_the_source(words: dict[str, Tokenizer]):
    translator, engine = table_translator({"in<unk>": "in Bangui"}, tokenizers=words)
    engine.table = {words["source"].decode(words["source"].encode("in Bangui")): "in Xyz"}
    found = translator.translate("in Bangui", split_sentences=False)
    assert found.text == "in Bangui"
    assert found.tokens == ("▁in", "<unk>")
    assert translator.translate("in Bangui", alignment=True).target_words == ("in", "Bangui")
    assert "".join(translator.translate_stream("in Bangui")) == "in Bangui"
    assert len(engine.scored) == 2, "maps are asked for where they are missing"


def test_unknown_words_stay_where_nothing_tells_their_source(words: dict[str, Tokenizer]):
    translator, engine = table_translator(other=lambda _: "in Xyz", tokenizers=words, engine={"attends": False})
    for _ in range(3):
        assert translator.translate("in Bangui").text == "in <unk>"
    assert len(engine.scored) == 1, "it is asked once whether there are maps"


def test_many_samples_have_fewer_sentences_in_a_batch(tokenizers: dict[str, Tokenizer]):
    translator, engine = table_translator(tokenizers=tokenizers, batch_tokens=100)
    length = len(tokenizers["source"].encode("a house")) + 1
    for nbest, tokens in ((1, 100), (10, 50)):
        translator.translate(
            ["a house"] * 64, search=SearchSettings(sample=True, nbest=nbest, beam=50), split_sentences=False
        )
        engine.batches, sizes = [], [len(batch) for batch in engine.batches]
        assert max(sizes) == tokens // length


def test_a_prefix_begins_the_first_sentence(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    assert translator.translate("12\nthe house.\nis small.", prefix="das").text == "12\ndas the house.\nis small."
    assert "".join(translator.translate_stream("the house.", prefix="das")) == "das the house."
    found = translator.translate(["a", "b"], prefix=["", "das"], split_sentences=False)
    assert [each.text for each in found] == ["a", "das b"]
    with pytest.raises(DataError, match="one prefix per text"):
        translator.translate(["a", "b"], prefix=["das"], split_sentences=False)


def test_what_an_engine_cannot_do_is_said_at_once(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers, engine={"lack": "search trees"})
    with pytest.raises(ConfigError, match="lacks search trees"):
        translator.translate("a house", search_tree=True)


def test_the_search_tree(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    tree = translator.translate("a house", search_tree=True).tree
    assert tree is not None
    assert [node.step for node in tree] == [0]
    assert translator.translate("a house").tree is None
    with pytest.raises(ConfigError, match="sampled"):
        translator.translate("a house", search_tree=True, search=SearchSettings(sample=True))


def test_numbers_tell_sentences_apart(tokenizers: dict[str, Tokenizer]):
    translator, engine = table_translator(tokenizers=tokenizers)
    translator.translate(["a.\nb.", "c."], split_sentences=True, first=7)
    numbers = {sentence.number for batch in engine.batches for sentence in batch}
    assert len(numbers) == 3
    assert {7, 8} < numbers


def test_scores_and_links_of_given_translations(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    sources, targets = ["a house", "the house is small", ""], ["ein Haus", "das Haus", "x"]
    found = translator.score(sources, targets, alignment=True)
    assert [each.text for each in found] == targets
    assert [each.source for each in found] == sources
    assert found[0].log_prob == -1.0 * len(tokenizers["target"].encode("ein Haus"))
    assert found[0].target_words == ("ein", "Haus")
    assert translator.align(sources, targets) == [each.alignment for each in found]
    with pytest.raises(DataError, match="one translation per source"):
        translator.score(["a"], [])
    assert translator.score([], []) == []


def test_what_is_too_long_to_be_scored_is_named(tokenizers: dict[str, Tokenizer], monkeypatch: pytest.MonkeyPatch):
    translator, engine = table_translator(tokenizers=tokenizers)
    endless = "x " * (MAX_SCORED_TOKENS + 1)
    for sources, targets in ((["a", endless], ["b", "c"]), (["a", "b"], ["c", endless])):
        with pytest.raises(PairError, match=r"pair 2: a .* must have at most 2,048 tokens") as caught:
            translator.align(sources, targets)
        assert caught.value.pair == 1
    assert engine.scored == []
    monkeypatch.setattr(TableEngine, "longest", 8)
    narrow, _ = table_translator(tokenizers=tokenizers)
    with pytest.raises(PairError, match="at most 7 tokens"):
        narrow.score(["x y z a b c d e"], ["a"])


def test_threads_do_not_disturb_each_other(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(other=str.upper, tokenizers=tokenizers)
    lots = [[f"text {thread} of {number}.\nand {number}" for number in range(50)] for thread in range(8)]
    alone = [translator.translate(texts, split_sentences=True, alignment=True) for texts in lots]

    def translate(texts: list[str]) -> list[Translation]:
        return translator.translate(texts, split_sentences=True, alignment=True)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(translate, lots)) == alone


def test_a_translation_can_be_called_off(tokenizers: dict[str, Tokenizer]):
    translator, engine = table_translator(tokenizers=tokenizers, engine={"seconds": 0.005})
    cancelled = threading.Event()
    timer = threading.Timer(0.05, cancelled.set)
    timer.start()
    with pytest.raises(TranslationCancelled):
        translator.translate("the house is small " * 100, cancelled=cancelled)
    timer.join()
    assert engine.steps < 100
    before = engine.steps
    with pytest.raises(TranslationCancelled):
        translator.translate("a house", cancelled=cancelled)
    assert engine.steps == before


def test_nothing_found_is_an_empty_translation(tokenizers: dict[str, Tokenizer], monkeypatch: pytest.MonkeyPatch):
    translator, engine = table_translator(tokenizers=tokenizers)
    monkeypatch.setattr(engine, "_found", lambda *_, **__: [])
    found = translator.translate("a house", flags=True)
    assert (found.text, found.is_truncated) == ("", True)
    assert found.to_json()["score"] is None
    assert "empty" in {flag.name for flag in found.flags or ()}


def test_a_text_with_a_sentence_that_nothing_was_found_for():
    nothing = Translation("b", "", float("-inf"), float("-inf"))
    whole = join_sentences("a b", "a", [Translation("a", "a", -1.0, -1.0, ("a",)), nothing], is_cut=False)
    assert whole.score == whole.log_prob == float("-inf")
    assert join_sentences("", "", [Translation("1", "1"), Translation("2", "2")], is_cut=False).score == 0.0


def test_json_leaves_out_what_was_not_asked_for(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    for text in ("a house", "12", "a house.\n12"):
        for flags in (False, True):
            found = translator.translate(text, flags=flags)
            assert ("flags" in found.to_json(), found.flags is not None) == (flags, flags)
            assert not {"weights", "alignment", "source_words", "tree", "nbest"} & set(found.to_json())


def test_a_batch_holds_something(tokenizers: dict[str, Tokenizer]):
    with pytest.raises(ConfigError, match="batch_tokens"):
        table_translator(tokenizers=tokenizers, batch_tokens=-1)


def test_it_loads_without_torch():
    heavy = ("torch", "polars", "asyncio")
    code = f"import sys; from dragoman import Translator; print([x for x in {heavy} if x in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
