import io
import math
import random
import subprocess
import sys
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from dragoman.errors import ConfigError, DataError, TokenizerError
from dragoman.text import SentencePieceTokenizer, Tokenizer, train_sentencepiece
from dragoman.text.tokenizers.notation import escape
from dragoman.text.tokenizers.sentencepiece import _scatter_repeats
from testkit.growth import growth
from tests.unit.text.samples import AWKWARD, corpus, texts


@settings(max_examples=300)
@given(data=st.data())
def test_no_text_is_ever_lost(data: st.DataObject, unigram: SentencePieceTokenizer, bpe: SentencePieceTokenizer):
    text = data.draw(texts)
    for tokenizer in (unigram, bpe):
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert tokenizer.unk_id not in tokenizer.encode(text)


@given(data=st.data())
def test_decoding_is_that_of_sentencepiece(data: st.DataObject, unigram: SentencePieceTokenizer):
    """For any ids a model may produce, not only those of a text, except for the escape and a space spelt as a byte."""
    ours = {"<unk>", "<0x1B>", "<0x20>"} | {token for token in unigram.vocabulary.tokens if "\x1b" in token}
    shared = [token_id for token_id, token in enumerate(unigram.vocabulary.tokens) if token not in ours]
    ids = data.draw(st.lists(st.sampled_from(shared)))
    theirs = SentencePieceProcessor(model_proto=unigram.to_bytes())
    assert unigram.decode(ids) == theirs.decode(ids)


def test_tokens_look_as_everybody_knows_them(unigram: SentencePieceTokenizer):
    assert unigram.tokens("dog dog") == ["▁dog", "▁dog"]
    assert unigram.tokens("Ж") == ["▁", "<0xD0>", "<0x96>"]
    assert unigram.tokens("") == []


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_training_again_gives_the_same_model(model, unigram: SentencePieceTokenizer, bpe: SentencePieceTokenizer):
    again = train_sentencepiece(iter(corpus()), size=600, model=model)
    assert again.to_bytes() == (unigram if model == "unigram" else bpe).to_bytes()


def test_size_is_a_limit(unigram: SentencePieceTokenizer):
    assert 300 < unigram.size <= 600
    assert train_sentencepiece(["a b a b"], size=5000).size < 300  # a small corpus gives what it has


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_a_symbol_is_one_token_wherever_it_is(model):
    tokenizer = train_sentencepiece(corpus(), size=600, model=model, symbols=["<BT>", "<BLANK>"])
    assert tokenizer.tokens("<BT> dog") == ["▁", "<BT>", "▁dog"]
    assert tokenizer.tokens("a<BLANK>b").count("<BLANK>") == 1
    assert tokenizer.decode(tokenizer.encode("<BT> dog<BLANK>")) == "<BT> dog<BLANK>"
    again = SentencePieceTokenizer.from_bytes(tokenizer.to_bytes())
    assert again.encode("<BT> dog") == tokenizer.encode("<BT> dog")
    if model == "unigram":
        tag = tokenizer.token_to_id("<BT>")
        assert all(tokenizer.sample("<BT> dog", seed=(n,), temperature=20).count(tag) == 1 for n in range(300))


def test_a_large_corpus_is_sampled_by_the_seed():
    sentences = [f"{word} number" for word in ("alpha", "beta", "gamma", "delta") for _ in range(50)]
    drawn = [train_sentencepiece(sentences, size=400, sample_size=3, seed=seed).to_bytes() for seed in (1, 1, 2, 3, 4)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1
    assert train_sentencepiece(sentences, size=400, sample_size=200, seed=5) == train_sentencepiece(sentences, size=400)


def test_each_sentence_has_the_same_chance_to_be_drawn():
    from dragoman.text.tokenizers.sentencepiece import _draw

    counts = Counter(name for seed in range(2000) for name in _draw("abcdefgh", 2, seed))
    assert all(420 < counts[name] < 580 for name in "abcdefgh")  # 500 expected, standard deviation 19
    assert _draw("abc", 5, 0) == ["a", "b", "c"]
    assert _draw([], 5, 0) == []
    numbers = [_draw([f"{number:03}" for number in range(500)], 20, seed) for seed in range(5)]
    assert all(drawn == sorted(set(drawn)) and len(drawn) == 20 for drawn in numbers)


def test_long_and_odd_sentences_are_learnt_from_too():
    """SentencePiece by itself drops sentences of more than 4,192 bytes, and those with its reserved character."""
    tokenizer = train_sentencepiece(["z" * 5000, "q \u2585 q", "a b"], size=600, character_coverage=1)
    assert tokenizer.token_to_id("z") != tokenizer.unk_id
    assert tokenizer.token_to_id("q") != tokenizer.unk_id


def test_training_time_grows_with_the_corpus_only():
    """On one long repetitive line SentencePiece takes quadratic time: ten times the line, a hundred times as long."""
    assert growth(lambda words: train_sentencepiece([" zz" * words], size=300), 1000, rounds=1) < 30


def test_without_byte_fallback_rare_characters_become_unknown():
    tokenizer = train_sentencepiece(["a b c d"] * 10, size=40, byte_fallback=False)
    assert tokenizer.size < 40
    assert tokenizer.tokens("a Ж") == ["▁a", "▁", "Ж"] or tokenizer.tokens("a Ж")[-1] == "Ж"
    assert tokenizer.decode(tokenizer.encode("a Ж b")) == "a <unk> b"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"model": "word"}, "model must be one of unigram, bpe, got 'word'"),
        ({"size": 3}, "size must be more than the 4 special tokens, got 3"),
        ({"character_coverage": 0.5}, "character_coverage must be from 0.98 to 1, got 0.5"),
        ({"character_coverage": math.nan}, "character_coverage must be from 0.98 to 1, got nan"),
        ({"sample_size": 0}, "sample_size must be at least 1, got 0"),
        ({"size": 100}, r"size must be at least 26\d for this text, got 100; raise it, or lower"),
    ],
)
def test_settings_are_checked(change: dict, match: str):
    with pytest.raises(ConfigError, match=match):
        train_sentencepiece(["a b c"] * 9, **({"size": 300} | change))


