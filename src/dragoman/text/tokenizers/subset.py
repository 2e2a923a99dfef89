"""Remove tokens from a tokenizer; texts that need none of them keep their segmentation.

- Unigram: the best segmentation of a text remains the best among fewer. SentencePiece derives the cost of unknown
  characters from the lowest score, and that of user-defined symbols from the highest: both tokens are kept.
- BPE: merges inside a token do not depend on the text around it, so that the tokens merged on the way to a token are
  those of the token alone. They are kept with it.

Special tokens, bytes and single characters are always kept, so that a text stays readable.
"""

import struct
from collections.abc import Callable, Container, Iterator
from itertools import pairwise
from typing import NamedTuple

from dragoman.errors import TokenizerError
from dragoman.text.tokenizers.base import Tokenizer
from dragoman.text.tokenizers.imported import ImportedTokenizer
from dragoman.text.tokenizers.notation import SPACE_MARK
from dragoman.text.tokenizers.sentencepiece import SentencePieceTokenizer
from dragoman.text.tokenizers.vocabulary import SPECIALS, Vocabulary
from dragoman.text.tokenizers.word_and_character import CharacterTokenizer, WordTokenizer

_PIECES, _TRAINER = 1, 2  # fields of ModelProto
_MODEL_TYPE = 3  # field of TrainerSpec
_BPE = 2
_NORMAL = 1  # type of a token that is neither special nor a byte
_VARINT, _BYTES = 0, 2  # types of fields
_SIZES = {1: 8, 5: 4}  # bytes of fixed fields by type
_MAX_SHIFT = 70  # bits
_REMEDY = "import or train the model again"


class _Piece(NamedTuple):
    text: str
    score: float
    kind: int


def needed_tokens(tokenizer: Tokenizer, used: Container[str]) -> set[str]:
    """Return the tokens that texts need which are segmented into `used` tokens; without special tokens."""
    if not isinstance(tokenizer, SentencePieceTokenizer | ImportedTokenizer):
        return {token for token in _vocabulary(tokenizer).tokens if token in used or len(token) == 1}
    model = _model(tokenizer)
    pieces = _pieces(model)
    normal = [piece for piece in pieces if piece.kind == _NORMAL]
    found = {piece.text for piece in pieces if piece.kind != _NORMAL}
    found |= {piece.text for piece in normal if piece.text in used or _is_character(piece.text)}
    if _is_bpe(model):
        scores = {piece.text: piece.score for piece in normal}
        for text in found & scores.keys():
            found |= _merges(text, scores)
    elif normal:
        found |= {min(normal, key=_score).text, max(normal, key=_score).text}
    others = (token for token in tokenizer.vocabulary.tokens if token in used or _is_character(token))
    return found.union(others)


def subset_tokenizer(
    tokenizer: Tokenizer, tokens: Container[str], needed: Container[str]
) -> tuple[Tokenizer, list[int]]:
    """Return the tokenizer of the special tokens and `tokens`, and their old ids; a subword model keeps `needed`."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        model = _select(_model(tokenizer), lambda piece: piece.text in SPECIALS or piece.text in tokens)
        found: Tokenizer = SentencePieceTokenizer.from_bytes(model)
        return found, [tokenizer.token_to_id(found.id_to_token(number)) for number in range(found.size)]
    vocabulary = _vocabulary(tokenizer)
    kept = [number for number, token in enumerate(vocabulary.tokens) if token in SPECIALS or token in tokens]
    names = tuple(vocabulary.token_of(number) for number in kept)
    if isinstance(tokenizer, ImportedTokenizer):
        model = _select(
            _model(tokenizer), lambda piece: piece.kind != _NORMAL or piece.text in tokens or piece.text in needed
        )
        return ImportedTokenizer(names, model, prefix=tokenizer.prefix), kept
    assert isinstance(tokenizer, WordTokenizer | CharacterTokenizer)
    return type(tokenizer)(Vocabulary(tokenizer.kind, names)), kept


def _vocabulary(tokenizer: Tokenizer) -> Vocabulary:
    if not isinstance(tokenizer, SentencePieceTokenizer | ImportedTokenizer | WordTokenizer | CharacterTokenizer):
        raise TokenizerError(f"tokenizer must be one of Dragoman's to be pruned, got {tokenizer!r}; keep it the same")
    return tokenizer.vocabulary


def _model(tokenizer: SentencePieceTokenizer | ImportedTokenizer) -> bytes:
    data = tokenizer.to_bytes()
    return ImportedTokenizer.model_of(data) if isinstance(tokenizer, ImportedTokenizer) else data


def _is_character(token: str) -> bool:
    return len(token.replace(SPACE_MARK, "")) <= 1


def _score(piece: _Piece) -> float:
    return piece.score


def _merges(text: str, scores: dict[str, float]) -> set[str]:
    """Return the tokens that BPE merges on the way to a token: the pair with the highest score first, then the left."""
    symbols, found = list(text), set()
    while len(symbols) > 1:
        pairs = [first + second for first, second in pairwise(symbols)]
        place = max(range(len(pairs)), key=lambda number: (scores.get(pairs[number], -float("inf")), -number))
        if pairs[place] not in scores:
            break
        symbols[place : place + 2] = [pairs[place]]
        found.add(pairs[place])
    return found


# ---------------------------------------------------------------------------------- protocol buffers of SentencePiece


class _Field(NamedTuple):
    number: int
    content: bytes
    """The bytes of a string or message; those of the number otherwise."""
    entry: bytes
    """The whole field, with its tag."""


def _select(model: bytes, is_kept: Callable[[_Piece], bool]) -> bytes:
    """Remove tokens from a model."""
    return b"".join(
        field.entry for field in _fields(model) if field.number != _PIECES or is_kept(_piece(field.content))
    )


def _pieces(model: bytes) -> list[_Piece]:
    return [_piece(field.content) for field in _fields(model) if field.number == _PIECES]


def _piece(message: bytes) -> _Piece:
    """Decode ``string piece = 1``, ``float score = 2`` and ``Type type = 3``."""
    values = {field.number: field.content for field in _fields(message)}
    score = struct.unpack("<f", values[2])[0] if 2 in values else 0.0
    return _Piece(values.get(1, b"").decode(), score, _number(values[3]) if 3 in values else _NORMAL)


def _is_bpe(model: bytes) -> bool:
    trainer = b"".join(field.content for field in _fields(model) if field.number == _TRAINER)
    kinds = [_number(field.content) for field in _fields(trainer) if field.number == _MODEL_TYPE]
    return kinds[-1:] == [_BPE]


def _fields(message: bytes) -> Iterator[_Field]:
    """Yield the fields of a message."""
    place = 0
    while place < len(message):
        start = place
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == _BYTES:
            size, place = _varint(message, place)
        elif kind == _VARINT:
            size = _varint(message, place)[1] - place
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise TokenizerError(
                f"the subword model must be a SentencePiece model, got a field of type {kind}; {_REMEDY}"
            )
        if place + size > len(message):
            raise TokenizerError(f"the subword model is not complete: a field ends after it; {_REMEDY}")
        yield _Field(tag >> 3, message[place : place + size], message[start : place + size])
        place += size


def _number(content: bytes) -> int:
    return _varint(content, 0)[0]


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return a number of seven bits per byte, and the place after it."""
    number = shift = 0
    while place < len(data) and shift < _MAX_SHIFT:
        byte = data[place]
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return number, place
    raise TokenizerError(f"the subword model is not complete: a number ends after it; {_REMEDY}")
