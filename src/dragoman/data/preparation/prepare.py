"""All stages in their order, and the folder they make."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TextIO

from dragoman.config import Config, CorpusConfig, DataConfig
from dragoman.data.chunk import Reader
from dragoman.data.files import sha256_of, whole, write_json
from dragoman.data.pairs import SIDES
from dragoman.data.preparation.clean import Cleaned, Recipe, clean_corpus
from dragoman.data.preparation.manifest import FORMAT, MANIFEST, REPORT, Prepared
from dragoman.data.preparation.select import Selected, select_pairs
from dragoman.data.preparation.tokenizers import Tokenizers, learn_tokenizers
from dragoman.data.preparation.write import write_shards
from dragoman.data.progress import Progress
from dragoman.data.readers.open import open_corpus
from dragoman.data.readers.streams import STDIN, is_url, open_raw
from dragoman.data.workers import Workers
from dragoman.errors import ConfigError, DataError

__all__ = ["Preparation", "Source"]

_BLOCK = 1 << 20
_WORK = "work"


Role = Literal["train", "validation", "test"]


@dataclass(frozen=True)
class Source:
    """One corpus of the configuration, opened."""

    role: Role
    settings: CorpusConfig
    reader: Reader
    fingerprints: dict[str, str]


class Preparation:
    """The stages, each run when it is first asked for; what an earlier run left behind is taken up.

    One that is `tolerant` goes on past bad lines and bad files: it counts the lines, and says of the files in
    `problems` what is wrong with them.

    Use it in a ``with`` block: only one at a time may work in a folder, and its processes end with the block.
    """

    def __init__(
        self,
        config: Config,
        folder: Path,
        *,
        processes: int,
        progress: Progress,
        tolerant: bool = False,
    ) -> None:
        if config.data is None:
            raise ConfigError(
                "the configuration must have a [data] section, got none; dragoman new writes one for your files"
            )
        self.config = config
        self.data: DataConfig = config.data
        self.base = folder
        self.folder = folder / config.data.folder
        self.work = self.folder / _WORK
        self._workers = Workers(processes)
        self._progress = progress
        self._lock: TextIO | None = None
        self._tolerant = tolerant
        self.problems: list[str] = []

    def __enter__(self) -> Self:
        self.work.mkdir(parents=True, exist_ok=True)
        self._lock = (self.work / "lock").open("w", encoding="utf-8")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise DataError(
                f"{self.folder} must be prepared by one command at a time, got another at work there; wait for it"
            ) from None
        for draft in self.work.rglob("*.tmp"):  # of a run that was killed
            draft.unlink()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._workers.close()
        assert self._lock is not None
        self._lock.close()

    @cached_property
    def sources(self) -> list[Source]:
        """Every corpus, opened and hashed: training, then validation, then test."""
        named: list[tuple[Role, CorpusConfig]] = [("train", corpus) for corpus in self.data.train]
        named += [("validation", corpus) for corpus in ([self.data.validation] if self.data.validation else [])]
        named += [("test", corpus) for corpus in self.data.test]
        self._progress.begin("looking at the files")
        opened = []
        for role, corpus in named:
            with self._tolerating():
                corpus = self._spooled(corpus)
                reader = open_corpus(corpus, source=self.data.source, target=self.data.target, folder=self.base)
                opened.append(Source(role, corpus, reader, self._fingerprints(reader.files())))
        return opened

    def _fingerprints(self, files: list[str]) -> dict[str, str]:
        with ThreadPoolExecutor(self._workers.processes) as pool:  # hashing leaves the interpreter free
            digests = pool.map(_fingerprint, files)
            return {self._named(file): digest for file, digest in zip(files, digests, strict=True)}

    def _named(self, file: str) -> str:
        """A file in the configuration's folder by its place there: the same wherever the command is run from."""
        inside = not is_url(file) and Path(file).resolve().is_relative_to(self.base.resolve())
        return str(Path(file).resolve().relative_to(self.base.resolve())) if inside else file

    @contextmanager
    def _tolerating(self) -> Iterator[None]:
        try:
            yield
        except DataError as error:
            if not self._tolerant:
                raise
            self.problems += str(error).splitlines()

    def _spooled(self, corpus: CorpusConfig) -> CorpusConfig:
        """Standard input can be read once only, so it becomes a file."""
        if STDIN not in corpus.files:
            return corpus
        raw, _ = open_raw("/dev/stdin")
        spool = self.work / "standard-input"
        with whole(spool) as draft, draft.open("wb") as file, closing(raw):
            shutil.copyfileobj(raw, file, _BLOCK)
        return corpus.model_copy(update={"files": [str(spool) if name == STDIN else name for name in corpus.files]})

    @cached_property
    def cleaned(self) -> list[tuple[Source, Cleaned]]:
        """Every corpus, cleaned."""
        cleaned = []
        for source in self.sources:
            with self._tolerating():
                cleaned.append((source, self._clean(source)))
        return cleaned

    def _clean(self, source: Source) -> Cleaned:
        recipe = Recipe.of(self.data, self.config.tokenizer.normal_form, held_out=source.role != "train")
        return clean_corpus(
            source.settings,
            source.reader,
            recipe,
            work=self.work,
            fingerprints=source.fingerprints,
            workers=self._workers,
            progress=self._progress,
            stop_at_fault=self.data.on_bad_line == "error" and not self._tolerant,
        )

    @cached_property
    def selected(self) -> Selected:
        """Which pairs are kept."""
        return select_pairs(
            [cleaned for source, cleaned in self.cleaned if source.role == "train"],
            [(source.role, cleaned) for source, cleaned in self.cleaned if source.role != "train"],
            self.data,
            work=self.work,
            workers=self._workers,
            progress=self._progress,
        )

    @cached_property
    def tokenizers(self) -> Tokenizers:
        """The tokenizer of each side."""
        return learn_tokenizers(
            self.selected, self.config.tokenizer, seed=self.data.seed, work=self.work, progress=self._progress
        )

    def write(self) -> Prepared:
        """Write shards, tokenizers, report and, last, the manifest: then the folder is what the settings say."""
        tokenizers = self.tokenizers
        shards = write_shards(
            self.selected,
            tokenizers,
            self.data,
            folder=self.folder,
            workers=self._workers,
            progress=self._progress,
        )
        saved = {side: self._save_tokenizer(side, tokenizers) for side in SIDES}
        texts = self._write_texts()
        write_json(self.folder / REPORT, self.report(shards))
        write_json(self.folder / MANIFEST, self._manifest(shards, saved, texts))
        self._forget(shards["folder"])
        return Prepared.open(self.folder)

    def _save_tokenizer(self, side: str, tokenizers: Tokenizers) -> dict[str, Any]:
        """Copy a tokenizer to where people look for it."""
        (path,) = tokenizers.folders[side].glob("tokenizer.*")
        home = self.folder if self.config.tokenizer.joint else self.folder / side
        home.mkdir(exist_ok=True)
        with whole(home / path.name) as draft:
            shutil.copyfile(path, draft)
        return self._entry(home / path.name)

    def _write_texts(self) -> list[dict[str, Any]]:
        """Sets that were taken out of the training corpora, as text: they are to be translated and looked at."""
        entries = []
        for split in self.selected.taken:
            frame = self.selected.taken_frame(split)
            for side in SIDES:
                path = self.folder / f"{split}.{getattr(self.data, side)}"
                with whole(path) as draft:
                    draft.write_bytes("".join(f"{text}\n" for text in frame[side]).encode())
                entries.append(self._entry(path))
        return entries

    def _entry(self, path: Path) -> dict[str, Any]:
        return {
            "path": path.relative_to(self.folder).as_posix(),
            "bytes": path.stat().st_size,
            "sha256": sha256_of(path),
        }

    def report(self, shards: dict[str, Any] | None = None) -> dict[str, Any]:
        """What was read, mended and dropped, with examples."""
        return {
            "corpora": [
                {
                    "name": cleaned.name,
                    "role": source.role,
                    "files": source.fingerprints,
                    "summary": cleaned.summary.to_json(),
                }
                for source, cleaned in self.cleaned
            ],
            "selection": self.selected.to_json(),
            "too_long": {split: said["drops"] for split, said in (shards or {"splits": {}})["splits"].items()},
        }

    def _manifest(
        self, shards: dict[str, Any], tokenizers: dict[str, Any], texts: list[dict[str, Any]]
    ) -> dict[str, Any]:
        loaded = self.tokenizers.load()
        return {
            "format": FORMAT,
            "source": self.data.source,
            "target": self.data.target,
            "inputs": {file: digest for source in self.sources for file, digest in source.fingerprints.items()},
            "settings": {
                "data": self.data.model_dump(exclude={"on_bad_line"}),
                "tokenizer": self.config.tokenizer.model_dump(),
            },
            "tokenizers": {side: tokenizers[side] | {"pieces": loaded[side].size} for side in SIDES},
            "splits": {split: self._split(split, shards["folder"], said) for split, said in shards["splits"].items()},
            "texts": texts,
        }

    def _split(self, split: str, folder: str, said: dict[str, Any]) -> dict[str, Any]:
        listed = [shard | {"path": f"{folder}/{shard['path']}"} for shard in said["shards"]]
        corpora, first = [], 0
        for number in sorted({shard["corpus"] for shard in listed}):
            rows = sum(shard["rows"] for shard in listed if shard["corpus"] == number)
            settings = self.data.train[number] if split == "train" else None
            name = self.selected.train_names[number] if settings else split
            corpora.append(
                {"name": name, "first_row": first, "rows": rows, "weight": settings.weight if settings else 1.0}
            )
            first += rows
        return {"rows": said["rows"], "pieces": said["pieces"], "corpora": corpora, "shards": listed}

    def _forget(self, shards: str) -> None:
        """Remove what earlier settings left behind."""
        used = {cleaned.folder.name for _, cleaned in self.cleaned} | {self.selected.folder.name, shards}
        used |= {f"tokenizer-{self.tokenizers.key}"}
        for old in (*self.work.glob("*-*/"), *self.folder.glob("shards-*/")):
            if old.is_dir() and old.name not in used:
                shutil.rmtree(old)
        if not self.config.tokenizer.joint:
            for old in self.folder.glob("tokenizer.*"):
                old.unlink()
        else:
            for side in SIDES:
                shutil.rmtree(self.folder / side, ignore_errors=True)


def _fingerprint(file: str) -> str:
    """The SHA-256 of a file as it is stored."""
    digest = hashlib.sha256()
    raw, _ = open_raw(file)
    with closing(raw):
        while block := raw.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