@pytest.mark.parametrize("sentences", [[], [""]])
def test_training_needs_text(sentences: list[str]):
    with pytest.raises(TokenizerError, match="the sentences have no text"):
        train_sentencepiece(sentences, size=300)


def test_training_refuses_lone_surrogates():
    with pytest.raises(DataError, match="lone surrogate"):
        train_sentencepiece(["a\udc80"], size=300)


def test_an_error_of_the_trainer_is_passed_on(monkeypatch: pytest.MonkeyPatch):
    def fail(**settings: object) -> None:
        raise RuntimeError("INTERNAL: nothing works")

    monkeypatch.setattr(sentencepiece.SentencePieceTrainer, "train", fail)
    with pytest.raises(TokenizerError, match="from these sentences: INTERNAL: nothing works"):
        train_sentencepiece(["a b"], size=300)


@pytest.mark.parametrize("data", [b"", b"xyz", b"\x00" * 100, b"{}"])
def test_a_file_that_is_no_model_is_refused(data: bytes):
    with pytest.raises(TokenizerError, match=f"must be a SentencePiece model, got {len(data)} bytes of other data"):
        SentencePieceTokenizer.from_bytes(data)


def foreign(**changes: Any) -> bytes:
    """A model trained without Dragoman."""
    written = io.BytesIO()
    ours: dict[str, Any] = {
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "pad_id": 0,
        "unk_id": 1,
        "bos_id": 2,
        "eos_id": 3,
    }
    SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()),
        model_writer=written,
        vocab_size=300,
        hard_vocab_limit=False,
        minloglevel=2,
        **(ours | changes),
    )
    return written.getvalue()


def test_a_model_with_other_conventions_is_refused():
    assert SentencePieceTokenizer.from_bytes(foreign()).size <= 300
    with pytest.raises(TokenizerError, match="must be headed by <pad> <unk> <s> </s>, got"):
        SentencePieceTokenizer.from_bytes(foreign(pad_id=-1, unk_id=0, bos_id=1, eos_id=2))
    with pytest.raises(TokenizerError, match="must leave text unchanged and add one space in front"):
        SentencePieceTokenizer.from_bytes(foreign(normalization_rule_name="nmt_nfkc"))
    with pytest.raises(TokenizerError, match="must leave text unchanged"):
        SentencePieceTokenizer.from_bytes(foreign(remove_extra_whitespaces=True))
    with pytest.raises(TokenizerError, match="must leave text unchanged"):
        SentencePieceTokenizer.from_bytes(foreign(add_dummy_prefix=False))


# ------------------------------------------------------------------------------------------------------------- sampling


@given(data=st.data())
def test_every_draw_spells_the_text(data: st.DataObject, unigram: SentencePieceTokenizer):
    text = data.draw(texts)
    seed = data.draw(st.lists(st.integers(0, 2**63)).map(tuple))
    assert unigram.decode(unigram.sample(text, seed=seed, temperature=data.draw(st.floats(0, 50)))) == text


def test_only_a_unigram_model_can_be_drawn_from(unigram: SentencePieceTokenizer, bpe: SentencePieceTokenizer):
    assert unigram.can_sample
    assert not bpe.can_sample
    with pytest.raises(TokenizerError, match="must be a sentencepiece unigram model to sample from"):
        bpe.sample("dog", seed=(1,))


