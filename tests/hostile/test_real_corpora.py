"""Published corpora: suspicious characters are noted, and no false misalignment is reported."""

import gzip
import re
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from dragoman.config.corpus import CorpusConfig
from dragoman.data.readers.corpus_reader import open_corpus
from dragoman.data.readers.shifted_lines import find_misaligned_spans
from dragoman.data.reason_counts import Tally

ROWS = 65_536


def read(folder: Path, source: str, target: str) -> tuple[int, Tally, Tally]:
    records, faults, notes = 0, Tally(), Tally()
    reader = open_corpus(CorpusConfig(files=[source, target]), source="de", target="en", folder=folder)
    for chunk in reader.chunks(ROWS):
        lines = chunk.read(max_line_bytes=100_000)
        assert lines.frame.height == lines.records
        records += lines.records
        faults.merge(lines.faults)
        notes.merge(lines.notes)
    return records, faults, notes


def test_next_line_characters_do_not_end_lines(corpora: Path):
    records, faults, notes = read(corpora / "newstest", "newstest2009.de.gz", "newstest2009.en.gz")
    assert records == 2525
    assert not faults.total
    found = notes.examples["line separator inside a line"]
    assert all(example.file.endswith("newstest2009.de.gz") and "U+0085" in example.detail for example in found)
    with gzip.open(corpora / "newstest" / "newstest2009.de.gz", "rt", encoding="utf-8", newline="\n") as file:
        odd = [number for number, line in enumerate(file, 1) if "\u0085" in line]
    assert [example.line for example in found] == odd


def test_wrongly_decoded_quotes_are_seen(corpora: Path):
    records, faults, notes = read(corpora / "newstest", "newstest2008.de.gz", "newstest2008.en.gz")
    assert records == 2051
    assert not faults.total
    assert notes.counts["C1 control character"] > 50


def test_texts_are_exactly_those_of_the_files(corpora: Path):
    names = "newstest2009.de.gz", "newstest2009.en.gz"
    reader = open_corpus(CorpusConfig(files=list(names)), source="de", target="en", folder=corpora / "newstest")
    frames = [chunk.read(max_line_bytes=100_000).frame for chunk in reader.chunks(1000)]
    for side, name in zip(("source", "target"), names, strict=True):
        texts = [text for frame in frames for text in frame[side]]
        assert "".join(f"{text}\n" for text in texts).encode() == gzip.decompress(
            (corpora / "newstest" / name).read_bytes()
        )


@pytest.mark.slow
def test_no_published_corpus_looks_shifted(corpora: Path):
    sides: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(corpora.glob("*/*.gz")):
        match = re.fullmatch(r"(.*)\.[a-z]{2}\.gz", str(path))
        if match:
            sides[match[1]].append(path)
    assert len(sides) > 50
    lengths = {path: line_lengths(path) for paths in sides.values() for path in paths}
    fired = [
        (one, other, found)
        for paths in sides.values()
        for one, other in combinations(paths, 2)
        for start in range(0, len(lengths[one]), ROWS)
        if (found := find_misaligned_spans(lengths[one][start : start + ROWS], lengths[other][start : start + ROWS]))
    ]
    assert not fired


def line_lengths(path: Path) -> np.ndarray:
    return np.array([len(line) for line in gzip.decompress(path.read_bytes()).split(b"\n")[:-1]])
