"""Read binary lexical shortlists of Marian and Bergamot (lex.*.bin).

Layout: magic number, checksum, number of frequent target tokens, number of tokens per list, length of the offsets,
length of the lists; offsets (uint64), one per source token and the end; lists of target tokens (uint32).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import BundleError
from dragoman.importing.file_formats.binary_reader import BinaryReader

__all__ = ["read_lexical_shortlist"]

_MAGIC = 0xF11A48D5013417F5
_FIX = "get the file again; a folder without it is imported without a shortlist"


def read_lexical_shortlist(
    path: Path, data: bytes, source_vocab: int, target_vocab: int
) -> tuple[int, list[NDArray[np.int64]]]:
    """Return the number of frequent tokens, and the target tokens of each source token. `path` is for messages."""
    reader = BinaryReader(path, data)
    magic, _, frequent, _, offset_count, token_count = reader.numbers("Q", 6)
    if magic != _MAGIC:
        raise BundleError(f"{path} must be a binary shortlist of Marian, got another file; {_FIX}")
    if offset_count != source_vocab + 1:
        raise BundleError(
            f"{path} must have a list for each of {source_vocab:,} source tokens, got {offset_count - 1:,}; {_FIX}"
        )
    offsets = np.frombuffer(reader.bytes(8 * offset_count), "<u8")
    tokens = np.frombuffer(reader.bytes(4 * token_count), "<u4").astype(np.int64)
    reader.check_end()
    if offsets[0] != 0 or offsets[-1] != token_count or (offsets[1:] < offsets[:-1]).any():
        raise BundleError(f"{path} must have lists in order, got other offsets; {_FIX}")
    if tokens.max(initial=0) >= target_vocab:
        raise BundleError(f"{path} must hold tokens below {target_vocab:,}, got {tokens.max():,}; {_FIX}")
    return min(frequent, target_vocab), np.split(tokens, offsets[1:-1].astype(np.int64))
