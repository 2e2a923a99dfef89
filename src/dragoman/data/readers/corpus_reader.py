"""Find the files of a corpus, open the reader of its format, and find files that are not UTF-8."""

import glob
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dragoman.config.corpus import CorpusConfig
from dragoman.data.reader_protocol import CorpusReader
from dragoman.data.readers.formats.csv import CsvReader, TsvReader
from dragoman.data.readers.formats.jsonl import JsonReader
from dragoman.data.readers.formats.line_pairs import LinePairReader
from dragoman.data.readers.formats.parquet import ParquetReader
from dragoman.data.readers.formats.tmx import TmxReader
from dragoman.data.readers.streams import (
    STDIN,
    describe_folder,
    is_url,
    join_names,
    open_file_system,
    open_stream,
    plain_name,
    stored_size,
    without_query,
)
from dragoman.errors import ConfigError, DataError, DragomanError
from dragoman.plugins import load_plugin, plugin_names
from dragoman.text.encoding_guess import conversion_command, foreign_encoding

_FORMATS = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".tmx": "tmx",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_READERS: dict[str, Callable[[CorpusConfig, list[str], str, str], CorpusReader]] = {
    "tsv": lambda corpus, files, source, target: TsvReader(files, source, target, _numbers(corpus)),
    "csv": lambda corpus, files, source, target: CsvReader(files, source, target, _names(corpus)),
    "tmx": lambda _, files, source, target: TmxReader(files, source, target),
    "jsonl": lambda corpus, files, source, target: JsonReader(files, source, target, _names(corpus)),
    "parquet": lambda corpus, files, source, target: ParquetReader(files, source, target, _names(corpus)),
}
_MOST_COLUMNS = 1000
_SIDE_WORDS = {"source", "src", "target", "tgt", "trg"}
_WILDCARD = re.compile(r"\*\*/|\*+|\?|\[[^\]]*\]")
_SAMPLE = 1 << 20  # bytes at the beginning of a file
_TEXT_FORMATS = ("lines", "tsv", "csv", "jsonl")


def open_corpus(corpus: CorpusConfig, *, source: str, target: str, folder: Path) -> CorpusReader:
    """Return a reader of a corpus; `DataError` if files are missing, `ConfigError` if settings contradict."""
    try:
        form = file_format(corpus)
    except ConfigError:
        _check_present(corpus, folder)  # the format of a name that is no file is no help
        raise
    _check_stdin(corpus, form)
    found = [_resolve(name, folder) for name in corpus.files]
    if form in ("lines", "tmx") and corpus.columns:
        raise ConfigError(f"columns must be empty for {form}, got {', '.join(corpus.columns)}; it has none")
    if form == "lines":
        return LinePairReader(_pairs(corpus, found, (source, target)))
    files = [name for names in found for name in names]
    _check_once(files)
    if form == "parquet":
        _check_packing(files)
    reader = _READERS[form] if form in _READERS else load_plugin("corpus_readers", form)
    return reader(corpus, files, source, target)


def _check_present(corpus: CorpusConfig, folder: Path) -> None:
    """Raise `DataError` for the first of several names that is no file."""
    for name in corpus.files if len(corpus.files) > 1 else ():
        if name != STDIN and not is_url(name) and not _is_glob(name):
            stored_size(_local(name, folder))


def file_format(corpus: CorpusConfig) -> str:
    """Return the format of a corpus: the setting, or that of the names of its files."""
    if corpus.format != "auto":
        return corpus.format
    if STDIN in corpus.files:
        raise ConfigError("format must be tsv, csv, jsonl or tmx for standard input, got auto; - has no suffix")
    found = {_format_of(name) or "lines" for name in corpus.files}
    if len(found) > 1:
        raise ConfigError(
            f"the files of a corpus must be of one format, got {', '.join(sorted(found))}; make several corpora"
        )
    if lacks_translations(corpus):
        raise ConfigError(_explain_one_file(corpus.files[0]))
    return found.pop()


def lacks_translations(corpus: CorpusConfig) -> bool:
    """Whether a corpus is one file of text, or one glob, by its name or its format."""
    if len(corpus.files) != 1 or corpus.files[0] == STDIN or corpus.format not in ("auto", "lines"):
        return False
    return corpus.format == "lines" or _format_of(corpus.files[0]) is None


def _format_of(name: str) -> str | None:
    """Return the format of a file with both sides by its ending; that of a plug-in is its name."""
    ending = Path(plain_name(name)).suffix.lower()
    return _FORMATS.get(ending, ending[1:] if ending[1:] in plugin_names("corpus_readers") else None)