def test_a_draw_depends_on_the_seed_only(unigram: SentencePieceTokenizer):
    text = "people schulemen along katori, Haus und Katze"
    draws = [tuple(unigram.sample(text, seed=(3, number), temperature=30)) for number in range(20)]
    assert draws == [tuple(unigram.sample(text, seed=(3, number), temperature=30)) for number in range(20)]
    assert len(set(draws)) > 10
    assert unigram.sample(text, seed=(1, 23), temperature=30) != unigram.sample(text, seed=(12, 3), temperature=30)


def test_another_process_draws_the_same(unigram: SentencePieceTokenizer, tmp_path: Path):
    unigram.save(tmp_path)
    code = (
        "import sys; from pathlib import Path; from dragoman.text import load_tokenizer\n"
        "t = load_tokenizer(Path(sys.argv[1]))\n"
        "print([t.sample('people, katori and schulemen', seed=(7, n), temperature=4) for n in range(30)])"
    )
    environment = {"PYTHONPATH": str(Path(sys.modules["dragoman"].__file__ or "").parents[1]), "PYTHONHASHSEED": "5"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    theirs = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    ours = [unigram.sample("people, katori and schulemen", seed=(7, number), temperature=4) for number in range(30)]
    assert theirs.strip() == str(ours)


def test_draws_follow_the_probabilities_of_the_model(unigram: SentencePieceTokenizer):
    """The share of each segmentation of a word is p^(1 / temperature), normalised."""
    processor = SentencePieceProcessor(model_proto=unigram.to_bytes())
    found = [tuple(ids) for ids in processor.nbest_encode("katori", nbest_size=32)]
    weights = [math.exp(sum(processor.get_score(i) for i in ids) / 3) for ids in found]
    draws = Counter(tuple(unigram.sample("katori", seed=(n,), temperature=3)) for n in range(4000))
    assert len(found) > 1
    for ids, weight in zip(found, weights, strict=True):
        expected = weight / sum(weights)
        assert abs(draws[ids] / 4000 - expected) < 4 * math.sqrt(expected / 4000) + 1e-3


def test_temperature_runs_from_the_best_segmentation_to_all_of_them(unigram: SentencePieceTokenizer):
    best = unigram.encode("people river")
    assert unigram.sample("people river", seed=(1,), temperature=0) == best
    assert unigram.sample("people river", seed=(1,), temperature=1e-3) == best
    assert unigram.sample("", seed=(1,), temperature=1) == []
    lengths = [
        sum(len(unigram.sample("katori menschule tolever", seed=(n,), temperature=t)) for n in range(100))
        for t in (0.5, 5, 50)
    ]
    assert lengths == sorted(lengths)


@pytest.mark.parametrize("temperature", [-1, math.nan, math.inf])
def test_temperature_is_checked(unigram: SentencePieceTokenizer, temperature: float):
    with pytest.raises(ConfigError, match="temperature must be 0 or more, got"):
        unigram.sample("dog", seed=(1,), temperature=temperature)


def test_long_words_can_be_drawn_too(unigram: SentencePieceTokenizer):
    text = "peoplekatori" * 10
    draws = {tuple(unigram.sample(text, seed=(n,), temperature=5)) for n in range(10)}
    assert len(draws) > 1
    assert {unigram.decode(ids) for ids in draws} == {text}


def test_words_can_be_drawn_one_by_one_because_no_token_crosses_a_space(unigram: SentencePieceTokenizer):
    assert not any("▁" in unigram.id_to_token(token_id)[1:] for token_id in range(unigram.size))
    for text in AWKWARD:
        if text:
            words = [unigram.tokens(word) if word else ["▁"] for word in text.split(" ")]
            assert list(chain.from_iterable(words)) == unigram.tokens(text), escape(text)


def test_it_keeps_the_protocol(unigram: SentencePieceTokenizer):
    tokenizer: Tokenizer = unigram
    assert tokenizer.kind == "sentencepiece"


def test_a_repeated_sequence_of_sentences_takes_linear_time():
    """Two copies of a text with other text behind them: SentencePiece takes quadratic time for these by itself."""

    def train(lines: int) -> None:
        draw = random.Random(1)
        words = ["".join(map(draw.choice, ("bdglm", "aeiou", "nprst"))) for _ in range(60)]
        text = list(dict.fromkeys(" ".join(draw.choices(words, k=draw.randint(3, 6))) for _ in range(lines)))
        train_sentencepiece(
            [*text, *(f"{line}en" for line in text), *text, *map("le".__add__, text)], size=400, grow=True
        )

    assert growth(train, 60, rounds=1) < 40


def test_few_repeats_keep_their_order():
    text = [str(number) for number in range(600)]
    for few in (["a", "b", "a", "b"], [*text, *text[:100]]):
        assert _scatter_repeats(few, 1) == few
    found = _scatter_repeats([*text, *text], 1)
    assert found[:600] == text
    assert found[600:] != text
    assert sorted(found[600:]) == sorted(text)
