"""Translate documents to upper case, with each tag at its source position, so that results are easy to check."""

import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace

from dragoman.documents.document import Document
from dragoman.documents.formats import read_document
from dragoman.markup.tagged_text import TaggedText


def uppercased(tagged: TaggedText) -> TaggedText:
    kept = {place for start, end in tagged.kept for place in range(start, end)}
    letters = [
        letter.upper() if place not in kept and len(letter.upper()) == 1 else letter
        for place, letter in enumerate(tagged.text)
    ]
    return replace(tagged, text="".join(letters))


def texts(document: Document) -> list[str]:
    return [segment.text for segment in document.segments]


def translated(name: str, data: bytes, language: str = "de") -> bytes:
    document = read_document(name, data)
    return document.write([uppercased(segment) for segment in document.segments], language=language)


def unchanged(name: str, data: bytes) -> bytes:
    document = read_document(name, data)
    return document.write(document.segments, language="de")


def reworded(name: str, data: bytes, words: Sequence[TaggedText]) -> bytes:
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
