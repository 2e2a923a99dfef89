"""EPUB books: the pages in reading order, the table of contents and the title; all other members are copied."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import unquote

from dragoman.documents.document import Document, changed_segments, target_tag
from dragoman.documents.html_document import read_html
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.office.archive import Archive
from dragoman.documents.xml.safe_parser import XML_LANG, check_prolog, local_name, parse_xml, serialize_xml
from dragoman.errors import DataError
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tagged_text import TaggedText

_MIMETYPE = b"application/epub+zip"
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGE, _CONTENTS = "application/xhtml+xml", "application/x-dtbncx+xml"
_METADATA = "{http://purl.org/dc/elements/1.1/}"
_MAX_TAGS = 200_000  # of all pages


def read_epub(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read an EPUB 2 or 3 book without digital restrictions."""
    return _Epub(name, data, limits)


class _Epub:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits) -> None:
        self._archive = Archive(name, data)
        self._limits = limits
        self._folder = ""
        self._package = self._find_package()
        pages, contents = self._listed()
        if (path := self._folder + _ENCRYPTION) in self._archive.names:  # fonts may be obfuscated, pages not
            references = self._parse(path).iter("{*}CipherReference")
            encrypted = {self._folder + unquote(each.get("URI", "")) for each in references}
            if not encrypted.isdisjoint(pages):
                raise DataError(f"{name} is encrypted; use a copy without digital restrictions")
        self._parts: dict[str, Document] = {self._package: _XmlTexts(self, self._package)}
        tags = 0
        for path in pages:
            page, shown = self._archive.read(path), f"{name}: {path}"
            tags += page.count(b"<")
            limits.check("tags in all its pages", tags, _MAX_TAGS)
            check_prolog(shown, page, doctype=True)
            self._parts[path] = read_html(shown, page, limits, is_xml=True)
        self._parts |= {path: _XmlTexts(self, path) for path in contents}
        self.segments = tuple(segment for part in self._parts.values() for segment in part.segments)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        new = iter(translated)
        is_changed = any(changed_segments(self.segments, translated))
        changed: dict[str, bytes] = {}
        for path, part in self._parts.items():
            texts = list(islice(new, len(part.segments)))
            if any(changed_segments(part.segments, texts)) or (is_changed and path == self._package):
                changed[path] = part.write(texts, language=language)
        return self._archive.write(changed)

    def _parse(self, path: str) -> Any:
        return parse_xml(f"{self._archive.name}: {path}", self._archive.read(path), self._limits, doctype=True)

    def _find_package(self) -> str:
        names = self._archive.names
        folders = [name.removesuffix(_CONTAINER) for name in names if name.endswith(_CONTAINER)]
        if len(folders) == 1 and re.fullmatch(r"[^/]+/", folders[0]):
            self._folder = folders[0]  # a zip of the folder, not of what is in it: most readers open it
        mimetype = f"{self._folder}mimetype"
        kind = self._archive.read(mimetype) if mimetype in names else b""
        if kind.strip() != _MIMETYPE or self._folder not in folders:
            raise DataError(f"{self._archive.name} is an archive, but not an EPUB book; check the suffix")
        container = self._parse(self._folder + _CONTAINER)
        found = self._folder + next((each.get("full-path", "") for each in container.iter("{*}rootfile")), "")
        if found not in self._archive.names:
            raise DataError(f"{self._archive.name} has no package document {ascii(found)[:80]}; save it again")
        return found

    def _listed(self) -> tuple[list[str], list[str]]:
        """Return the pages in reading order, and the tables of contents of EPUB 2."""
        tree = self._parse(self._package)
        folder = posixpath.dirname(self._package)
        paths: dict[str, str] = {}
        kinds: dict[str, str] = {}
        for item in tree.iter("{*}item"):
            path = posixpath.normpath(posixpath.join(folder, unquote(item.get("href", "").partition("#")[0])))
            if path in self._archive.names:
                paths[item.get("id", "")] = path
                kinds[path] = item.get("media-type", "")
        spine = (paths.get(each.get("idref", ""), "") for each in tree.iter("{*}itemref"))
        ordered = dict.fromkeys([*spine, *paths.values()])
        pages = [path for path in ordered if kinds.get(path) == _PAGE and path != self._package]
        return pages, [path for path in ordered if kinds.get(path) == _CONTENTS and path != self._package]

    def texts(self, path: str) -> tuple[Any, bytes, list[tuple[Any, TaggedText]]]:
        """Return the tree of the package or of a table of contents, and its elements with text."""
        original = self._archive.read(path)
        tree = self._parse(path)
        found = []
        for element in _titles(tree):
            text = " ".join((element.text or "").split())
            tagged = TaggedText(text, kept=find_placeholders(text))
            if tagged.has_words and not len(element):
                found.append((element, tagged))
        return tree, original, found

    def add(self, segment: TaggedText) -> TaggedText:
        return self._limits.add(segment)


def _titles(tree: Any) -> Iterator[Any]:
    if local_name(tree.getroot()) == "ncx":
        yield from tree.iter("{*}text")
    else:
        yield from tree.iter(f"{_METADATA}title", f"{_METADATA}description")


def _set_language(element: Any, language: str) -> None:
    if XML_LANG in element.attrib:
        element.set(XML_LANG, target_tag(element.get(XML_LANG), language))


class _XmlTexts:
    """Texts of the package document or of a table of contents, each the only content of an element."""

    def __init__(self, book: _Epub, path: str) -> None:
        self._book = book
        self._path = path
        self.segments = tuple(book.add(tagged) for _, tagged in book.texts(path)[2])

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        tree, original, texts = self._book.texts(self._path)
        for (element, _), tagged in zip(texts, changed_segments(self.segments, translated), strict=True):
            if tagged is not None:
                element.text = tagged.text
                _set_language(element, language)
        _set_language(tree.getroot(), language)
        for element in tree.iter(f"{_METADATA}language"):
            element.text = target_tag(element.text or "", language)
        return serialize_xml(tree, original)
