"""Find, open and hash the files of all corpora of a configuration."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from dragoman.config import CorpusConfig, DataConfig
from dragoman.data.reader_protocol import CorpusReader
from dragoman.data.readers.corpus_reader import foreign_encodings, open_corpus
from dragoman.data.readers.streams import STDIN, is_url, open_raw
from dragoman.errors import ConfigError, DataError
from dragoman.files import atomic_write, sha256_of

CorpusRole = Literal["train", "validation", "test"]

_BLOCK = 1 << 20


@dataclass(frozen=True)
class CorpusSource:
    """A corpus: settings, reader, files; `names` in reports are relative to the folder of the configuration."""

    role: CorpusRole
    name: str
    settings: CorpusConfig
    reader: CorpusReader
    names: dict[str, str]
    digests: list[tuple[str, str]]
    stamps: dict[str, tuple[int, int]]

    def foreign_encodings(self) -> dict[str, str]:
        """Return the encodings of the files that are not UTF-8 as a whole."""
        return foreign_encodings(self.settings, self.reader.files()) if self.settings.files != [STDIN] else {}

    def check_unchanged(self) -> None:
        """Raise `DataError` if a file was changed after it was hashed."""
        for file, stamp in self.stamps.items():
            if _stamp(file) != stamp:
                raise DataError(f"{file} changed while it was read; run this again")


def list_corpora(data: DataConfig) -> list[tuple[CorpusRole, str, CorpusConfig]]:
    """Return all corpora of a configuration with unique names: training, then validation, then test."""
    if not data.train:
        raise ConfigError("data.train has no corpus; name its files under [[data.train]]")
    found: list[tuple[CorpusRole, CorpusConfig]] = [("train", corpus) for corpus in data.train_pairs()]
    found += [("validation", corpus) for corpus in data.validation_sets()]
    found += [("test", corpus) for corpus in data.test_sets()]
    if sum(corpus.files.count(STDIN) for _, corpus in found) > 1:
        raise ConfigError("standard input must be named once, got - more than once; write one of them to a file")
    return [(role, name, corpus) for (role, corpus), name in zip(found, _names(found), strict=True)]


def _names(found: Sequence[tuple[CorpusRole, CorpusConfig]]) -> Iterator[str]:
    """Yield the shortest unique names: the setting, the name of the first file, its path, or its path and a number."""
    for number, (role, corpus) in enumerate(found):
        others = [other for place, (same, other) in enumerate(found) if same == role and place != number]
        choices = [corpus.name or Path(corpus.files[0]).name, corpus.files[0], f"{corpus.files[0]} ({number + 1})"]
        taken = {name for other in others for name in (other.name or Path(other.files[0]).name, other.files[0])}
        yield next((name for name in choices if name not in taken), choices[-1])


def open_source(
    role: CorpusRole, name: str, corpus: CorpusConfig, data: DataConfig, *, folder: Path, work: Path, processes: int
) -> CorpusSource:
    """Find and hash the files of a corpus; standard input is saved to a file in `work`."""
    read, (source, target) = corpus, data.languages_of(corpus)
    if STDIN in corpus.files:
        open_corpus(corpus, source=source, target=target, folder=folder)  # validates the settings
        spool = str(_spool(work / "standard-input"))
        read = corpus.model_copy(update={"files": [spool if name == STDIN else name for name in corpus.files]})
    reader = open_corpus(read, source=source, target=target, folder=folder)
    files = reader.files()
    stamps = {file: _stamp(file) for file in files if not is_url(file) and Path(file).is_file()}
    names = {file: _named(file, folder) for file in files}
    with ThreadPoolExecutor(processes) as pool:  # hashing releases the GIL
        digests = list(pool.map(_digest, files))
    named = [(names[file], digest) for file, digest in zip(files, digests, strict=True)]
    return CorpusSource(role, name, corpus, reader, names, named, stamps)


def _spool(path: Path) -> Path:
    """Save standard input to a file, as it can be read once only."""
    stdin = Path("/dev/stdin")  # not on Windows, and not for a socket
    if stdin.is_char_device() and not sys.stdin.isatty():
        raise DataError("standard input is a device; give it a file or the output of a program")
    try:
        raw: IO[bytes] = stdin.open("rb")
    except OSError:
        raw = sys.stdin.buffer
    with atomic_write(path) as draft, draft.open("wb") as file, closing(raw):
        shutil.copyfileobj(raw, file, _BLOCK)
    return path.resolve()


def _named(file: str, folder: Path) -> str:
    if is_url(file):
        return file
    relative = Path(os.path.relpath(file, folder))
    return str(relative) if relative.parts[0] != os.pardir else os.path.abspath(file)  # noqa: PTH100 -- resolves ..


def _stamp(file: str) -> tuple[int, int]:
    found = Path(file).stat()
    return found.st_size, found.st_mtime_ns


def _digest(file: str) -> str:
    raw, _ = open_raw(file)
    with closing(raw):
        return sha256_of(raw.read)
