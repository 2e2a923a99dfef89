"""Corpora of the pool: verified files below a data folder, and corpora whose lines are joined."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from claims.ledger.claim import CorpusFiles, GoldFiles
from claims.measurement.link_statistics import GoldSentences
from claims.measurement.measure_model import read_lines
from claims.pool.pool_model import PoolModel
from dragoman.config import Config, parse_config
from dragoman.errors import DataError
from dragoman.evaluation.word_alignment import parse_gold_links
from dragoman.files import atomic_write, sha256_of_file

_WORD = re.compile(r"\w+(?:-\w+)*|[^\w\s]")  # hyphens belong to words
_SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class PoolCorpus:
    """The files of a corpus, ready to train on: a source file and a target file per split."""

    corpus: CorpusFiles
    files: dict[str, tuple[Path, Path]]
    gold: GoldSentences | None = None
    more_tests: tuple[tuple[Path, Path], ...] = ()

    def config(self, model: PoolModel, prepared: Path) -> Config:
        """Return the configuration of a model with its data section."""
        table = model.config.model_dump(exclude_none=True)
        table["data"] = {
            "source": self.corpus.source,
            "target": self.corpus.target,
            "folder": str(prepared),
            "train": [{"files": [str(path) for path in self.files["train"]]}],
            "validation": {"files": [str(path) for path in self.files["validation"]]},
        }
        return parse_config(table)

    def test(self) -> tuple[list[str], list[str]]:
        """Return the sources and the references of all test sets."""
        pairs = [self.files["test"], *self.more_tests]
        sources, references = ([line for pair in pairs for line in read_lines(pair[side])] for side in (0, 1))
        return sources, references


def open_corpus_files(corpus: CorpusFiles, data: Path, work: Path) -> PoolCorpus:
    """Verify the files of a corpus, and write the joined ones into `work` if it joins lines."""
    files: dict[str, tuple[Path, Path]] = {}
    for split in _SPLITS:
        source, target = (_verified(data / name, corpus.sha256.get(name)) for name in getattr(corpus, split))
        files[split] = (source, target)
    if corpus.join:
        sizes = dict.fromkeys(_SPLITS, corpus.join) | {"test": corpus.test_join or corpus.join}
        files = {split: _joined(pair, corpus, sizes[split], work / split) for split, pair in files.items()}
    if corpus.gold is None:
        more = [tuple(_verified(data / name, corpus.sha256.get(name)) for name in pair) for pair in corpus.more_tests]
        return PoolCorpus(corpus, files, more_tests=tuple((source, target) for source, target in more))
    names = (corpus.gold.source, corpus.gold.target, corpus.gold.links)
    gold = _gold_sentences([_verified(data / name, corpus.sha256.get(name)) for name in names], corpus.gold)
    files = {split: _separated(pair, corpus, split, work / split) for split, pair in files.items()}
    return PoolCorpus(corpus, files, gold)


def joined_lines(lines: list[str], groups: list[int], order: list[int]) -> list[str]:
    """Join lines, taken in `order`, to texts of 1, 2, … lines: the sizes in `groups` are repeated in rotation."""
    joined, first, count = [], 0, 0
    while first < len(order):
        size = groups[count % len(groups)]
        joined.append(" ".join(lines[place] for place in order[first : first + size]))
        first, count = first + size, count + 1
    return joined


def separated_words(text: str) -> str:
    """Write a text like hand-aligned ones: lower case, with spaces between words and punctuation."""
    return " ".join(_WORD.findall(text.lower().replace("’", "'")))


def _separated(pair: tuple[Path, Path], corpus: CorpusFiles, split: str, folder: Path) -> tuple[Path, Path]:
    assert corpus.gold is not None
    lines = [
        tuple(separated_words(text) for text in texts)
        for texts in zip(*(read_lines(path) for path in pair), strict=True)
    ]
    if split == "train":
        lines = [texts for texts in lines if all(0 < len(text.split()) <= corpus.gold.max_words for text in texts)]
    source, target = (
        _write(folder / f"separated.{language}.gz", [texts[side] for texts in lines])
        for side, language in enumerate((corpus.source, corpus.target))
    )
    return source, target


def _gold_sentences(paths: Sequence[Path], files: GoldFiles) -> GoldSentences:
    sources, targets, lines = (read_lines(path) for path in paths)
    sides = (targets, sources) if files.is_swapped else (sources, targets)
    lengths = [(len(first.split()), len(second.split())) for first, second in zip(*sides, strict=True)]
    links = parse_gold_links(lines, name=str(paths[2]), first=1, lengths=lengths)
    if files.is_swapped:
        links = [each.swapped() for each in links]
    return GoldSentences([text.lower() for text in sources], [text.lower() for text in targets], links)


def _joined(pair: tuple[Path, Path], corpus: CorpusFiles, sizes: list[int], folder: Path) -> tuple[Path, Path]:
    sides = [read_lines(path) for path in pair]
    order = np.random.default_rng(corpus.seed).permutation(len(sides[0])).tolist()
    source, target = (
        _write(folder / f"joined.{language}.gz", joined_lines(lines, sizes, order))
        for language, lines in zip((corpus.source, corpus.target), sides, strict=True)
    )
    return source, target


def _write(path: Path, lines: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as draft:
        draft.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))
    return path


def _verified(path: Path, digest: str | None) -> Path:
    if not path.is_file():
        raise DataError(f"--data has no file {path.name}: {path} does not exist; name the folder of the corpora")
    if digest is not None and (found := sha256_of_file(path)) != digest:
        raise DataError(
            f"{path} must have the SHA-256 {digest[:12]}…, got {found[:12]}…; use the edition of the ledger"
        )
    return path.resolve()
