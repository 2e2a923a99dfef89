"""Tokenizer of a model from another toolkit: its SentencePiece model and its own list of tokens.

Marian, OPUS-MT, Argos and others segment with SentencePiece and then look tokens up in a separate vocabulary. The model
keeps its own normalization, so ``decode(encode(text))`` is the text as that model normalizes it.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from sentencepiece import SentencePieceProcessor

from dragoman.errors import TokenizerError
from dragoman.text.characters import check_unicode
from dragoman.text.tokenizers.base import VocabularyTokenizer
from dragoman.text.tokenizers.vocabulary import SPECIALS, UNK_ID, Vocabulary

__all__ = ["ImportedTokenizer"]

_FORMAT = "dragoman-imported-tokenizer"
_VERSION = 1
_KEYS = {"format", "version", "tokens", "model"}
_REMEDY = "import the model again"
_LANGUAGE_TOKEN = re.compile(r">>[^<>\s]{1,40}<<")


class ImportedTokenizer(VocabularyTokenizer):
    """SentencePiece, then a lookup in the vocabulary. `model` is the content of the SentencePiece file.

    A text may begin with a language token of the vocabulary, such as ``>>deu<<``.
    """

    kind = "imported"
    file_name = "tokenizer.imported"

    def __init__(self, tokens: Iterable[str], model: bytes) -> None:
        super().__init__(Vocabulary(self.kind, tuple(tokens)))
        try:
            self._processor = SentencePieceProcessor(model_proto=model)
        except (RuntimeError, ValueError):
            raise TokenizerError(
                f"the subword model must be a SentencePiece model, got {len(model):,} bytes of other data; {_REMEDY}"
            ) from None
        self._model = model

    def tokens(self, text: str) -> list[str]:
        """Split text into tokens; an unknown token keeps its surface form."""
        check_unicode(text)
        found = _LANGUAGE_TOKEN.match(text)
        if found and found[0] in self.vocabulary:
            return [found[0], *self._segment(text[found.end() :])]
        return self._segment(text)

    def _segment(self, text: str) -> list[str]:
        tokens: list[str] = self._processor.encode(text, return_type=str)
        return tokens

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens, without adding special ones."""
        ids = super().encode(text)
        return [number if number >= len(SPECIALS) else UNK_ID for number in ids]  # text cannot spell special tokens

    def unknown_characters(self, text: str) -> list[str]:
        """Return the characters of a text, as the model normalizes it, that no token contains."""
        unknown = (token for token in self.tokens(text) if token not in self.vocabulary)
        return [character for token in unknown for character in token if self._is_unknown(character)]

    def _is_unknown(self, character: str) -> bool:
        number = self._processor.piece_to_id(character)
        return bool(self._processor.is_unknown(number)) and character not in self.vocabulary

    def with_characters(self, characters: Sequence[str], encode_entry: Callable[[str, float], bytes]) -> Self:
        """Return the tokenizer with more tokens of one character, whose scores are the lowest of the model."""
        processor = self._processor
        lowest = min(processor.get_score(list(range(processor.get_piece_size()))))
        entries = b"".join(encode_entry(character, lowest) for character in characters)
        return type(self)((*self.vocabulary.tokens, *characters), self._model + entries)

    def to_bytes(self) -> bytes:
        """Return the content of ``tokenizer.imported``: JSON, with the SentencePiece model in Base64."""
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "model": base64.b64encode(self._model).decode("ascii"),
            "tokens": self.vocabulary.tokens,
        }
        return (json.dumps(document, ensure_ascii=False, indent=0) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote. The parser of SentencePiece is native code: check `model_of` first."""
        document = _read(data)
        return cls(document["tokens"], _decoded(document["model"]))

    @classmethod
    def model_of(cls, data: bytes) -> bytes:
        """Return the SentencePiece model of a file, for callers that check it before it is parsed."""
        return _decoded(_read(data)["model"])


def _read(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"{ImportedTokenizer.file_name} must be JSON, got an error: {error}; {_REMEDY}") from None
    if not isinstance(document, dict) or set(document) != _KEYS:
        raise TokenizerError(f"{ImportedTokenizer.file_name} must hold {', '.join(sorted(_KEYS))}; {_REMEDY}")
    if document["format"] != _FORMAT or document["version"] != _VERSION:
        raise TokenizerError(f"{ImportedTokenizer.file_name} must be {_FORMAT} version {_VERSION}; {_REMEDY}")
    tokens = document["tokens"]
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise TokenizerError(f"tokens of {ImportedTokenizer.file_name} must be a list of strings; {_REMEDY}")
    return document


def _decoded(model: object) -> bytes:
    try:
        return base64.b64decode(model if isinstance(model, str) else "?", validate=True)
    except ValueError:
        raise TokenizerError(f"model of {ImportedTokenizer.file_name} must be Base64; {_REMEDY}") from None