def _explain_one_file(name: str) -> str:
    """Return what the second file of a corpus is, and what one file with both sides is, with examples."""
    two = name.split(",")
    if len(two) == 2 and all(two):
        return (
            f"a corpus must be two files, named one by one, got {name}; write them with a space between them, {two[0]} "
            f"{two[1]}, or in the configuration as files = {json.dumps(two, ensure_ascii=False)}"
        )
    plain = plain_name(name)
    stem, dot, ending = plain.rpartition(".")
    stem = stem if dot and "/" not in ending else plain
    second = f"{stem}.{'de' if ending == 'en' else 'en'}{name.removeprefix(plain)}"
    endings = ", ".join(sorted([*_FORMATS, *(f".{each}" for each in plugin_names("corpus_readers"))]))
    return (
        f"a corpus must be two files, the second with the translations of the first, line by line, or one file with "
        f"both, got only {name}; name the second file, such as {name} {second}, or one file that ends in {endings}; "
        'another ending needs the format: dragoman new --format tsv, or format = "tsv" in the configuration'
    )


def exchange_sides(corpus: CorpusConfig) -> str:
    """Return how the sides of a corpus are exchanged, as the fix of an error."""
    form = file_format(corpus)
    if form == "lines":
        return "exchange its files"
    if form == "tmx":  # its texts are chosen by language codes
        return "correct the language codes in its files"
    columns = corpus.columns[::-1] or (["2", "1"] if form in ("tsv", "csv") else ["…", "…"])
    return f"exchange its columns: columns = {json.dumps(columns, ensure_ascii=False)}"


def _check_stdin(corpus: CorpusConfig, form: str) -> None:
    times = corpus.files.count(STDIN)
    if times and form in ("lines", "parquet"):
        raise ConfigError(
            f"files must be paths or URLs for {form}, got -; standard input can be tsv, csv, jsonl or tmx"
        )
    if times > 1:
        raise ConfigError(f"files must name standard input once, got - {times} times")


def _resolve(name: str, folder: Path) -> list[str]:
    """Return the files that a name matches, sorted; an existing file is used even if its name has wildcards."""
    if name == STDIN:
        return [STDIN]
    where = name if is_url(name) else _local(name, folder)
    if not _is_glob(name) or (not is_url(name) and Path(where).exists()):
        return [where]
    found = _match_url(where) if is_url(name) else _match(where)
    if not found:
        raise DataError(f"files must match something, got {name}, which matches nothing{_beside(where)}")
    return sorted(found)


def _local(name: str, folder: Path) -> str:
    try:
        return str(folder / Path(name).expanduser())
    except RuntimeError as error:  # unknown user
        raise DataError(f"{name} must begin with an existing folder, got: {error}; write the full path") from error


def _is_glob(name: str) -> bool:
    """Whether a name has wildcards; in a URL a question mark begins the query instead."""
    return glob.has_magic(without_query(name))


def _match(where: str) -> list[str]:
    matches = glob.glob(where, recursive=True)  # noqa: PTH207 -- Path.glob takes no absolute patterns
    return [path for path in matches if Path(path).is_file()]


def _match_url(where: str) -> list[str]:
    try:
        system, pattern = open_file_system(where)
        return [system.unstrip_protocol(path) for path in system.glob(pattern)]
    except DragomanError:
        raise
    except Exception as error:  # each fsspec backend has its own errors
        raise DataError(f"{where} must be a URL that can be listed, got: {error}") from error


def _beside(where: str) -> str:
    """Describe the folder of a glob that matches nothing."""
    folder = Path(where).parent
    while glob.has_magic(str(folder)):
        folder = folder.parent
    return "" if is_url(where) else describe_folder(folder)


def _pairs(corpus: CorpusConfig, found: Sequence[list[str]], languages: tuple[str, str]) -> list[tuple[str, str]]:
    if lacks_translations(corpus):
        raise ConfigError(_explain_one_file(corpus.files[0]))
    if len(found) != 2:
        raise ConfigError(
            f"files must be two for line pairs, source and target, got {len(found)}: {', '.join(corpus.files)}; "
            "a glob names all files of a side"
        )
    sources, targets = found
    if len(sources) != len(targets):
        raise DataError(
            f"both sides must have the same number of files, got {len(sources)} for {corpus.files[0]} "
            f"({join_names(sources)}) and {len(targets)} for {corpus.files[1]} ({join_names(targets)})"
        )
    pairs = list(zip(sources, targets, strict=True))
    for source, target in pairs:
        if _identity(source) == _identity(target):
            also = "both" if source == target else f"one and {target} for the other, which are the same file"
            raise DataError(f"source and target must be different files, got {source} for {also}")
    if all(_is_glob(name) and not names[0].endswith(name) for name, names in zip(corpus.files, found, strict=True)):
        _check_stems(corpus.files, pairs, languages)
    return pairs


