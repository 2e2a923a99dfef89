"""A folder of prepared data, as training finds it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from dragoman.config import Config, SamplingConfig
from dragoman.data.files import sha256_of
from dragoman.data.pairs import SIDES
from dragoman.data.preparation.stage import read_json
from dragoman.data.sampling import CorpusRows, Plan
from dragoman.data.shards import Shards
from dragoman.errors import DataError
from dragoman.text import Tokenizer, tokenizer_from_bytes

__all__ = ["FORMAT", "MANIFEST", "Prepared", "REPORT"]

MANIFEST = "manifest.json"
REPORT = "report.json"

FORMAT = 1
"""The version of the folder's layout; another one is refused."""

_MEND = "run dragoman prepare again"


@dataclass(frozen=True)
class Prepared:
    """What ``dragoman prepare`` wrote: shards, tokenizers, and a manifest with the hash of each file."""

    folder: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Read the manifest, and see that every file is there in its full size."""
        manifest = read_json(folder / MANIFEST)
        if manifest is None:
            raise DataError(f"{folder} must hold prepared data, got no {MANIFEST}; run dragoman prepare first")
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            found = manifest.get("format") if isinstance(manifest, dict) else None
            raise DataError(f"{folder / MANIFEST} must be of format {FORMAT}, got {found!r}; {_MEND}")
        prepared = cls(folder, manifest)
        for path, entry in prepared._files():
            size = path.stat().st_size if path.is_file() else None
            if size != entry["bytes"]:
                got = "no file" if size is None else f"{size:,} bytes"
                raise DataError(f"{path} must have {entry['bytes']:,} bytes, got {got}; {_MEND}")
        return prepared

    def verify(self) -> None:
        """Compare every file with its hash, however long that takes."""
        for path, entry in self._files():
            if sha256_of(path) != entry["sha256"]:
                raise DataError(f"{path} must be as it was written, got other content; {_MEND}")

    @property
    def splits(self) -> list[str]:
        """The names of the sets: train, and validation if there is one."""
        return list(self.manifest["splits"])

    def shards(self, split: str = "train") -> Shards:
        """The pairs of a set."""
        listed = self.manifest["splits"][split]["shards"]
        return Shards([self.folder / shard["path"] for shard in listed], [shard["rows"] for shard in listed])

    def corpora(self, split: str = "train") -> list[CorpusRows]:
        """Which rows belong to which corpus, and how often they are to be drawn."""
        return [CorpusRows(**corpus) for corpus in self.manifest["splits"][split]["corpora"]]

    def plan(self, config: Config, split: str = "train") -> Plan:
        """The batches that a configuration asks for; a set that is not trained on is drawn from evenly."""
        sampling = config.data.sampling if config.data else SamplingConfig()
        return Plan(
            self.corpora(split),
            self.shards(split).lengths,
            seed=config.training.seed,
            batch_tokens=config.training.batch_tokens,
            window=sampling.window,
            temperature=sampling.temperature,
        )

    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizer of each side; a joint one is one object. The files are verified before they are parsed."""
        read: dict[str, Tokenizer] = {}
        for side in SIDES:
            entry = self.manifest["tokenizers"][side]
            if entry["path"] not in read:
                path = self.folder / entry["path"]
                content = path.read_bytes()
                if hashlib.sha256(content).hexdigest() != entry["sha256"]:
                    raise DataError(f"{path} must be as it was written, got other content; {_MEND}")
                read[entry["path"]] = tokenizer_from_bytes(path.name, content)
        return {side: read[self.manifest["tokenizers"][side]["path"]] for side in SIDES}

    def _files(self) -> list[tuple[Path, dict[str, Any]]]:
        entries = list(self.manifest["tokenizers"].values())
        entries += [shard for split in self.manifest["splits"].values() for shard in split["shards"]]
        entries += self.manifest["texts"]
        return [(self.folder / entry["path"], entry) for entry in entries]
