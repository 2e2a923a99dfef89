"""From the settings of a corpus to its reader."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

import fsspec

from dragoman.config.corpora import CorpusConfig
from dragoman.data.chunk import Reader
from dragoman.data.readers.jsonl import JsonReader
from dragoman.data.readers.lines import LineReader
from dragoman.data.readers.parquet import ParquetReader
from dragoman.data.readers.streams import STDIN, is_url, plain_name
from dragoman.data.readers.tmx import TmxReader
from dragoman.data.readers.tsv import TsvReader
from dragoman.errors import ConfigError, DataError

__all__ = ["open_corpus"]

_FORMATS = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".tmx": "tmx",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_MOST_LISTED = 10


def open_corpus(corpus: CorpusConfig, *, source: str, target: str, folder: Path) -> Reader:
    """Find the files of a corpus and make a reader of its format; relative paths start at `folder`.

    Raises `DataError` if files are missing or do not pair up, `ConfigError` if the settings contradict each other.
    Whether a file is what it claims to be is found when it is read.
    """
    form = _format(corpus)
    _check_stdin(corpus, form)
    found = [_resolve(name, folder) for name in corpus.files]
    if form == "lines":
        _refuse_columns(corpus, form)
        return LineReader(_pairs(corpus, found))
    files = [name for names in found for name in names]
    repeated = sorted({name for name in files if files.count(name) > 1})
    if repeated:
        raise DataError(f"the files of a corpus must be named once each, got {repeated[0]} more than once")
    if form == "tsv":
        return TsvReader(files, _numbers(corpus))
    if form == "tmx":
        _refuse_columns(corpus, form)
        return TmxReader(files, source, target)
    kind = JsonReader if form == "jsonl" else ParquetReader
    return kind(files, source, target, _names(corpus))


def _format(corpus: CorpusConfig) -> str:
    if corpus.format != "auto":
        return corpus.format
    if STDIN in corpus.files:
        raise ConfigError("format must be tsv, jsonl or tmx for standard input, got auto; - has no name to go by")
    found = {_FORMATS.get(Path(plain_name(name)).suffix.lower(), "lines") for name in corpus.files}
    if len(found) > 1:
        raise ConfigError(
            f"the files of a corpus must be of one format, got {', '.join(sorted(found))}; make several corpora"
        )
    if found == {"lines"} and len(corpus.files) == 1:
        names = ", ".join(sorted(_FORMATS))
        raise ConfigError(
            f"format must be given, or told by a name ending in {names}, got {corpus.files[0]}; "
            "a corpus of line pairs names two files, source and target"
        )
    return found.pop()


def _check_stdin(corpus: CorpusConfig, form: str) -> None:
    times = corpus.files.count(STDIN)
    if times and form in ("lines", "parquet"):
        raise ConfigError(f"files must be paths or URLs for {form}, got -; standard input can be tsv, jsonl or tmx")
    if times > 1:
        raise ConfigError(f"files must name standard input once, got - {times} times")


def _resolve(name: str, folder: Path) -> list[str]:
    """The files that a name stands for, sorted; a file that is there is taken by its name, whatever is in it."""
    if name == STDIN:
        return [STDIN]
    where = name if is_url(name) else str(folder / Path(name).expanduser())
    if not glob.has_magic(name) or (not is_url(name) and Path(where).exists()):
        return [where]
    found = _match_url(where) if is_url(name) else _match(where)
    if not found:
        raise DataError(f"files must match something, got {name}, which matches nothing{_beside(where)}")
    return sorted(found)


def _match(where: str) -> list[str]:
    matches = glob.glob(where, recursive=True)  # noqa: PTH207 -- Path.glob takes no absolute patterns
    return [path for path in matches if Path(path).is_file()]


def _match_url(where: str) -> list[str]:
    try:
        system, pattern = fsspec.url_to_fs(where)
        return [system.unstrip_protocol(path) for path in system.glob(pattern)]
    except (OSError, ValueError, ImportError) as error:
        raise DataError(f"{where} must be a URL that can be listed, got: {error}") from error


def _beside(where: str) -> str:
    """What there is in the folder of a glob that matches nothing."""
    folder = Path(where).parent
    while glob.has_magic(str(folder)):
        folder = folder.parent
    if is_url(where):
        return ""
    if not folder.is_dir():
        return f"; there is no folder {folder}"
    return f"; {folder} holds {_listed([path.name for path in sorted(folder.iterdir())])}"


def _pairs(corpus: CorpusConfig, found: Sequence[list[str]]) -> list[tuple[str, str]]:
    if len(found) != 2:
        raise ConfigError(
            f"files must be two for line pairs, source and target, got {len(found)}: {', '.join(corpus.files)}; "
            "a glob stands for all the files of a side"
        )
    sources, targets = found
    if len(sources) != len(targets):
        raise DataError(
            f"both sides must have the same number of files, got {len(sources)} for {corpus.files[0]} "
            f"({_listed(sources)}) and {len(targets)} for {corpus.files[1]} ({_listed(targets)})"
        )
    for one, other in zip(sources, targets, strict=True):
        if one == other:
            raise DataError(f"source and target must be different files, got {one} for both")
    return list(zip(sources, targets, strict=True))


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:_MOST_LISTED], *(["…"] if len(names) > _MOST_LISTED else [])]) or "nothing"


def _names(corpus: CorpusConfig) -> tuple[str, str] | None:
    if not corpus.columns:
        return None
    if len(corpus.columns) != 2 or corpus.columns[0] == corpus.columns[1]:
        raise ConfigError(f"columns must be two different ones, source and target, got {', '.join(corpus.columns)}")
    return corpus.columns[0], corpus.columns[1]


def _numbers(corpus: CorpusConfig) -> tuple[int, int]:
    names = _names(corpus)
    if names is None:
        return 1, 2
    for name in names:
        if not (name.isascii() and name.isdigit() and int(name) >= 1):
            raise ConfigError(f"columns must be numbers from 1 for tsv, got {name!r}")
    return int(names[0]), int(names[1])


def _refuse_columns(corpus: CorpusConfig, form: str) -> None:
    if corpus.columns:
        raise ConfigError(f"columns must be empty for {form}, got {', '.join(corpus.columns)}; it has none")
