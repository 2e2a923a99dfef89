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
from dragoman.text.tokenizers.notation import PREFIX_MARK
from dragoman.text.tokenizers.vocabulary import SPECIALS, UNK_ID, Vocabulary

_FORMAT = "dragoman-imported-tokenizer"
_KEYS = {1: {"format", "version", "tokens", "model"}, 2: {"format", "version", "tokens", "model", "prefix"}}
"""Entries of the file by version; 2 is written if there is a prefix."""
_REMEDY = "import the model again"
_LANGUAGE_TOKEN = re.compile(r">>[^<>\s]{1,40}<<")


class ImportedTokenizer(VocabularyTokenizer):
    """SentencePiece, then a lookup; `prefix`, such as ``>>deu<<``, precedes texts that begin with no such token."""

    kind = "imported"
    file_name = "tokenizer.imported"

    def __init__(self, tokens: Iterable[str], model: bytes, *, prefix: str = "") -> None:
        super().__init__(Vocabulary(self.kind, tuple(tokens), is_compact=True))
        if prefix and (prefix not in self.vocabulary or not _LANGUAGE_TOKEN.fullmatch(prefix)):
            raise TokenizerError(
                f"prefix must be a language token of the vocabulary, got {ascii(prefix)[:60]}; {_REMEDY}"
            )
        self.prefix = prefix
        try:
            self._processor = SentencePieceProcessor(model_proto=model)
        except (RuntimeError, ValueError):
            raise TokenizerError(
                f"the subword model must be a SentencePiece model, got {len(model):,} bytes of other data; {_REMEDY}"
            ) from None
        self._model = model
        self._readable: dict[str, bool] = {}

    @property
    def language_tokens(self) -> tuple[str, ...]:
        """The language tokens of the vocabulary."""
        return tuple(token for token in self.vocabulary.tokens if _LANGUAGE_TOKEN.fullmatch(token))

    def with_prefix(self, prefix: str) -> Self:
        """Return the tokenizer with a language token before every text."""
        return type(self)(self.vocabulary.tokens, self._model, prefix=prefix)

    def tokens(self, text: str) -> list[str]:
        """Split text into tokens; an unknown token keeps its surface form, and the prefix is `PREFIX_MARK`."""
        check_unicode(text)
        found = _LANGUAGE_TOKEN.match(text)
        if found and found[0] in self.vocabulary:
            return [found[0], *self._segment(text[found.end() :])]
        tokens = self._segment(text)
        return [PREFIX_MARK, *tokens] if self.prefix and tokens else tokens

    def _segment(self, text: str) -> list[str]:
        tokens: list[str] = self._processor.encode(text, return_type=str)
        return tokens

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens, without adding special ones."""
        tokens = self.tokens(text)
        first = [self.vocabulary.id_of(self.prefix)] if tokens[:1] == [PREFIX_MARK] else []
        ids = map(self.vocabulary.id_of, tokens[len(first) :])
        return first + [number if number >= len(SPECIALS) else UNK_ID for number in ids]  # text spells no special token

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of the ids; the prefix, padding and sentence marks are dropped, ``<unk>`` is kept."""
        numbers = list(ids)
        is_prefixed = bool(self.prefix) and numbers[:1] == [self.vocabulary.id_of(self.prefix)]
        return super().decode(numbers[1:] if is_prefixed else numbers)

    def unknown_characters(self, text: str) -> list[str]:
        """Return the characters of a text, as the model normalizes it, that no token contains."""
        unknown = (token for token in self._segment(check_unicode(text)) if token not in self.vocabulary)
        return [character for token in unknown for character in token if self._is_unknown(character)]

    def can_read(self, character: str) -> bool:
        """Whether tokens can represent a character, as the model normalizes it."""
        if character not in self._readable:
            self._readable[character] = not self.unknown_characters(character)
        return self._readable[character]

    def _is_unknown(self, character: str) -> bool:
        number = self._processor.piece_to_id(character)
        return bool(self._processor.is_unknown(number)) and character not in self.vocabulary

    def with_characters(self, characters: Sequence[str], encode_entry: Callable[[str, float], bytes]) -> Self:
        """Return the tokenizer with more tokens of one character, whose scores are the lowest of the model."""
        processor = self._processor
        lowest = min(processor.get_score(list(range(processor.get_piece_size()))))
        entries = b"".join(encode_entry(character, lowest) for character in characters)
        return type(self)((*self.vocabulary.tokens, *characters), self._model + entries, prefix=self.prefix)

    def to_bytes(self) -> bytes:
        """Return the content of ``tokenizer.imported``: JSON, with the SentencePiece model in Base64."""
        document = {
            "format": _FORMAT,
            "version": 2 if self.prefix else 1,
            "model": base64.b64encode(self._model).decode("ascii"),
            **({"prefix": self.prefix} if self.prefix else {}),
            "tokens": tuple(self.vocabulary.tokens),
        }
        return (json.dumps(document, ensure_ascii=False, indent=0) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote. The parser of SentencePiece is native code: check `model_of` first."""
        document = _read(data)
        return cls(document["tokens"], _decoded(document["model"]), prefix=document.get("prefix", ""))

    @classmethod
    def model_of(cls, data: bytes) -> bytes:
        """Return the SentencePiece model of a file, for callers that check it before it is parsed."""
        return _decoded(_read(data)["model"])


def _read(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"{ImportedTokenizer.file_name} must be JSON: {error}; {_REMEDY}") from None
    version = document.get("version") if isinstance(document, dict) else None
    keys = _KEYS.get(version, _KEYS[1]) if type(version) is int else _KEYS[1]
    if not isinstance(document, dict) or set(document) != keys:
        raise TokenizerError(f"{ImportedTokenizer.file_name} must hold {', '.join(sorted(keys))}; {_REMEDY}")
    if document["format"] != _FORMAT or type(version) is not int or version not in _KEYS:
        raise TokenizerError(f"{ImportedTokenizer.file_name} must be {_FORMAT} of version 1 or 2; {_REMEDY}")
    tokens = document["tokens"]
    if not isinstance(tokens, list) or not all(
        isinstance(token, str) for token in [*tokens, document.get("prefix", "")]
    ):
        raise TokenizerError(f"tokens of {ImportedTokenizer.file_name} must be a list of strings; {_REMEDY}")
    return document


def _decoded(model: object) -> bytes:
    try:
        return base64.b64decode(model if isinstance(model, str) else "?", validate=True)
    except ValueError:
        raise TokenizerError(f"model of {ImportedTokenizer.file_name} must be Base64; {_REMEDY}") from None
