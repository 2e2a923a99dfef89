"""A corpus cut into chunks and written as preparing does it."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl
from hypothesis import strategies as st

from dragoman.data.duplicates.decisions import DecisionFile
from dragoman.data.duplicates.near_duplicates import write_bands
from dragoman.data.duplicates.pair_keys import KINDS, write_keys

Pair = tuple[str, str]

few_texts = st.sampled_from(["a", "A", "a.", "b", "ab", "", "…", "!", "ä", "語", "語。", "ß", "Σ"])
corpora_of_few_texts = st.lists(st.tuples(few_texts, few_texts), max_size=40)
cuts = st.lists(st.integers(0, 40), max_size=6)


@dataclass(frozen=True)
class Stored:
    """Where everything is."""

    pairs: Sequence[Pair]
    starts: list[int]
    chunk_files: list[Path]
    key_files: list[Path]
    band_files: list[Path]
    decisions: DecisionFile


def frame_of(pairs: Sequence[Pair], first_line: int = 1) -> pl.DataFrame:
    schema = {"source": pl.String, "target": pl.String, "line": pl.UInt32}
    return pl.DataFrame([(*pair, first_line + at) for at, pair in enumerate(pairs)], schema=schema, orient="row")


def store(folder: Path, pairs: Sequence[Pair], cuts: Sequence[int] = (), similarity: float | None = None) -> Stored:
    """Write the pairs as chunks, cut at `cuts`; some of them may be empty."""
    folder.mkdir(parents=True, exist_ok=True)
    edges = [0, *sorted(min(cut, len(pairs)) for cut in cuts), len(pairs)]
    starts, chunk_files, key_files, band_files = [], [], [], []
    for number, (begin, end) in enumerate(pairwise(edges)):
        frame = frame_of(pairs[begin:end], begin + 1)
        starts.append(begin)
        chunk_files.append(folder / f"{number}.arrow")
        frame.write_ipc(chunk_files[-1])
        key_files.append(folder / f"{number}.keys")
        write_keys(frame, key_files[-1], KINDS)
        if similarity is not None:
            band_files.append(folder / f"{number}.bands")
            write_bands(frame, band_files[-1], similarity)
    return Stored(
        pairs, starts, chunk_files, key_files, band_files, DecisionFile.create(folder / "decisions", len(pairs))
    )


def read_lines(path: Path) -> list[str]:
    """The lines of a gzip file, which end at a line feed and nowhere else."""
    return gzip.decompress(path.read_bytes()).decode().removesuffix("\n").split("\n")


def folded(text: str) -> str:
    """Folding, word for word, for the characters that the tests use."""
    return "".join(c for c in text.casefold() if c.isalnum()) or text
