import json
from pathlib import Path

import pytest

from dragoman.errors import ConfigError, TokenizerError
from dragoman.text import (
    SPECIALS,
    TOKENIZER_FILES,
    TOKENIZERS,
    Tokenizer,
    load_tokenizer,
    tokenizer_class,
    tokenizer_from_bytes,
)


def test_names_are_those_of_the_classes():
    assert {name: tokenizer.kind for name, tokenizer in TOKENIZERS.items()} == {name: name for name in TOKENIZERS}
    assert TOKENIZER_FILES == ("tokenizer.model", "tokenizer.json", "tokenizer.imported")


def test_a_name_resolves(tokenizer: Tokenizer):
    assert tokenizer_class(tokenizer.kind) is type(tokenizer)


def test_an_unknown_name_is_answered_with_the_legal_ones():
    with pytest.raises(ConfigError, match="must be one of sentencepiece, word, character, imported, got 'bpe'"):
        tokenizer_class("bpe")


def test_a_tokenizer_comes_back_from_bytes(tokenizer: Tokenizer, tmp_path: Path):
    (file,) = tokenizer.save(tmp_path)
    assert tokenizer_from_bytes(file.name, file.read_bytes()) == tokenizer


def test_only_known_files_are_read():
    with pytest.raises(
        TokenizerError,
        match=r"must be tokenizer\.model or tokenizer\.json or tokenizer\.imported, got 'tokenizer\.pkl'",
    ):
        tokenizer_from_bytes("tokenizer.pkl", b"")


def test_a_vocabulary_of_no_known_kind_is_refused():
    document = {"format": "dragoman-vocabulary", "version": 2, "kind": "sentencepiece", "tokens": [*SPECIALS, "a"]}
    with pytest.raises(TokenizerError, match=r"kind in tokenizer\.json must be word or character, got 'sentencepiece'"):
        tokenizer_from_bytes("tokenizer.json", json.dumps(document).encode())


def test_a_folder_holds_exactly_one(tokenizers: dict[str, Tokenizer], tmp_path: Path):
    with pytest.raises(
        TokenizerError,
        match=r"must hold one of tokenizer\.model, tokenizer\.json, tokenizer\.imported, but has none of them",
    ):
        load_tokenizer(tmp_path)
    tokenizers["word"].save(tmp_path)
    tokenizers["bpe"].save(tmp_path)
    with pytest.raises(TokenizerError, match=r"but has tokenizer\.model and tokenizer\.json; name the folder of one"):
        load_tokenizer(tmp_path)
