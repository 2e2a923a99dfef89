"""Text to numbers and back: the protocol that every tokenizer keeps, and what the tokenizers share."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Protocol, Self

from dragoman.errors import TokenizerError
from dragoman.text.notation import join_pieces
from dragoman.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID, UNKNOWN, Vocabulary

__all__ = ["PieceTokenizer", "Tokenizer"]


class Tokenizer(Protocol):
    """What the rest of Dragoman knows about a tokenizer.

    ``decode(encode(text)) == text`` for every text whose pieces are all known. Tokenizers do not normalise: that is
    done before, by a `Normalizer`. They hold no state of a sentence, and can be shared between threads and pickled
    for worker processes.
    """

    @property
    def kind(self) -> str:
        """The name under which the tokenizer is chosen in a config."""

    @property
    def size(self) -> int:
        """How many ids there are, special ones included."""

    @property
    def can_sample(self) -> bool:
        """Whether `sample` can give more than one segmentation."""

    @property
    def pad_id(self) -> int:
        """The id that fills a batch up."""

    @property
    def unk_id(self) -> int:
        """The id of everything unknown."""

    @property
    def bos_id(self) -> int:
        """The id that begins a sentence."""

    @property
    def eos_id(self) -> int:
        """The id that ends a sentence."""

    def pieces(self, text: str) -> list[str]:
        """Split text into pieces; an unknown piece keeps its surface form."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of the pieces, without adding special ones."""

    def sample(self, text: str, *, seed: tuple[int, ...], temperature: float) -> list[int]:
        """Return the ids of one possible segmentation, drawn by the seed: subword regularisation."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of the ids; padding and sentence marks are dropped, ``<unk>`` stays to be seen."""

    def id_to_piece(self, piece_id: int) -> str:
        """Return the piece with this id."""

    def piece_to_id(self, piece: str) -> int:
        """Return the id of a piece, or the unknown id."""

    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes."""

    def save(self, folder: Path) -> list[Path]:
        """Write the tokenizer into the folder and return the files written."""


class PieceTokenizer(ABC):
    """A tokenizer around a `Vocabulary`: everything but how text is split, joined and kept in a file."""

    kind: ClassVar[str]
    file_name: ClassVar[str]
    pad_id: ClassVar[int] = PAD_ID
    unk_id: ClassVar[int] = UNK_ID
    bos_id: ClassVar[int] = BOS_ID
    eos_id: ClassVar[int] = EOS_ID

    # How an unknown piece looks in decoded text, and whether a text gets one space in front before it is split, so
    # that its first word is written like all others.
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
        """How many ids there are, special ones included."""
        return len(self.vocabulary)

    @property
    def can_sample(self) -> bool:
        """Whether `sample` can give more than one segmentation."""
        return False

    @abstractmethod
    def pieces(self, text: str) -> list[str]:
        """Split text into pieces; an unknown piece keeps its surface form."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of the pieces, without adding special ones."""
        return [self.vocabulary.id_of(piece) for piece in self.pieces(text)]

    def sample(self, text: str, *, seed: tuple[int, ...], temperature: float) -> list[int]:
        """Refuse: there is one segmentation only."""
        raise TokenizerError(
            f"tokenizer must be a sentencepiece unigram model to sample from, got {self.kind!r}; "
            "turn subword sampling off or train a unigram model"
        )

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of the ids; padding and sentence marks are dropped, ``<unk>`` stays to be seen."""
        text = join_pieces(map(self.vocabulary.piece_of, ids), unknown=self._unknown)
        return text.removeprefix(" ") if self._has_prefix else text

    def id_to_piece(self, piece_id: int) -> str:
        """Return the piece with this id."""
        return self.vocabulary.piece_of(piece_id)

    def piece_to_id(self, piece: str) -> int:
        """Return the id of a piece, or the unknown id."""
        return self.vocabulary.id_of(piece)

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
