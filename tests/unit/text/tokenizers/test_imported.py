"""The tokenizer of imported models: SentencePiece, then a lookup."""

import json
import pickle  # noqa: TID251 -- worker processes receive tokenizers
from pathlib import Path

import pytest

from dragoman.errors import TokenizerError
from dragoman.text import (
    SPECIALS,
    UNK_ID,
    ImportedTokenizer,
    extend_tokenizer,
    load_tokenizer,
    sentencepiece_model,
)
from testkit.random_models.random_marian import SHAPES, write_vocabularies


@pytest.fixture
def made(tmp_path: Path) -> ImportedTokenizer:
    write_vocabularies(tmp_path, SHAPES["shared, swish"])
    table = json.loads((tmp_path / "vocab.json").read_text())
    return ImportedTokenizer([*SPECIALS, *[*table][2:-1]], (tmp_path / "source.spm").read_bytes())


def test_it_is_saved_and_sent_unchanged(made: ImportedTokenizer, tmp_path: Path):
    made.save(tmp_path / "saved")
    for again in (load_tokenizer(tmp_path / "saved"), pickle.loads(pickle.dumps(made))):
        assert again == made
        assert again.encode("the old cat") == made.encode("the old cat")
    assert sentencepiece_model("tokenizer.imported", made.to_bytes())


def test_a_text_cannot_spell_special_tokens(made: ImportedTokenizer):
    assert min(made.encode("</s><s><pad>"), default=UNK_ID) >= UNK_ID
    assert not set(made.encode("</s> <s> <pad> the cat")) & {0, 2, 3}


def test_decoding_gives_the_text_as_the_model_normalizes_it(made: ImportedTokenizer):
    assert made.decode(made.encode("the  cat\u3000sat ")) == "the cat sat"
    assert "<unk>" in made.decode(made.encode("the 漢字"))


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"format": "x"}, {"tokens": "abc"}, {"tokens": [1]}, {"model": "?"}, {"model": 1}, {"more": 1}],
)
def test_other_files_are_refused(change: dict[str, object], made: ImportedTokenizer):
    document = json.loads(made.to_bytes()) | change
    with pytest.raises(TokenizerError):
        ImportedTokenizer.from_bytes(json.dumps(document).encode())


def test_an_extended_tokenizer_knows_more_characters_and_cuts_old_text_as_before(made: ImportedTokenizer):
    old, new = ["the old cat", "the cat sat on the mat"], ["the {0} cat", "{1} and ’{0}’", "one 漢"]
    more = extend_tokenizer(made, [*old, *new], max_new_tokens=9)
    assert isinstance(more, ImportedTokenizer)
    added = [more.id_to_token(number) for number in range(made.size, more.size)]
    assert added[:2] == ["{", "}"], "the most frequent first; equal ones by code point"
    assert "漢" not in added, "once is too rare"
    assert [more.id_to_token(number) for number in range(made.size)] == [*made.vocabulary.tokens]
    assert all(more.encode(text) == made.encode(text) for text in old)
    assert "<unk>" in made.decode(made.encode("{0}"))
    assert "{" in more.tokens("the {")
    assert UNK_ID not in more.encode("the { cat }")
    assert ImportedTokenizer.from_bytes(more.to_bytes()) == more
    assert extend_tokenizer(made, [*old, *new], max_new_tokens=1).size == made.size + 1
    assert extend_tokenizer(more, old, max_new_tokens=9) == more


def test_it_cannot_be_sampled(made: ImportedTokenizer):
    assert not made.can_sample
    with pytest.raises(TokenizerError, match="must be a sentencepiece unigram model to sample from"):
        made.sample("the cat", seed=(1,), temperature=1.0)
