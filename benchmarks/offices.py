"""Real files of offices, books, subtitles and technical writing: read, written back, translated, and opened again.

    python -m benchmarks.offices FOLDER --bundle firefox-en-pt --translate 3

A file is read; without a change it must be written with the same bytes. Then each letter of its texts is replaced by
another (ROT13): the file that is written must have exactly these texts when it is read again. With `--bundle` the first
files of each format, up to 40,000 bytes of text, are translated, and a program or parser of that format must open
the result: LibreOffice, EbookLib, nbformat, webvtt-py, pysubs2 or docutils, and the reader of this project for others.
"""

from __future__ import annotations

import codecs
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from benchmarks.file_corpus import files_of
from benchmarks.reporting import heading, parser, table, write
from dragoman import Translator
from dragoman.api.files.document_translation import translate_document
from dragoman.documents.formats import FORMATS, read_document
from dragoman.errors import DragomanError
from dragoman.markup.tagged_text import TaggedText
from testkit.document_programs import OPENERS

SUFFIXES = (
    "xlsx",
    "ods",
    "odp",
    "epub",
    "ipynb",
    "mdx",
    "md",
    "srt",
    "vtt",
    "ass",
    "sdlxliff",
    "mqxliff",
    "rst",
    "tex",
)
MAX_TEXT = 40_000  # characters of a file that is translated


def rot13(tagged: TaggedText) -> TaggedText:
    """Replace each letter outside of kept parts by another of the same case."""
    kept = {place for start, end in tagged.kept for place in range(start, end)}
    turned = codecs.encode(tagged.text, "rot13")
    letters = (old if place in kept else new for place, (old, new) in enumerate(zip(tagged.text, turned, strict=True)))
    return replace(tagged, text="".join(letters))


def check(path: Path, suffix: str) -> tuple[str, int, float, float]:
    """Return an outcome, the number of texts, their characters, and the CPU seconds of reading."""
    data = path.read_bytes()
    began = time.process_time()
    try:
        document = read_document(path.name, data, suffix=f".{suffix}")
    except DragomanError as error:
        return f"refused: {error}", 0, 0, time.process_time() - began
    seconds = time.process_time() - began
    size = sum(len(each.text) for each in document.segments)
    if document.write(document.segments, language="pt") != data:
        return "wrong: other bytes without a change", len(document.segments), size, seconds
    if FORMATS[f".{suffix}"].is_bilingual:
        return "same", len(document.segments), size, seconds
    written = document.write([rot13(each) for each in document.segments], language="pt")
    again = read_document(path.name, written, suffix=f".{suffix}")
    before, after = ([" ".join(each.text.split()) for each in some.segments] for some in (document, again))
    if [codecs.encode(each, "rot13") for each in after] != before and [rot13(each).text for each in again.segments] != [
        each.text for each in document.segments
    ]:
        return f"wrong: {len(before)} texts are {len(after)} others when written", len(before), size, seconds
    return "same", len(document.segments), size, seconds


@cache
def opened_bundle(bundle: str) -> Translator:
    return Translator.open(bundle)


def translated(path: Path, suffix: str, bundle: str) -> str:
    """Translate a file and open the result; return what became of it."""
    result = translate_document(opened_bundle(bundle), f"a.{suffix}", path.read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / f"{path.stem}.{suffix}"
        output.write_bytes(result.data)
        try:
            OPENERS.get(suffix, ("", partial(check, suffix=suffix)))[1](output)
        except Exception as error:  # noqa: BLE001 -- any error of another program is a finding
            return f"{result.summary}; not opened: {type(error).__name__}: {' '.join(str(error).split())[:100]}"
    return f"{result.summary}; opened"


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--per-format", type=int, default=40)
    options.add_argument("--bundle", default="")
    options.add_argument("--translate", type=int, default=3, help="files of each format to translate")
    chosen = options.parse_args()
    found: defaultdict[str, dict[str, tuple[str, int, float, float]]] = defaultdict(dict)
    opened: defaultdict[str, Counter[str]] = defaultdict(Counter)
    details: list[str] = []
    for ending, path in files_of(chosen.folder, chosen.per_format):
        suffix = {"ott": "odt", "ots": "ods", "otp": "odp", "ssa": "ass"}.get(ending[1:], ending[1:])
        if suffix not in SUFFIXES:
            continue
        name = path.relative_to(chosen.folder).as_posix()
        outcome = found[suffix][name] = check(path, suffix)
        details += [f"- `{name}`: {outcome[0]}\n"] if outcome[0] != "same" else []
        if chosen.bundle and 0 < outcome[2] <= MAX_TEXT and opened[suffix].total() < chosen.translate:
            text = translated(path, suffix, chosen.bundle)
            opened[suffix]["opened" if text.endswith("; opened") else "not opened"] += 1
            is_whole = text.endswith("; opened") and " left (" not in text
            details += [] if is_whole else [f"- `{name}`, translated: {text}\n"]
        print(suffix, name, *outcome, flush=True)
    rows = []
    for suffix in filter(found.__contains__, SUFFIXES):
        files = found[suffix].values()
        kinds = Counter(each[0].partition(":")[0] for each in files)
        rows.append(
            [
                suffix, str(len(files)), *(str(kinds[kind]) for kind in ("same", "refused", "wrong")),
                f"{sum(each[1] for each in files):,}", f"{max(each[3] for each in files):.2f} s",
                f"{opened[suffix]['opened']} of {opened[suffix].total()}", OPENERS.get(suffix, ("this project",))[0],
            ]
        )  # fmt: skip
    text = heading("Files of offices, books and subtitles", "python -m benchmarks.offices FOLDER --bundle BUNDLE", 1)
    text += f"\n{(__doc__ or '').replace('    python', '    $ python')}\n"
    missing = ", ".join(suffix for suffix in SUFFIXES if suffix not in found)
    text += f"No files were found of: {missing}.\n\n" if missing else ""
    columns = ["format", "files", "same", "refused", "wrong", "texts", "slowest read", "translated and opened", "by"]
    text += table(columns, rows) + "\n" + "".join(details)
    write("offices", text, {suffix: {name: [*each] for name, each in some.items()} for suffix, some in found.items()})


if __name__ == "__main__":
    main()
