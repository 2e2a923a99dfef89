"""Limits of a document (segments, characters, tags), checked while it is read, before time and memory are spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.errors import DataError

if TYPE_CHECKING:
    from dragoman.markup.tagged_text import TaggedText

_MAX_SEGMENTS = 20_000
_MAX_TAGS = 300_000  # start, end and empty tags of one XML file
_MAX_ALL_TAGS = 600_000  # of all files of an archive
MAX_SEGMENT_CHARACTERS = 100_000  # a paragraph; some steps take more than linear time within one
_MAX_INLINE_TAGS = 20_000
_MAX_CHARACTERS = 8_000_000


class DocumentTooLargeError(DataError):
    """A document exceeds a limit."""


class DocumentLimits:
    """Limits of one document; every method raises `DocumentTooLargeError` as soon as a limit is exceeded."""

    def __init__(self, name: str, characters: int | None = None) -> None:
        self.segments = _MAX_SEGMENTS
        self._name = name
        self._characters = _MAX_CHARACTERS if characters is None else characters
        self._count = 0
        self._size = 0
        self._tags: dict[str, int] = {}  # by XML file
        self._all_tags = 0
        self.is_target = False
        """Whether the file is known to be a translation, so that its content needs no other evidence."""

    def add(self, segment: TaggedText) -> TaggedText:
        """Count a segment, and return it."""
        self._count += 1
        self._size += len(segment.text)
        if self._count > self.segments or self._size > self._characters or len(segment.text) > MAX_SEGMENT_CHARACTERS:
            self.check_paragraph(len(segment.text))
            self.check("paragraphs", self._count, self.segments)
            self.check("characters of text", self._size, self._characters)
        return segment

    def add_tags(self, file: str, count: int) -> None:
        """Count the tags of an XML file of the document; a file that is parsed again counts once."""
        self.check("tags", count, _MAX_TAGS)
        self._all_tags += count - self._tags.get(file, 0)
        self._tags[file] = count
        self.check("tags in all its files", self._all_tags, _MAX_ALL_TAGS)

    def check_paragraph(self, length: int) -> None:
        """Check the length of a paragraph in its notation, before it is parsed."""
        self.check("characters in one paragraph", length, MAX_SEGMENT_CHARACTERS)

    def check_inline_tags(self, count: int) -> None:
        """Check the number of inline tags of a paragraph; it may be the number so far."""
        self.check("inline tags in one paragraph", count, _MAX_INLINE_TAGS)

    def check(self, what: str, found: int, limit: int) -> None:
        """Compare a number with its limit; it may be the number so far."""
        if found > limit:
            raise DocumentTooLargeError(f"{self._name} must have at most {limit:,} {what}, got more; split it")
