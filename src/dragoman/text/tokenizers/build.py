"""Tokenizer classes by name, and functions that load saved tokenizers."""

from pathlib import Path

from dragoman.errors import ConfigError, TokenizerError
from dragoman.text.tokenizers.base import Tokenizer
from dragoman.text.tokenizers.imported import ImportedTokenizer
from dragoman.text.tokenizers.sentencepiece import SentencePieceTokenizer
from dragoman.text.tokenizers.vocabulary import Vocabulary
from dragoman.text.tokenizers.word_and_character import CharacterTokenizer, WordTokenizer

TokenizerClass = type[SentencePieceTokenizer] | type[WordTokenizer] | type[CharacterTokenizer] | type[ImportedTokenizer]

TOKENIZERS: dict[str, TokenizerClass] = {
    "sentencepiece": SentencePieceTokenizer,
    "word": WordTokenizer,
    "character": CharacterTokenizer,
    "imported": ImportedTokenizer,
}

TOKENIZER_FILES = tuple(dict.fromkeys(tokenizer.file_name for tokenizer in TOKENIZERS.values()))
"""File names of saved tokenizers; a folder contains one of them."""


def tokenizer_class(kind: str) -> TokenizerClass:
    """Return the tokenizer class with this name."""
    if kind not in TOKENIZERS:
        raise ConfigError(f"tokenizer must be one of {', '.join(TOKENIZERS)}, got {kind!r}; sentencepiece suits most")
    return TOKENIZERS[kind]


def tokenizer_from_bytes(file_name: str, data: bytes) -> Tokenizer:
    """Read a tokenizer from the content of its file, for callers that verify the content before it is parsed."""
    if file_name == SentencePieceTokenizer.file_name:
        return SentencePieceTokenizer.from_bytes(data)
    if file_name == ImportedTokenizer.file_name:
        return ImportedTokenizer.from_bytes(data)
    if file_name not in TOKENIZER_FILES:
        raise TokenizerError(f"tokenizer file must be {' or '.join(TOKENIZER_FILES)}, got {file_name!r}; rename it")
    vocabulary = Vocabulary.from_bytes(data)
    for tokenizer in (WordTokenizer, CharacterTokenizer):
        if tokenizer.kind == vocabulary.kind:
            return tokenizer(vocabulary)
    raise TokenizerError(
        f"kind in {file_name} must be {WordTokenizer.kind} or {CharacterTokenizer.kind}, got {vocabulary.kind!r}; "
        "restore the file that was saved with the model"
    )


def sentencepiece_model(file_name: str, data: bytes) -> bytes | None:
    """Return the SentencePiece model in the content of a tokenizer file, or None if there is none."""
    if file_name == SentencePieceTokenizer.file_name:
        return data
    return ImportedTokenizer.model_of(data) if file_name == ImportedTokenizer.file_name else None


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read the tokenizer that was saved in the folder, of any kind."""
    found = [name for name in TOKENIZER_FILES if (folder / name).is_file()]
    if len(found) != 1:
        raise TokenizerError(
            f"{folder} must hold one of {', '.join(TOKENIZER_FILES)}, but has {' and '.join(found) or 'none of them'}; "
            "name the folder of one prepared corpus or one model"
        )
    return tokenizer_from_bytes(found[0], (folder / found[0]).read_bytes())
