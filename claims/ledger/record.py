"""Records of trained models: small gzipped JSON files from which every effect and figure is computed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from claims.pool.pool_model import PoolRun
from dragoman.errors import DataError
from dragoman.files import atomic_write

FORMAT = 1
MAIN_SEARCH = "beam-4"
"""Search of all scores for which a claim names no other one."""

_ORDERS = 4
_FileVersion = tuple[int, int, int]  # time of change, size, inode


class MissingStatisticsError(DataError):
    """A record lacks statistics that a comparison requires."""


@dataclass(frozen=True)
class ModelRecord:
    """Everything that is kept of a trained model."""

    facts: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a record; a file of another format is a `DataError`."""
        try:
            facts = json.loads(gzip.decompress(path.read_bytes()))
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"{path} must be a gzipped JSON file, got: {error}; train the model again") from None
        if facts.get("format") != FORMAT:
            raise DataError(f"{path} must have the format {FORMAT}, got {facts.get('format')}; train the model again")
        return cls(facts)

    def write(self, path: Path) -> None:
        """Write the record; the same facts give the same bytes."""
        text = json.dumps(dict(self.facts), ensure_ascii=False, separators=(",", ":"))
        with atomic_write(path) as draft:
            draft.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))

    @property
    def seed(self) -> int:
        """Seed of the training."""
        return int(self.facts["seed"])

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the training."""
        return float(self.facts["training"]["cpu_seconds"])

    @property
    def source_words(self) -> NDArray[np.int64]:
        """Number of words of each test sentence. Shape: [sentences]."""
        return np.array(self.facts["test"]["source_words"], np.int64)

    def bleu_counts(self, search: str = "") -> NDArray[np.int64]:
        """Return BLEU's sentence statistics of a search. Shape: [sentences, 10], as sacreBLEU orders them."""
        searches = self.facts["searches"]
        name = search or MAIN_SEARCH
        if name not in searches:
            raise MissingStatisticsError(
                f"the record of {self.facts['name']} must have the search {name}, got only {', '.join(searches)}; "
                "train the model again with `python -m claims run --fresh`"
            )
        columns = np.array(searches[name]["counts"], np.int64)  # [6, sentences]: both lengths, matches by order
        totals = np.maximum(columns[0] - np.arange(_ORDERS)[:, None], 0)  # [orders, sentences]
        return np.concatenate([columns, totals]).T


@dataclass(frozen=True)
class RecordStore:
    """The folder of all records. A record is parsed once, and again only after its file has changed.

    The facts of a record must not be modified: all readers share them.
    """

    folder: Path
    _parsed: dict[Path, tuple[_FileVersion, ModelRecord]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def path(self, model: PoolRun) -> Path:
        """Return the file of a model's record."""
        return self.folder / f"{model.name}.json.gz"

    def has(self, model: PoolRun) -> bool:
        """Whether a model is trained and measured."""
        return self.path(model).is_file()

    def read(self, model: PoolRun) -> ModelRecord:
        """Return the record of a model."""
        return self._read(self.path(model))

    def all(self, base: str) -> Iterator[ModelRecord]:
        """Yield all records of a base, also those that no claim uses any more."""
        for path in sorted(self.folder.glob(f"{base}-*.json.gz")):
            yield self._read(path)

    def _read(self, path: Path) -> ModelRecord:
        try:
            state = path.stat()
        except OSError:
            return ModelRecord.read(path)  # reports the error
        version = (state.st_mtime_ns, state.st_size, state.st_ino)
        if path not in self._parsed or self._parsed[path][0] != version:
            self._parsed[path] = version, ModelRecord.read(path)
        return self._parsed[path][1]
