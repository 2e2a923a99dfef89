"""A translation that anybody can check: the same words in capital letters, each tag where it was."""

import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace

from dragoman.documents.document import Document
from dragoman.documents.formats import read_document
from dragoman.markup.marked import Marked


def loud(marked: Marked) -> Marked:
    kept = {place for start, end in marked.kept for place in range(start, end)}
    letters = [
        letter.upper() if place not in kept and len(letter.upper()) == 1 else letter
        for place, letter in enumerate(marked.text)
    ]
    return replace(marked, text="".join(letters))


def texts(document: Document) -> list[str]:
    return [segment.text for segment in document.segments]


def translated(name: str, data: bytes, language: str = "de") -> bytes:
    document = read_document(name, data)
    return document.write([loud(segment) for segment in document.segments], language=language)


def unchanged(name: str, data: bytes) -> bytes:
    document = read_document(name, data)
    return document.write(document.segments, language="de")


def reworded(name: str, data: bytes, words: Sequence[Marked]) -> bytes:
    return read_document(name, data).write(words, language="de")


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return {entry.filename: opened.read(entry) for entry in opened.infolist()}


def packed(entries: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as written:
        for name, data in entries.items():
            written.writestr(name, data)
    return target.getvalue()
