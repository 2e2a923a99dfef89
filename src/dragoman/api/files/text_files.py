"""Decide whether a file is plain text or a table, by its name and its first bytes."""

import csv
import re
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from dragoman.api.files.input_lines import STDIN, LineReader
from dragoman.documents.content_kinds import binary_kind, content_kind
from dragoman.documents.formats import conversion_of, document_suffixes, is_document
from dragoman.errors import ConfigError, DataError, DragomanError
from dragoman.language_codes import is_corpus_language

_TEXT = frozenset(
    {"", ".txt", ".text", ".lines", ".utf8", ".utf-8", ".raw", ".plain", ".snt", ".sent", ".sents", ".seg", ".mono"}
    | {".src", ".tgt", ".trg", ".ref", ".hyp", ".out", ".tok", ".detok", ".bpe", ".sp", ".spm", ".lc", ".tc", ".norm"}
    | {
        ".part",
        ".clean",
        ".train",
        ".dev",
        ".devtest",
        ".valid",
        ".val",
        ".test",
        ".csv",
        ".tsv",
        ".tab",
    }  # with one column
)
_OTHERS = (
    " am as asm cat cr cs cu el in ind ko la lit lu mac mk ml mo mol ms mt nb nl no os pa pl ps pt run sa sc sh sl "
    "sn snd so ss st sv tk tr ts tt vi "
)
"""Codes of languages that are also the endings of code or data: ``.ts``, ``.cs``, ``.pl``."""
_SHARED = {".ts": re.compile(rb"<TS\b")}
"""Endings of documents that other files have as well, TypeScript and texts in Tsonga, and how a document starts."""
_AS_TEXT = ", or add --as text: each line is translated with its syntax"
_ENDING = re.compile(r"\.[\w+-]{1,16}")
_SAMPLED = 1 << 16
_FIXES = {
    "HTML": "--as html keeps its tags",
    "XLIFF": "--as xliff translates its units",
    "gettext messages": "--as po translates its messages",
    "Markdown": "--as md keeps its layout",
    "subtitles": "--as srt, vtt or ass translates its cues",
    "code": "write its texts to another file, one per line",
    "a log": "write its texts to another file, one per line",
    "LaTeX": "--as tex translates its prose",
    "a manual page": "convert it to .html or .md",
    "reStructuredText": "--as rst translates its prose",
}

_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ",;\t"}
_SAMPLED_BYTES, _SAMPLED_ROWS = 1 << 16, 50


def has_layout(suffix: str) -> bool:
    """Whether a suffix is that of a document. Plain text is none: it may be large, is read by lines and resumed."""
    return suffix not in _TEXT and is_document(suffix)


def _layout_suffixes() -> list[str]:
    return [suffix for suffix in document_suffixes() if suffix not in _TEXT]


class AsFormat(NamedTuple):
    """The format of an input: `suffix` is that of a document, or empty for lines of text."""

    suffix: str
    is_given: bool


def file_suffix(name: str) -> str:
    """Return the ending of a file name in lower case, without ``.gz``; empty if it does not look like one.

    A language after another ending does not count: that of ``help.html.de`` is ``.html``.
    """
    path = Path(name.lower().removesuffix(".gz"))
    suffix, inner = path.suffix, Path(path.stem).suffix
    if is_corpus_language(suffix[1:]) and (has_layout(inner) or conversion_of(inner) != conversion_of("")):
        return inner  # help.html.de is HTML
    return suffix if _ENDING.fullmatch(suffix) else ""


def parse_format(name: str | None, path: str, option: str = "--as") -> AsFormat:
    """Return the format of an input, from the value of ``--as``, or of another `option`, or the ending of its name."""
    if name is None:
        suffix = Path(path).suffix.lower()
        is_other = suffix in _SHARED and Path(path).is_file() and not _SHARED[suffix].search(_first_bytes(path))
        return AsFormat(suffix if has_layout(suffix) and not is_other else "", is_given=False)
    suffix = f".{name.lower().removeprefix('.')}"
    if suffix in {".text", ".txt"}:
        return AsFormat("", is_given=True)
    if not has_layout(suffix):
        names = ", ".join(["text", *(each[1:] for each in _layout_suffixes())])
        raise ConfigError(f"{option} must be one of {names}, got {name!r}; choose one of these")
    return AsFormat(suffix, is_given=True)


