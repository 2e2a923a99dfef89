"""Find the files of a corpus that are in another encoding than UTF-8 as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.config.corpus import CorpusConfig
from dragoman.data.readers.corpus_reader import file_format
from dragoman.data.readers.streams import open_stream
from dragoman.errors import DataError
from dragoman.text.encoding_guess import conversion_command, foreign_encoding

__all__ = ["explain_encodings", "foreign_encodings"]

_SAMPLE = 1 << 20  # bytes at the beginning of a file
_FORMATS = ("lines", "tsv", "csv", "jsonl")


def foreign_encodings(corpus: CorpusConfig, files: Sequence[str]) -> dict[str, str]:
    """Return the encoding of each file that is not UTF-8 as a whole, from its first lines."""
    if file_format(corpus) not in _FORMATS:
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
