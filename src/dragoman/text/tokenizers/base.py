"""Tokenizer protocol, base class of tokenizers with a vocabulary, and the spans of tokens in a text."""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import TokenizerError
from dragoman.text.characters import attaches, is_spaceless
from dragoman.text.tokenizers.notation import PREFIX_MARK, SPACE_MARK, join_tokens, trace_tokens
from dragoman.text.tokenizers.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID, UNKNOWN, Vocabulary


class Tokenizer(Protocol):
    """Convert text to token ids and back.

    ``decode(encode(text)) == text`` for every text whose tokens are all in the vocabulary. Tokenizers do not normalize;
    a `Normalizer` does that before. They hold no state, so threads can share them, and they can be pickled.
    """

    @property
    def kind(self) -> str:
        """The value of the setting `tokenizer.kind`."""

    @property
    def size(self) -> int:
        """Number of ids, special ones included."""

    @property
    def can_sample(self) -> bool:
        """Whether `sample` can return more than one segmentation."""

    @property
    def pad_id(self) -> int:
        """The id of padding."""

    @property
    def unk_id(self) -> int:
        """The id of unknown tokens."""

    @property
    def bos_id(self) -> int:
        """The id that begins a sentence."""

    @property
    def eos_id(self) -> int:
        """The id that ends a sentence."""

    def tokens(self, text: str) -> list[str]:
        """Split text into tokens; an unknown token keeps its surface form."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens, without adding special ones."""

    def can_read(self, character: str) -> bool:
        """Whether tokens can represent a character; an unknown word of a word vocabulary is no unknown character."""

    def sample(self, text: str, *, seed: tuple[int, ...], temperature: float) -> list[int]:
        """Return the ids of one possible segmentation, drawn by the seed: subword regularisation."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of the ids; padding and sentence marks are dropped, ``<unk>`` is kept."""

    def id_to_token(self, token_id: int) -> str:
        """Return the token with this id."""

    def token_to_id(self, token: str) -> int:
        """Return the id of a token, or the unknown id."""

    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes."""

    def save(self, folder: Path) -> list[Path]:
        """Write the tokenizer into the folder and return the files written."""


class VocabularyTokenizer(ABC):
    """Base class of tokenizers with a `Vocabulary`; subclasses split text and define the file."""

    kind: ClassVar[str]
    file_name: ClassVar[str]
    pad_id: ClassVar[int] = PAD_ID
    unk_id: ClassVar[int] = UNK_ID
    bos_id: ClassVar[int] = BOS_ID
    eos_id: ClassVar[int] = EOS_ID

    # Decoded form of an unknown token, and whether a space is added before the first word so that it is spelt like the
    # other words.
    _unknown: ClassVar[str] = UNKNOWN
    _has_prefix: ClassVar[bool] = True

    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.kind != self.kind:
            raise TokenizerError(
                f"vocabulary must be of kind {self.kind!r}, got {vocabulary.kind!r}; load it with its own tokenizer"
            )
        self.vocabulary = vocabulary

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.vocabulary)

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"

    @property
    def size(self) -> int:
        """Number of ids, special ones included."""
        return len(self.vocabulary)

    @property
    def can_sample(self) -> bool:
        """Whether `sample` can return more than one segmentation."""
        return False

    def can_read(self, character: str) -> bool:
        """Whether tokens can represent a character."""
        return True

    @abstractmethod
    def tokens(self, text: str) -> list[str]:
        """Split text into tokens; an unknown token keeps its surface form."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens, without adding special ones."""
        return [self.vocabulary.id_of(token) for token in self.tokens(text)]

    def sample(self, text: str, *, seed: tuple[int, ...], temperature: float) -> list[int]:
        """Raise `TokenizerError`: there is only one segmentation."""
        raise TokenizerError(
            f"tokenizer must be a sentencepiece unigram model to sample from, got {self.kind!r}; "
            "turn subword sampling off or train a unigram model"
        )

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of the ids; padding and sentence marks are dropped, ``<unk>`` is kept."""
        text = join_tokens(map(self.vocabulary.token_of, ids), unknown=self._unknown)
        return text.removeprefix(" ") if self._has_prefix else text

    def id_to_token(self, token_id: int) -> str:
        """Return the token with this id."""
        return self.vocabulary.token_of(token_id)

    def token_to_id(self, token: str) -> int:
        """Return the id of a token, or the unknown id."""
        return self.vocabulary.id_of(token)

    def save(self, folder: Path) -> list[Path]:
        """Write the tokenizer into the folder and return the files written."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.file_name
        path.write_bytes(self.to_bytes())
        return [path]

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the tokenizer that `save` wrote into the folder."""
        path = folder / cls.file_name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise TokenizerError(
                f"{path} must be a readable file, got: {error.strerror}; name the folder the tokenizer was saved in"
            ) from None
        return cls.from_bytes(data)


class TokenLocator:
    """Finds the tokens of spans of a text; reading the tokens once makes many spans cheap."""

    def __init__(self, tokens: Sequence[str]) -> None:
        first = int(bool(tokens) and tokens[0] == PREFIX_MARK)
        tokens = tokens[first:]
        if any(token.startswith("<0x") or "\x1b" in token for token in tokens):
            units = [(unit.text, range(first + unit.first, first + unit.last + 1)) for unit in trace_tokens(tokens)]
        else:
            units = [
                (token.replace(SPACE_MARK, " "), range(number, number + 1))
                for number, token in enumerate(tokens, first)
            ]
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._tokens: list[range] = []
        place = -1 if units and units[0][0].startswith(" ") else 0  # the first word has a space before it
        for text, numbers in units:
            begin, place = place, place + len(text)
            if text.strip():
                self._starts.append(begin + (text[0] == " "))
                self._ends.append(place)
                self._tokens.append(numbers)

    def find(self, start: int, end: int) -> list[int]:
        """Return the indices of the tokens that spell the characters from `start` to `end`.

        If tokens are bytes, the tokens of whole words are returned.
        """
        found: dict[int, None] = {}
        for number in range(bisect_right(self._ends, start), bisect_left(self._starts, end)):
            if max(self._starts[number], start) < min(self._ends[number], end):
                found |= dict.fromkeys(self._tokens[number])
        return list(found)


def word_boundary_tokens(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Mark tokens that may follow a word: they begin with a space, punctuation or a script without spaces.

    The end token is one of them. A byte token is not, because it may be part of a letter.

    Shapes: -> [vocab].
    """
    tokens = (tokenizer.id_to_token(number) for number in range(tokenizer.size))
    marks = np.array([_may_follow(token) for token in tokens], np.bool_)
    marks[tokenizer.eos_id] = True
    marks[tokenizer.unk_id] = False
    return marks


def _may_follow(token: str) -> bool:
    if not token or token.startswith("<0x"):
        return False
    first = token[0]
    return first == SPACE_MARK or is_spaceless(first) or not (first.isalnum() or attaches(first) or first == "_")
