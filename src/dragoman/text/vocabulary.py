"""The pieces a tokenizer knows, numbered: the same four special ids for every tokenizer, then pieces by frequency."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from dragoman.errors import ConfigError, DataError, TokenizerError
from dragoman.text.characters import check_unicode

__all__ = [
    "BOS_ID",
    "EOS_ID",
    "PAD_ID",
    "SPECIALS",
    "UNKNOWN",
    "UNK_ID",
    "Vocabulary",
    "check_limits",
    "count_pieces",
]

SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
"""The pieces that stand for no text, in the order of their ids."""

PAD_ID, UNK_ID, BOS_ID, EOS_ID = range(len(SPECIALS))
"""Padding is 0, so that an array of zeros is an array of padding."""

UNKNOWN = SPECIALS[UNK_ID]

_MEND = "restore the file that was saved with the model"
_FORMAT = "dragoman-vocabulary"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Pieces and their ids, immutable. ``kind`` names the tokenizer whose pieces they are.

    ``pieces[0:4]`` are always `SPECIALS`; no piece is empty and none comes twice.
    """

    kind: str
    pieces: tuple[str, ...]
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.pieces[: len(SPECIALS)] != SPECIALS:
            raise TokenizerError(
                f"vocabulary must be headed by {' '.join(SPECIALS)}, got {list(self.pieces[: len(SPECIALS)])}; "
                "train the tokenizer again with Dragoman"
            )
        ids = {piece: piece_id for piece_id, piece in enumerate(self.pieces)}
        if len(ids) != len(self.pieces):
            twice = next(piece for piece, count in Counter(self.pieces).items() if count > 1)
            raise TokenizerError(f"vocabulary must hold each piece once, got {twice!r} again; remove one of the two")
        if "" in ids:
            raise TokenizerError(f"vocabulary must hold no empty piece, got one with id {ids['']}; remove it")
        try:
            check_unicode("".join(self.pieces))
        except DataError as error:
            raise TokenizerError(f"vocabulary holds a piece that is no text: {error}") from None
        object.__setattr__(self, "_ids", ids)

    def __len__(self) -> int:
        return len(self.pieces)

    def __contains__(self, piece: object) -> bool:
        return piece in self._ids

    def id_of(self, piece: str) -> int:
        """Return the id of a piece, or the id of ``<unk>``."""
        return self._ids.get(piece, UNK_ID)

    def piece_of(self, piece_id: int) -> str:
        """Return the piece with this id."""
        if not 0 <= piece_id < len(self.pieces):
            raise TokenizerError(
                f"id must be from 0 to {len(self.pieces) - 1}, got {piece_id}; it comes from another vocabulary"
            )
        return self.pieces[piece_id]

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], *, kind: str, size: int | None = None, min_frequency: int = 1
    ) -> Self:
        """Keep the most frequent pieces: at most ``size`` with the specials, each seen ``min_frequency`` times or more.

        Equal counts are ordered by code points, so the result does not depend on the order of counting.
        """
        check_limits(size, min_frequency)
        if reserved := [piece for piece in SPECIALS if piece in counts]:
            raise TokenizerError(f"counts must hold no special piece, got {reserved[0]!r}; they come by themselves")
        frequent = [piece for piece, count in counts.items() if count >= min_frequency]
        if not frequent:
            raise TokenizerError(
                f"counts must hold a piece seen at least {min_frequency} times, got none of {len(counts)}; "
                "lower min_frequency or give more text"
            )
        frequent.sort(key=lambda piece: (-counts[piece], piece))
        kept = len(frequent) if size is None else size - len(SPECIALS)
        return cls(kind, SPECIALS + tuple(frequent[:kept]))

    def to_bytes(self) -> bytes:
        """Write the vocabulary as JSON, one piece a line, the same bytes for the same vocabulary."""
        document = {"format": _FORMAT, "version": _VERSION, "kind": self.kind, "pieces": self.pieces}
        return (json.dumps(document, ensure_ascii=False, indent=0) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote, and refuse anything else."""
        document = _read_json(data)
        expected = {"format", "version", "kind", "pieces"}
        if not isinstance(document, dict) or set(document) != expected:
            got = sorted(document) if isinstance(document, dict) else type(document).__name__
            raise TokenizerError(f"vocabulary file must hold exactly {', '.join(sorted(expected))}, got {got}; {_MEND}")
        if document["format"] != _FORMAT or type(document["version"]) is not int or document["version"] != _VERSION:
            got = f"{document['format']!r} version {document['version']!r}"
            raise TokenizerError(f"vocabulary file must be {_FORMAT!r} version {_VERSION}, got {got}; {_MEND}")
        kind, pieces = document["kind"], document["pieces"]
        if not isinstance(kind, str) or not isinstance(pieces, list):
            raise TokenizerError(f"vocabulary file must hold a name and a list of pieces, got {kind!r}; {_MEND}")
        for piece in pieces:
            if not isinstance(piece, str):
                raise TokenizerError(f"pieces must be strings, got {piece!r}; {_MEND}")
        return cls(kind, tuple(pieces))


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key comes twice")
    return document


def _read_json(data: bytes) -> object:
    try:
        return json.loads(data.decode(), object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"vocabulary file must be JSON in UTF-8, got a fault: {error}; {_MEND}") from None


def check_limits(size: int | None, min_frequency: int) -> None:
    """Refuse limits under which no vocabulary can be built."""
    if size is not None and size <= len(SPECIALS):
        raise ConfigError(
            f"size must be at least {len(SPECIALS) + 1}, got {size}; it counts the {len(SPECIALS)} special pieces"
        )
    if min_frequency < 1:
        raise ConfigError(f"min_frequency must be at least 1, got {min_frequency}; 1 keeps every piece")


def count_pieces(sentences: Iterable[Iterable[str]], *, most: int) -> Counter[str]:
    """Count pieces while holding at most ``most`` different ones, so that memory does not grow with the corpus.

    Counts are exact until then. Each time there are more, the rarest are forgotten: first those seen once, at the
    next time those seen at most twice, and so on. Frequent pieces, the ones a vocabulary keeps, are hardly touched.
    """
    counts: Counter[str] = Counter()
    floor = 0
    for pieces in sentences:
        counts.update(pieces)
        while len(counts) > most:
            floor += 1
            counts = Counter({piece: count for piece, count in counts.items() if count > floor})
    return counts