def check_text_file(path: str, *, is_forced: bool = False, way_out: str = _AS_TEXT) -> str:
    """Raise `ConfigError` if a file is not plain text; return a note if its content does not look like text.

    With `is_forced` only binary files are rejected. Pipes are not read. `way_out` is the option to use it nevertheless.
    """
    if path == STDIN or not Path(path).is_file():
        return ""
    suffix, head = file_suffix(path), _first_bytes(path)
    if reason := _reason(suffix, head, is_forced=is_forced):
        supported = "plain text (.txt, .en, no ending)"
        if way_out:
            supported += f" or one of {', '.join(_layout_suffixes())}"
        fix = _remedy(path, suffix) + ("" if binary_kind(head) else way_out)
        if "read_as" in way_out:
            fix = re.sub(r"add --as (\w+)", r'pass read_as="\1"', fix)
        raise ConfigError(f"the input must be {supported}, got {path}{reason.rstrip()}; {fix}")
    if not is_forced and (columns := count_columns(path)) > 1:
        raise ConfigError(
            f"the input must have one sentence per line, got {path}, a table of {columns} columns; save one column in "
            "a file"
        )
    return "" if is_forced else content_note(path, head.decode("utf-8", "ignore"))


def is_text_file(path: Path, *, is_forced: bool = False) -> bool:
    """Whether a file is plain text, as `check_text_file` decides."""
    is_text = not _reason(file_suffix(path.name), _first_bytes(str(path)), is_forced=is_forced)
    return is_text and (is_forced or count_columns(str(path)) == 1)


def content_note(name: str, text: str) -> str:
    """Return a note if a text looks like markup, code or data, whose syntax is translated as well; else nothing."""
    kind = content_kind(text)
    fix = _FIXES.get(kind, "convert it to .po or .xliff, or write its texts to another file, one per line")
    return kind and f"{name} looks like {kind}, and its syntax is translated as well; {fix}"


def _reason(suffix: str, head: bytes, *, is_forced: bool) -> str:
    """Return why a file is not plain text, as the end of a message: a space if its ending suffices."""
    if kind := binary_kind(head):
        return f", which has {kind}" if kind.startswith("a zero") else f", which is {kind}"
    if is_forced or suffix in _TEXT:
        return ""
    code = suffix.removeprefix(".")
    if not (code.isdecimal() or is_corpus_language(code)):
        return " "
    is_other = code.isdecimal() or f" {code} " in _OTHERS or conversion_of(suffix) != conversion_of("")
    kind = content_kind(head.decode("utf-8", "ignore"), strictly=True) if is_other else ""
    return kind and f", which looks like {kind}"


def _remedy(path: str, suffix: str) -> str:
    if not has_layout(suffix):
        return conversion_of(suffix)
    if path.lower().endswith(".gz"):
        return "unpack it with gunzip"
    return (
        "write its texts to a .txt file, one per line"
        if Path(path).suffix.lower() == suffix
        else f"add --as {suffix[1:]}"
    )


def _first_bytes(path: str) -> bytes:
    """Return the beginning of a file; nothing if it cannot be read, which is reported when it is translated."""
    try:
        with LineReader(path) as reader:
            return b"".join(reader.skip(_SAMPLED))
    except (OSError, DataError):
        return b""


def count_columns(path: str) -> int:
    """Return the number of columns of a table, by its name and first rows; 1 for other files.

    Rows of a table have the same number of columns; sentences with commas have not.
    """
    for delimiter in _DELIMITERS.get(Path(path.removesuffix(".gz")).suffix.lower(), ""):
        counts = {len(row) for row in islice(csv.reader(_first_lines(path), delimiter=delimiter), _SAMPLED_ROWS) if row}
        if len(counts) == 1 and (columns := counts.pop()) > 1:
            return columns
    return 1


def _first_lines(path: str) -> list[str]:
    """Return the complete lines at the beginning of a file; none if it cannot be read, which is reported later."""
    try:
        with LineReader(path) as reader:
            data = b"".join(islice(reader.skip(_SAMPLED_BYTES), 1))
    except (OSError, DragomanError):
        return []
    end = data.rfind(b"\n") + 1
    return data[: end or None].decode("utf-8-sig", "replace").splitlines(keepends=True)