def _check_stems(globs: Sequence[str], pairs: Sequence[tuple[str, str]], languages: tuple[str, str]) -> None:
    """Raise `DataError` if paired files differ in the part that the wildcards match."""
    for pair in pairs:
        source, target = (_stem(pattern, name, languages) for pattern, name in zip(globs, pair, strict=True))
        if source != target:
            raise DataError(
                f"the files of two globs must go together by their names, got {pair[0]} with {pair[1]}; "
                "write what differs between the sides outside the wildcards, such as *.en and *.de"
            )


def _stem(pattern: str, name: str, languages: tuple[str, str]) -> list[str]:
    """Return the words that the wildcards of a glob match, without words that name a side."""
    parts, done = [], 0
    pattern = pattern.partition("://")[2] or pattern
    for wildcard in _WILDCARD.finditer(pattern):
        parts += [re.escape(pattern[done : wildcard.start()]), _as_regex(wildcard.group())]
        done = wildcard.end()
    match = re.search("".join(["(?:^|/)", *parts, re.escape(pattern[done:]), "$"]), name)
    matched = "/".join(match.groups()) if match else Path(name).name
    own = {part for language in languages for part in _words(language)} | _SIDE_WORDS
    return [word for word in _words(plain_name(matched)) if word not in own]


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[-./_]+", name.lower()) if word]


def _as_regex(wildcard: str) -> str:
    if wildcard.startswith("["):
        return f"({wildcard.replace('[!', '[^', 1)})"
    return {"**/": "((?:.*/)?)", "?": "([^/])", "**": "(.*)"}.get(wildcard, "([^/]*)")


def _check_once(files: Sequence[str]) -> None:
    seen: dict[object, str] = {}
    for name in files:
        before = seen.setdefault(_identity(name), name)
        if before is not name:
            also = "" if before == name else f", as {before} too"
            raise DataError(f"the files of a corpus must be named once each, got {name} more than once{also}")


def _identity(name: str) -> object:
    """Return an identifier that is equal for all names of one file, such as links."""
    try:
        status = Path(name.removeprefix("file://")).stat()
    except (OSError, ValueError):
        return name
    return status.st_dev, status.st_ino


def _check_packing(files: Sequence[str]) -> None:
    for name in files:
        if plain_name(name) != without_query(name):
            raise DataError(f"{name} is a compressed file; decompress it, as Parquet compresses its columns itself")


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
        if not re.fullmatch("[0-9]{1,4}", name) or not 1 <= int(name) <= _MOST_COLUMNS:
            raise ConfigError(f"columns must be numbers from 1 to {_MOST_COLUMNS} for tsv, got {name[:50]!r}")
    source, target = int(names[0]), int(names[1])
    if source == target:
        raise ConfigError(f"columns must be two different ones, source and target, got {', '.join(names)}")
    return source, target


def foreign_encodings(corpus: CorpusConfig, files: Sequence[str]) -> dict[str, str]:
    """Return the encoding of each file that is not UTF-8 as a whole, from its first lines."""
    if file_format(corpus) not in _TEXT_FORMATS:
        return {}
    found = {file: foreign_encoding(_first_lines(file)) for file in files}
    return {file: encoding for file, encoding in found.items() if encoding}


def _first_lines(file: str) -> list[bytes]:
    blocks: list[bytes] = []
    try:
        with open_stream(file) as stream:
            while stream.bytes < _SAMPLE and (block := stream.read()):
                blocks.append(block)
    except DataError:  # reported where the corpus is read
        return []
    data = b"".join(blocks)
    is_complete = len(data) < _SAMPLE or b"\n" not in data
    return (data if is_complete else data[: data.rfind(b"\n")]).split(b"\n")


def explain_encodings(encodings: Mapping[str, str]) -> str:
    """Return one line per file: its encoding, and the command that converts it."""
    return "\n".join(
        f"{file} must be UTF-8, got {encoding} by its bytes; convert it, and name the new file: "
        f"{conversion_command(file, encoding)}"
        for file, encoding in encodings.items()
    )
