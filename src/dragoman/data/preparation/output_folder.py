"""Write the output folder of data preparation and remove outdated files from it."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.config import Config, DataConfig
from dragoman.data.preparation.clean_stage import CleanedCorpus
from dragoman.data.preparation.corpus_sources import CorpusSource
from dragoman.data.preparation.prepared_data import FORMAT, MANIFEST, REPORT, listed_files, settings_of
from dragoman.data.preparation.selected_pairs import SelectedPairs
from dragoman.data.preparation.tokenizer_stage import Tokenizers
from dragoman.data.saved_test_sets import text_file_names
from dragoman.data.token_pairs import SIDES
from dragoman.errors import DataError
from dragoman.files import atomic_write, read_json, sha256_of_file, write_json

_WORK = "work"
_STAGE = re.compile(r"(clean|select|tokenizer|shards|links)-[0-9a-f]{16}")


class OutputFolder:
    """Folder of prepared data and cached stages. Only files written by this class are removed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.work = path / _WORK

    def begin(self) -> Path:
        """Create the folder, or raise `DataError` if it contains other files; return the folder of the stages."""
        if self.path.is_dir() and any(self.path.iterdir()) and not self.work.is_dir():
            raise DataError(f"{self.path} has other files than prepared data; set data.folder to another name")
        self.work.mkdir(parents=True, exist_ok=True)
        return self.work

    def finish(
        self,
        config: Config,
        cleaned: Sequence[tuple[CorpusSource, CleanedCorpus]],
        selected: SelectedPairs,
        tokenizers: Tokenizers,
        shards: dict[str, Any],
        links: list[dict[str, Any]] | None,
        *,
        used: set[str],
    ) -> None:
        """Write everything except shards, the manifest last, and remove files of earlier manifests and stages."""
        assert config.data is not None
        before = self._listed()
        saved = {side: self._save_tokenizer(side, tokenizers, joint=config.tokenizer.joint) for side in SIDES}
        texts = self._write_texts(selected, config.data)
        write_json(self.path / REPORT, _report(cleaned, selected, shards))
        manifest = {
            "format": FORMAT,
            "source": config.data.source,
            "target": config.data.target,
            "inputs": {name: digest for source, _ in cleaned for name, digest in source.digests},
            "settings": settings_of(config),
            "pairs": _accounts(cleaned, selected, shards),
            "tokenizers": saved,
            "splits": {
                name: _split(name, shards["folder"], record, selected, config.data)
                for name, record in shards["splits"].items()
            },
            "texts": texts,
            "report": self._entry(self.path / REPORT),
        }
        if links is not None:
            manifest["links"] = links
        write_json(self.path / MANIFEST, manifest)
        self._forget(before - {entry["path"] for entry in listed_files(manifest)}, used)

    def _listed(self) -> set[str]:
        """Return the files in the manifest of an earlier run."""
        manifest = read_json(self.path / MANIFEST)
        if not isinstance(manifest, dict) or manifest.get("format") not in (1, FORMAT):
            return set()
        return {entry["path"] for entry in listed_files(manifest)}

    def _forget(self, files: set[str], used: set[str]) -> None:
        for file in files:
            (self.path / file).unlink(missing_ok=True)
            if Path(file).parent.name in SIDES:
                (self.path / file).parent.rmdir()
        for folder in (*self.work.iterdir(), *self.path.iterdir()):
            if _STAGE.fullmatch(folder.name) and folder.name not in used:
                shutil.rmtree(folder)

    def _save_tokenizer(self, side: str, tokenizers: Tokenizers, *, joint: bool) -> dict[str, Any]:
        (path,) = tokenizers.folders[side].glob("tokenizer.*")
        home = self.path if joint else self.path / side
        home.mkdir(exist_ok=True)
        with atomic_write(home / path.name) as draft:
            shutil.copyfile(path, draft)
        return self._entry(home / path.name) | {"tokens": tokenizers.load()[side].size}

    def _write_texts(self, selected: SelectedPairs, data: DataConfig) -> list[dict[str, Any]]:
        """Write the sets drawn from the training corpora as text files, one set per pair of languages."""
        entries = []
        languages = [data.languages_of(corpus) for corpus in data.train_pairs()]
        for split in selected.taken:
            for pair in dict.fromkeys(languages):
                corpora = [number for number, each in enumerate(languages) if each == pair]
                frame = selected.taken_frame(split, corpora)
                called = f"{split}.{'-'.join(pair)}" if data.is_multilingual else split
                for side, name in zip(SIDES, text_file_names(called, *pair), strict=True):
                    path = self.path / name
                    with atomic_write(path) as draft:
                        draft.write_bytes("".join(f"{text}\n" for text in frame[side]).encode())
                    entries.append(self._entry(path))
        return entries

    def _entry(self, path: Path) -> dict[str, Any]:
        return {
            "path": path.relative_to(self.path).as_posix(),
            "bytes": path.stat().st_size,
            "sha256": sha256_of_file(path),
        }


def _report(
    cleaned: Sequence[tuple[CorpusSource, CleanedCorpus]], selected: SelectedPairs, shards: dict[str, Any]
) -> dict[str, Any]:
    """Return what was read, repaired and dropped, with examples."""
    return {
        "corpora": [
            {"name": each.name, "role": source.role, "files": dict(source.digests), "summary": each.summary.to_json()}
            for source, each in cleaned
        ],
        "selection": selected.to_json(),
        "too_long": {split: record["drops"] for split, record in shards["splits"].items()},
    }


def _accounts(
    cleaned: Sequence[tuple[CorpusSource, CleanedCorpus]], selected: SelectedPairs, shards: dict[str, Any]
) -> dict[str, Any]:
    """Return the counts of all training pairs that were read, by reason."""
    summaries = [each.summary for source, each in cleaned if source.role == "train"]
    counts: dict[str, int] = {}
    tallies = [*(each.faults.counts for each in summaries), *(each.drops.counts for each in summaries)]
    for tally in (*tallies, selected.drops.counts, shards["splits"]["train"]["drops"]["counts"]):
        for reason, count in tally.items():
            counts[reason] = counts.get(reason, 0) + count
    return {
        "read": sum(each.records for each in summaries),
        "left_out": counts,
        "taken": selected.taken,
        "kept": shards["splits"]["train"]["rows"],
    }


def _split(
    split: str, folder: str, record: dict[str, Any], selected: SelectedPairs, data: DataConfig
) -> dict[str, Any]:
    listed = [shard | {"path": f"{folder}/{shard['path']}"} for shard in record["shards"]]
    settings = data.train_pairs() if split == "train" or not selected.validation else data.validation_sets()
    is_one = split != "train" and not data.is_multilingual
    names = [split] if is_one else [*selected.train_names] if split == "train" else [split] * len(settings)
    corpora, first = [], 0
    for number, name in enumerate(names):
        mine = [shard["rows"] for shard in listed if shard["corpus"] == number or is_one]
        corpus = {"name": name, "first_row": first, "rows": sum(mine)}
        if data.is_multilingual:
            corpus["directions"] = [list(each) for each in data.directions_of(settings[number])]
        corpora.append(corpus)
        first += sum(mine)
    counts = {kind: record[kind] for kind in ("rows", "tokens", "words")}
    return {**counts, "corpora": corpora, "shards": listed}
