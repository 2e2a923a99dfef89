"""Base classes of tokenizers, and of those with a vocabulary; the spans of tokens in a text."""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import TokenizerError
from dragoman.text.characters import attaches, is_spaceless
from dragoman.text.tokenizers.notation import PREFIX_MARK, SPACE_MARK, join_tokens, trace_tokens
from dragoman.text.tokenizers.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID, UNKNOWN, Vocabulary


class Tokenizer(ABC):
    """Convert text to token ids and back.

    ``decode(encode(text)) == text`` for every text whose tokens are all in the vocabulary. Tokenizers do not normalize;
    a `Normalizer` does that before. They hold no state, so threads can share them, and they can be pickled.
    """

    kind: str
    """The value of the setting `tokenizer.kind`."""
    pad_id: int = PAD_ID
    unk_id: int = UNK_ID
    bos_id: int = BOS_ID
    eos_id: int = EOS_ID

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of ids, special ones included."""

    @property
    def can_sample(self) -> bool:
        """Whether `sample` can return more than one segmentation."""
        return False

    @abstractmethod
    def tokens(self, text: str) -> list[str]:
        """Split text into tokens; an unknown token keeps its surface form."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens, without adding special ones."""

    def can_read(self, character: str) -> bool:
        """Whether tokens can represent a character; an unknown word of a word vocabulary is no unknown character."""
        return True

    def sample(self, text: str, *, seed: tuple[int, ...], temperature: float) -> list[int]:
        """Return one possible segmentation, drawn by the seed; raise `TokenizerError` if there is only one."""
        raise TokenizerError(
            f"tokenizer must be a sentencepiece unigram model to sample from, got {self.kind!r}; "
            "turn subword sampling off or train a unigram model"
        )

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of the ids; padding and sentence marks are dropped, ``<unk>`` is kept."""

    @abstractmethod
    def id_to_token(self, token_id: int) -> str:
        """Return the token with this id."""

    @abstractmethod
    def token_to_id(self, token: str) -> int:
        """Return the id of a token, or the unknown id."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes."""

    @abstractmethod
    def save(self, folder: Path) -> list[Path]:
        """Write the tokenizer into the folder and return the files written."""


class VocabularyTokenizer(Tokenizer):
    """Base class of tokenizers with a `Vocabulary`; subclasses split text and define the file."""

    file_name: str

    # Decoded form of an unknown token, and whether a space is added before the first word so that it is spelt like the
    # other words.
    _unknown: str = UNKNOWN
    _has_prefix: bool = True

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
        return len(self.vocabulary)

    @classmethod
    @abstractmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote."""

    def encode(self, text: str) -> list[int]:
        return [self.vocabulary.id_of(token) for token in self.tokens(text)]

    def decode(self, ids: Iterable[int]) -> str:
        text = join_tokens(self.vocabulary.tokens_of(ids), unknown=self._unknown)
        return text.removeprefix(" ") if self._has_prefix else text

    def id_to_token(self, token_id: int) -> str:
        return self.vocabulary.token_of(token_id)

    def token_to_id(self, token: str) -> int:
        return self.vocabulary.id_of(token)

    def save(self, folder: Path) -> list[Path]:
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
        """Return the tokens that spell the characters from `start` to `end`; bytes are those of whole words."""
        found: dict[int, None] = {}
        for number in range(bisect_right(self._ends, start), bisect_left(self._starts, end)):
            if max(self._starts[number], start) < min(self._ends[number], end):
                found |= dict.fromkeys(self._tokens[number])
        return list(found)


def word_boundary_tokens(tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Mark in [vocab] the tokens that may follow a word: with a space, punctuation, no spaces, or the end."""
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


def language_token_id(tokenizer: Tokenizer, token: str) -> int:
    """Return the id of a language token; a vocabulary without it is a `TokenizerError`."""
    found = tokenizer.token_to_id(token)
    if found == tokenizer.unk_id:
        raise TokenizerError(
            f"the vocabulary has no language token {ascii(token)[:60]}; train the tokenizer with all languages of "
            "the model"
        )
    return found


class PrefixedTokenizer(Tokenizer):
    """Another tokenizer, with a token before every text that has tokens. `save` writes the other one."""

    def __init__(self, tokenizer: Tokenizer, prefix: str) -> None:
        self.tokenizer, self.prefix, self.kind = tokenizer, prefix, tokenizer.kind
        self.pad_id, self.unk_id = tokenizer.pad_id, tokenizer.unk_id
        self.bos_id, self.eos_id = tokenizer.bos_id, tokenizer.eos_id
        self.prefix_id = language_token_id(tokenizer, prefix)

    @property
    def size(self) -> int:
        return self.tokenizer.size

    @property
    def can_sample(self) -> bool:
        return self.tokenizer.can_sample

    def tokens(self, text: str) -> list[str]:
        """Split text into tokens; the prefix is `PREFIX_MARK`."""
        tokens = self.tokenizer.tokens(text)
        return [PREFIX_MARK, *tokens] if tokens else tokens

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens, with the prefix and without other special ones."""
        return self._with_prefix(self.tokenizer.encode(text))

    def can_read(self, character: str) -> bool:
        return self.tokenizer.can_read(character)

    def sample(self, text: str, *, seed: tuple[int, ...], temperature: float) -> list[int]:
        return self._with_prefix(self.tokenizer.sample(text, seed=seed, temperature=temperature))

    def _with_prefix(self, ids: list[int]) -> list[int]:
        return [self.prefix_id, *ids] if ids else ids

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of the ids, without the prefix."""
        numbers = list(ids)
        return self.tokenizer.decode(numbers[1:] if numbers[:1] == [self.prefix_id] else numbers)

    def id_to_token(self, token_id: int) -> str:
        return self.tokenizer.id_to_token(token_id)

    def token_to_id(self, token: str) -> int:
        return self.tokenizer.token_to_id(token)

    def to_bytes(self) -> bytes:
        return self.tokenizer.to_bytes()

    def save(self, folder: Path) -> list[Path]:
        return self.tokenizer.save(folder)
