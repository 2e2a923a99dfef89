"""Corpora of the pool: verified files below a data folder, and corpora whose lines are joined."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.claims.claim import CorpusFiles
from dragoman.claims.measurement.measure_model import read_lines
from dragoman.claims.pool.pool_model import PoolModel
from dragoman.config import Config, parse_config
from dragoman.errors import DataError
from dragoman.files import atomic_write, sha256_of_file

__all__ = ["PoolCorpus", "joined_lines", "open_corpus_files"]

_SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class PoolCorpus:
    """The files of a corpus, ready to train on: a source file and a target file per split."""

    corpus: CorpusFiles
    files: dict[str, tuple[Path, Path]]

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
        """Return the sources and the references of the test set."""
        source, target = self.files["test"]
        return read_lines(source), read_lines(target)


def open_corpus_files(corpus: CorpusFiles, data: Path, work: Path) -> PoolCorpus:
    """Verify the files of a corpus, and write the joined ones into `work` if it joins lines."""
    files: dict[str, tuple[Path, Path]] = {}
    for split in _SPLITS:
        source, target = (_verified(data / name, corpus.sha256.get(name)) for name in getattr(corpus, split))
        files[split] = (source, target)
    if corpus.join:
        sizes = dict.fromkeys(_SPLITS, corpus.join) | {"test": corpus.test_join or corpus.join}
        files = {split: _joined(pair, corpus, sizes[split], work / split) for split, pair in files.items()}
    return PoolCorpus(corpus, files)


def joined_lines(lines: list[str], groups: list[int], order: list[int]) -> list[str]:
    """Join lines, taken in `order`, to texts of 1, 2, … lines: the sizes in `groups` are repeated in rotation."""
    joined, first, count = [], 0, 0
    while first < len(order):
        size = groups[count % len(groups)]
        joined.append(" ".join(lines[place] for place in order[first : first + size]))
        first, count = first + size, count + 1
    return joined


def _joined(pair: tuple[Path, Path], corpus: CorpusFiles, sizes: list[int], folder: Path) -> tuple[Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    sides = [read_lines(path) for path in pair]
    order = np.random.default_rng(corpus.seed).permutation(len(sides[0])).tolist()
    written = []
    for language, lines in zip((corpus.source, corpus.target), sides, strict=True):
        path = folder / f"joined.{language}.gz"
        with atomic_write(path) as draft:
            text = "\n".join(joined_lines(lines, sizes, order)) + "\n"
            draft.write_bytes(gzip.compress(text.encode(), mtime=0))
        written.append(path)
    return written[0], written[1]


def _verified(path: Path, digest: str | None) -> Path:
    if not path.is_file():
        raise DataError(f"--data must have the file {path.name}, got none at {path}; name the folder of the corpora")
    if digest is not None and (found := sha256_of_file(path)) != digest:
        raise DataError(
            f"{path} must have the SHA-256 {digest[:12]}…, got {found[:12]}…; use the edition of the ledger"
        )
    return path.resolve()
