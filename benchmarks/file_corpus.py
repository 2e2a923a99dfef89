"""Files with the endings that people have: each is read without loss, or refused with a way.

    python -m benchmarks.file_corpus FOLDER      # files of any packages, in any folders

Up to 4 files per ending are taken, in the order of their paths. A document must be written with the same bytes when no
text changes; with every text in upper case it must be read again, with as many texts in formats without translations.
A file that is read as plain text is counted with its note, if its content looks like something else. A refusal must be
one line with a way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.reporting import heading, parser, table, write
from dragoman.api.files.text_files import check_text_file, file_suffix, parse_format
from dragoman.documents.formats import find_format, read_document
from dragoman.errors import DragomanError
from dragoman.markup.tagged_text import TaggedText

OUTCOMES = ("read", "text", "text with a note", "refused", "wrong")


def outcome(path: Path) -> tuple[str, str]:
    """Return one of `OUTCOMES` and its detail."""
    try:
        if suffix := parse_format(None, str(path)).suffix:
            return _document(path, suffix)
        note = check_text_file(str(path))
        return ("text with a note", note) if note else ("text", "")
    except DragomanError as error:
        message = str(error)
        has_way = "; " in message and len(message.splitlines()) == 1
        return ("refused" if has_way else "wrong"), message.rpartition("; ")[2] if has_way else message


def _document(path: Path, suffix: str) -> tuple[str, str]:
    data = path.read_bytes()
    document = read_document(path.name, data)
    if document.write(document.segments, language="de") != data:
        return "wrong", "other bytes without a change of text"
    upper = [_upper(each) for each in document.segments]
    again = read_document(path.name, document.write(upper, language="de"))
    if not find_format(suffix).is_bilingual and len(again.segments) != len(upper):
        return "wrong", f"{len(upper)} texts are {len(again.segments)} after their translation"
    return "read", f"{len(upper)} texts"


def _upper(tagged: TaggedText) -> TaggedText:
    """Return a text in upper case, with the same length and the same placeholders."""
    kept = {place for start, end in tagged.kept for place in range(start, end)}
    letters = [
        letter.upper() if place not in kept and len(letter.upper()) == 1 else letter
        for place, letter in enumerate(tagged.text)
    ]
    return replace(tagged, text="".join(letters))


def files_of(folder: Path, count: int) -> Iterator[tuple[str, Path]]:
    """Yield up to `count` files per ending, with the ending; files of the same content once."""
    taken: Counter[str] = Counter()
    known: set[bytes] = set()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        ending = file_suffix(path.name) or "none"
        if taken[ending] < count and (data := path.read_bytes()) not in known:
            known.add(data)
            taken[ending] += 1
            yield ending, path


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--per-ending", type=int, default=4)
    chosen = options.parse_args()
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    details: dict[str, list[str]] = {}
    for ending, path in files_of(chosen.folder, chosen.per_ending):
        found, detail = outcome(path)
        counts[ending][found] += 1
        details[path.relative_to(chosen.folder).as_posix()] = [found, detail.replace(f"{path}", path.name)]
    total = sum(counts.values(), Counter[str]())
    text = heading("Files of packages", "python -m benchmarks.file_corpus FOLDER", 1)
    text += f"\n{(__doc__ or '').replace('    python', '    $ python')}\n"
    text += f"{total.total()} files of {len(counts)} endings, from packages of Debian and npm: "
    text += ", ".join(f"{name} {total[name]}" for name in OUTCOMES) + ".\n\n"
    rows = [[ending, *(str(counts[ending][name] or "") for name in OUTCOMES)] for ending in sorted(counts)]
    text += table(["ending", *OUTCOMES], rows)
    wrong = [f"- `{name}`: {detail}\n" for name, (found, detail) in details.items() if found == "wrong"]
    text += "\n" + "".join(wrong) if wrong else ""
    write("file-corpus", text, {"counts": counts, "files": details})


if __name__ == "__main__":
    main()
