"""Lexical shortlist: the target tokens that may translate each source token, for a smaller output layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from dragoman.errors import BundleError
from dragoman.text import EOS_ID, SPECIALS

_NAMES = {"always", "offsets", "tokens"}
_FIX = "write the bundle again, or leave the shortlist out"


@dataclass(frozen=True)
class Shortlist:
    """`tokens[offsets[s] : offsets[s + 1]]` of a source token s, and `always`; with 16 bits if they suffice."""

    always: NDArray[np.int64]
    offsets: NDArray[np.int32]
    tokens: NDArray[np.int32] | NDArray[np.uint16]

    @classmethod
    def of_lists(cls, always: Sequence[int], lists: Sequence[Sequence[int] | NDArray[np.int64]]) -> Self:
        """A shortlist from one list of target tokens per source token; the special tokens are always included."""
        offsets = np.cumsum([0, *map(len, lists)], dtype=np.int32)
        tokens = np.concatenate([np.empty(0, np.int32), *(np.asarray(each, np.int32) for each in lists)])
        return cls(distinct([*range(len(SPECIALS)), *always]), offsets, tokens)

    @classmethod
    def from_bytes(cls, data: bytes, source_vocab: int, target_vocab: int) -> Self:
        """Parse and check the file of a bundle with vocabularies of these sizes."""
        try:
            arrays = load(data)
        except (SafetensorError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise BundleError(f"the shortlist of a bundle must be safetensors, got: {error}; {_FIX}") from None
        if arrays.keys() != _NAMES or any(_is_other(*each) for each in arrays.items()):
            raise BundleError(f"the shortlist of the bundle does not hold three lists of integers; {_FIX}")
        always, offsets, tokens = (arrays[name] for name in ("always", "offsets", "tokens"))
        if len(offsets) != source_vocab + 1 or offsets[0] != 0 or offsets[-1] != len(tokens):
            raise BundleError(f"the shortlist must have one list per source token, got {len(offsets):,}; {_FIX}")
        if (offsets[1:] < offsets[:-1]).any():
            raise BundleError(f"the lists of the shortlist are not in order; {_FIX}")
        if any(each.min(initial=0) < 0 or each.max(initial=0) >= target_vocab for each in (always, tokens)):
            raise BundleError(f"the shortlist holds tokens that are not below {target_vocab:,}; {_FIX}")
        return cls(distinct([*range(len(SPECIALS)), *always.tolist()]), offsets, _small(tokens))

    def to_bytes(self) -> bytes:
        arrays = {"always": self.always.astype(np.int32), "offsets": self.offsets, "tokens": _small(self.tokens)}
        return bytes(save(arrays))

    def candidates(self, source: Sequence[int]) -> NDArray[np.int64]:
        """The target tokens of a sentence (token ids without specials), each once, in no order."""
        parts = [self.tokens[self.offsets[word] : self.offsets[word + 1]] for word in sorted({*source, EOS_ID})]
        return np.concatenate([self.always, *parts])


def distinct(numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers in order, each once. `numpy.unique` would import `numpy.ma`."""
    ordered = np.sort(np.asarray(numbers, np.int64))
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _small(tokens: NDArray[Any]) -> NDArray[Any]:
    """Return numbers with 16 bits if they suffice."""
    return tokens.astype(np.uint16, copy=False) if tokens.max(initial=0) < 1 << 16 else tokens


def _is_other(name: str, array: NDArray[Any]) -> bool:
    """Whether a list has another type than those that are written; earlier versions wrote all tokens with 32 bits."""
    return array.ndim != 1 or array.dtype not in ((np.int32, np.uint16) if name == "tokens" else (np.int32,))
