"""Vocabulary: tokens and their ids, beginning with the four special tokens, and the size that a text needs."""

import functools
import json
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import accumulate
from typing import Self, overload

import numpy as np

from dragoman.errors import ConfigError, DataError, TokenizerError
from dragoman.text.characters import check_unicode

SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
"""Tokens that have no text, in the order of their ids."""

PAD_ID, UNK_ID, BOS_ID, EOS_ID = range(len(SPECIALS))
"""Padding is 0, so that an array of zeros is an array of padding."""

UNKNOWN = SPECIALS[UNK_ID]

_REMEDY = "restore the file that was saved with the model"
_FORMAT = "dragoman-vocabulary"
_VERSION = 2
_BYTES = 256
_STEP = 100


@functools.cache
def _numbers(bits: int) -> tuple[int, ...]:
    """Numbers that the vocabularies of a process share, since each takes 28 bytes."""
    return tuple(range(1 << bits))


class CompactTokens(Sequence[str]):
    """Tokens as one text, with their ids by hash: a tenth of the memory, and no objects that keep freed memory in use.

    A look-up takes a microsecond, several times that of a dictionary.
    """

    __slots__ = ("_ends", "_hashes", "_ids", "_text")

    def __init__(self, tokens: Sequence[str]) -> None:
        self._text = "".join(tokens)
        self._ends = array("i", (0, *accumulate(map(len, tokens))))
        hashes = np.fromiter(map(hash, tokens), np.int64, len(tokens))
        order = np.argsort(hashes)
        self._hashes, self._ids = array("q", hashes[order].tobytes()), array("i", order.astype(np.int32).tobytes())

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...

    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(len(self))))
        number = range(len(self))[place]
        return self._text[self._ends[number] : self._ends[number + 1]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CompactTokens) and (self._text, self._ends) == (other._text, other._ends)

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[object, tuple[tuple[str, ...]]]:
        return CompactTokens, (tuple(self),)  # hashes differ between processes

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str) and self.get(token, -1) >= 0

    def get(self, token: str, default: int) -> int:
        """Return the id of a token."""
        wanted = hash(token)
        place = bisect_left(self._hashes, wanted)
        while place < len(self._hashes) and self._hashes[place] == wanted:
            if self[self._ids[place]] == token:
                return self._ids[place]
            place += 1
        return default


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Different tokens and their ids, the first four being `SPECIALS`; ``kind`` names their tokenizer."""

    kind: str
    tokens: Sequence[str]
    is_compact: InitVar[bool] = False
    """Keep `CompactTokens`: for a vocabulary that is read, not for one with which a corpus is tokenized."""
    _ids: dict[str, int] | CompactTokens = field(init=False, repr=False, compare=False)

    def __post_init__(self, is_compact: bool) -> None:
        if self.tokens[: len(SPECIALS)] != SPECIALS:
            raise TokenizerError(
                f"vocabulary must be headed by {' '.join(SPECIALS)}, got {list(self.tokens[: len(SPECIALS)])}; "
                "train the tokenizer again with Dragoman"
            )
        ids = dict(zip(self.tokens, _numbers(len(self.tokens).bit_length()), strict=False))
        if len(ids) != len(self.tokens):
            twice = next(token for token, count in Counter(self.tokens).items() if count > 1)
            raise TokenizerError(f"vocabulary must hold each token once, got {twice!r} again; keep one of the two")
        if "" in ids:
            raise TokenizerError(f"the token with id {ids['']} of the vocabulary is empty; leave it out")
        try:
            check_unicode("".join(self.tokens))
        except DataError as error:
            raise TokenizerError(f"vocabulary holds a token that is not text: {error}") from None
        if is_compact:
            object.__setattr__(self, "tokens", CompactTokens(self.tokens))
        object.__setattr__(self, "_ids", self.tokens if is_compact else ids)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def id_of(self, token: str) -> int:
        """Return the id of a token, or the id of ``<unk>``."""
        return self._ids.get(token, UNK_ID)

    def token_of(self, token_id: int) -> str:
        """Return the token with this id."""
        if not 0 <= token_id < len(self.tokens):
            raise TokenizerError(
                f"id must be from 0 to {len(self.tokens) - 1}, got {token_id}; it comes from another vocabulary"
            )
        return self.tokens[token_id]

    def tokens_of(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens with these ids, faster than one at a time."""
        ids = list(ids)
        if ids and not 0 <= min(ids) <= max(ids) < len(self.tokens):
            return list(map(self.token_of, ids))  # raises the error
        return list(map(self.tokens.__getitem__, ids))

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], *, kind: str, size: int | None = None, min_frequency: int = 1
    ) -> Self:
        """Keep the ``size`` most frequent tokens seen ``min_frequency`` times; ties are in order of code points."""
        check_limits(size, min_frequency)
        if reserved := [token for token in SPECIALS if token in counts]:
            raise TokenizerError(f"counts must hold no special token, got {reserved[0]!r}; leave it out")
        frequent = [token for token, count in counts.items() if count >= min_frequency]
        if not frequent:
            raise TokenizerError(
                f"none of {len(counts)} tokens was seen {min_frequency} times; lower min_frequency or give more text"
            )
        frequent.sort(key=lambda token: (-counts[token], token))
        kept = len(frequent) if size is None else size - len(SPECIALS)
        return cls(kind, SPECIALS + tuple(frequent[:kept]))

    def to_bytes(self) -> bytes:
        """Write the vocabulary as JSON, one token per line; equal vocabularies give the same bytes."""
        document = {"format": _FORMAT, "version": _VERSION, "kind": self.kind, "tokens": self.tokens}
        return (json.dumps(document, ensure_ascii=False, indent=0) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote."""
        document = _read_json(data)
        expected = {"format", "version", "kind", "tokens"}
        if not isinstance(document, dict) or set(document) != expected:
            got = sorted(document) if isinstance(document, dict) else type(document).__name__
            raise TokenizerError(
                f"vocabulary file must hold exactly {', '.join(sorted(expected))}, got {got}; {_REMEDY}"
            )
        if document["format"] != _FORMAT or type(document["version"]) is not int or document["version"] != _VERSION:
            got = f"{document['format']!r} version {document['version']!r}"
            raise TokenizerError(f"vocabulary file must be {_FORMAT!r} version {_VERSION}, got {got}; {_REMEDY}")
        kind, tokens = document["kind"], document["tokens"]
        if not isinstance(kind, str) or not isinstance(tokens, list):
            raise TokenizerError(f"vocabulary file must hold a name and a list of tokens, got {kind!r}; {_REMEDY}")
        for token in tokens:
            if not isinstance(token, str):
                raise TokenizerError(f"tokens must be strings, got {token!r}; {_REMEDY}")
        return cls(kind, tuple(tokens))


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key is repeated")
    return document


def _read_json(data: bytes) -> object:
    try:
        return json.loads(data.decode(), object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"the vocabulary file must be JSON in UTF-8: {error}; {_REMEDY}") from None


def check_limits(size: int | None, min_frequency: int) -> None:
    """Raise `ConfigError` for limits with which no vocabulary can be built."""
    if size is not None and size <= len(SPECIALS):
        raise ConfigError(
            f"size must be at least {len(SPECIALS) + 1}, got {size}; it counts the {len(SPECIALS)} special tokens"
        )
    if min_frequency < 1:
        raise ConfigError(f"min_frequency must be at least 1, got {min_frequency}; 1 keeps every token")


def count_tokens(sentences: Iterable[Iterable[str]], *, max_distinct: int) -> Counter[str]:
    """Count tokens; beyond ``max_distinct`` the rarest are dropped, so memory does not grow with the corpus."""
    counts: Counter[str] = Counter()
    floor = 0
    for tokens in sentences:
        counts.update(tokens)
        while len(counts) > max_distinct:
            floor += 1
            counts = Counter({token: count for token, count in counts.items() if count > floor})
    return counts


def count_needed_tokens(characters: Counter[str], coverage: float) -> int:
    """Return the number of tokens that are no subwords: special tokens, bytes, and characters up to the coverage.

    An alphabet has about a hundred frequent characters; Chinese and Japanese have thousands, which leave no room for
    subwords in a vocabulary of the usual size.
    """
    left = coverage * characters.total()
    needed = 0
    for _, count in characters.most_common():
        if left <= 0:
            break
        left -= count
        needed += 1
    return len(SPECIALS) + _BYTES + needed


def fitting_size(needed: int, size: int) -> int:
    """Return a size of which at least a third is left for subwords: `size`, or more if the characters need it."""
    return size if needed <= size // 2 else -(-(needed + size // 2) // _STEP) * _STEP
