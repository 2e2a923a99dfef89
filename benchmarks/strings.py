"""Files of strings of real programs: what is read, what is unchanged, plural forms, and placeholders after translation.

    python -m benchmarks.strings FOLDER BUNDLE      # files of any packages, in any folders

Every file of the folder in a format of strings is read. Written without a change it must have the same bytes. With
every text in upper case it must be read again with the same keys. For each of seven languages the plural forms of the
written file must be those of CLDR. Then up to `--texts` texts are translated with the bundle, an equal share of each
format, and the placeholders of each string of the written file are compared with those of its source, by a pattern that
the code under test does not use.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from babel import Locale

from benchmarks.file_corpus import _upper as uppercased
from benchmarks.reporting import heading, parser, table, write
from dragoman import Translator
from dragoman.api.translation.markup import translate_markup
from dragoman.documents.document import select_target
from dragoman.documents.formats import FORMATS, read_document
from dragoman.documents.strings.document import StringsDocument
from dragoman.errors import DragomanError

LANGUAGES = ("de", "fr", "pt", "cs", "pl", "ar", "zh")
PLACEHOLDER = re.compile(
    r"\{\{[^{}]+\}\}|%\d*\$?(?:ll?)?[sdu@]|%\{\w+\}|%\w+%|\{ ?\$?\w+ ?\}|(?<![\w:])%[1-9n]\b|\$\w+\$"
)
ICU, ARGUMENT = re.compile(r",\s*(?:plural|select|selectordinal)\s*,"), re.compile(r"(?<![\w=])\{\s*(\w+)\s*[,}]")
FORM = re.compile(r"(.*)\[(zero|one|two|few|many|other)\]")


@dataclass
class Row:
    """What was found in the files of a format."""

    files: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    strings: int = 0
    groups: int = 0
    faults: list[str] = field(default_factory=list)
    translated: int = 0
    left: int = 0
    placeholders: int = 0
    lost: list[str] = field(default_factory=list)


def forms_of(document: StringsDocument) -> dict[str, set[str]]:
    """Return the plural categories of each message."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for key in document.strings:
        if match := FORM.fullmatch(key):
            found[match[1]].add(match[2])
    return found


def check(path: Path, data: bytes, row: Row) -> StringsDocument | None:
    """Check a file without a model; return it if it is one of strings."""
    try:
        document = read_document(path.name, data)
    except DragomanError as error:
        row.refused[str(error).partition(" ")[2][:60]] += 1
        return None
    row.files += 1
    if document.write(document.segments, language="de") != data:
        row.faults.append(f"{path.name}: other bytes")
    if not isinstance(document, StringsDocument):
        return None
    row.strings += len(document.strings)
    is_bilingual = FORMATS[path.suffix].is_bilingual
    groups = {} if is_bilingual else forms_of(document)
    row.groups += len(groups)
    for language in LANGUAGES if groups else LANGUAGES[:1]:
        document = read_document(path.name, data)
        select_target(document, language)
        written = document.write([uppercased(each) for each in document.segments], language=language)
        again = read_document(path.name, written)
        assert isinstance(again, StringsDocument)
        wanted = {*Locale.parse(language).plural_form.tags, "other"}
        made = forms_of(again)
        row.faults += [
            f"{path.name}: {key} has {made[key]} in {language}"
            for key, before in groups.items()
            if made[key] - {"zero"} != wanted - {"zero"} and made[key] != before  # all of it placeholders: no change
        ]
        same = {key for key in document.strings if not FORM.fullmatch(key)}
        if not is_bilingual and same != {key for key in again.strings if not FORM.fullmatch(key)}:
            row.faults.append(f"{path.name}: other keys")
    fresh = read_document(path.name, data)
    assert isinstance(fresh, StringsDocument)
    return None if is_bilingual else fresh


def translate(translator: Translator, path: Path, data: bytes, row: Row, count: int) -> int:
    """Translate up to `count` texts of a file, and compare the placeholders; return the number of texts."""
    document = read_document(path.name, data)
    assert isinstance(document, StringsDocument)
    select_target(document, "pt")
    done = translate_markup(translator, document.segments[:count])
    written = document.write([*done.texts, *document.segments[len(done.texts) :]], language="pt")
    again = read_document(path.name, written)
    assert isinstance(again, StringsDocument)
    row.translated += len(done.texts)
    row.left += len(done.damaged)
    for key, text in again.strings.items():
        source = document.strings.get(key) or document.strings.get(FORM.sub(r"\1[other]", key), "")
        other = document.strings.get(FORM.sub(r"\1[other]", key), "")
        if ICU.search(source):  # another language may have more branches
            wanted, found = (Counter({*ARGUMENT.findall(each)}) for each in (source, text))
        else:
            wanted, found = (Counter(PLACEHOLDER.findall(each)) for each in (source, text))
        row.placeholders += sum(wanted.values())
        if found != wanted and found != Counter(PLACEHOLDER.findall(other)):
            row.lost.append(f"{path.name}: {key}: {source[:80]!r} became {text[:80]!r}")
    return len(done.texts)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("bundle", type=Path)
    options.add_argument("--texts", type=int, default=10_000)
    options.add_argument("--per-format", type=int, default=60)
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    suffixes = sorted({suffix for suffix, form in FORMATS.items() if ".strings." in form.reader} | {".po", ".pot"})
    files = {
        suffix: [
            *islice((each for each in sorted(chosen.folder.rglob(f"*{suffix}")) if each.is_file()), chosen.per_format)
        ]
        for suffix in suffixes
    }
    rows = {suffix: Row() for suffix in suffixes if files[suffix]}
    translator = Translator.open(chosen.bundle, threads=1)
    share = chosen.texts // len(rows)
    for suffix, row in rows.items():
        rest = share
        for path in files[suffix]:
            data = path.read_bytes()
            document = check(path, data, row) if data.strip() else None
            if document is not None and rest > 0:
                rest -= translate(translator, path, data, row, rest)
        print(suffix, row.files, row.strings, row.translated, row.faults[:3], row.lost[:3], flush=True)
    report(rows, chosen.texts, chosen.per_format)


def report(rows: dict[str, Row], texts: int, per_format: int) -> None:
    """Write the page."""
    command = f"python -m benchmarks.strings FOLDER BUNDLE --texts {texts} --per-format {per_format}"
    text = heading("Files of strings", command, 1) + f"\n{(__doc__ or '').replace('    python', '    $ python')}\n"
    head = ["format", "files", "refused", "strings", "plurals", "faults", "translated", "left", "placeholders", "lost"]
    cells = [
        [suffix, *(f"{each:,}" for each in (row.files, row.refused.total(), row.strings, row.groups, len(row.faults)))]
        + [f"{each:,}" for each in (row.translated, row.left, row.placeholders, len(row.lost))]
        for suffix, row in rows.items()
    ]
    text += table(head, cells)
    notes = [
        f"{suffix} refused {number}: … {why}" for suffix, row in rows.items() for why, number in row.refused.items()
    ]
    notes += [each for row in rows.values() for each in (*row.faults[:5], *row.lost[:5])]
    text += "\n" + "".join(f"- `{each.replace('`', '')}`\n" for each in notes)
    write("strings", text, {suffix: vars(row) | {"refused": dict(row.refused)} for suffix, row in rows.items()})


if __name__ == "__main__":
    main()
