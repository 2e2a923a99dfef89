"""Sentences: a text cut into what is translated and what stands between, and translations put together again.

The rules of some 300 languages are those of `sentencex`. What it is handed is tamed first: it is fed a line at a time,
because it loses line breaks of long runs of them; white space is plain, because it fails at other kinds; and never more
than a few thousand characters at once, because its time grows with the square of the quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import sentencex

from dragoman.text.characters import check_unicode, is_spaceless

__all__ = ["Joiner", "Segment", "split_text"]

_BREAKS = "\n-\r\x1c-\x1e\x85\u2028\u2029"  # where str.splitlines cuts
_BREAK = re.compile(f"[{_BREAKS}]")
_LINE = re.compile(f"[^{_BREAKS}]+|[{_BREAKS}]+")
_ODD_SPACE = re.compile(r"[^\S ]")
_WINDOW = 4000

_UNSPACED = frozenset({"cmn", "gan", "hak", "ja", "jpn", "lzh", "nan", "wuu", "yue", "zh", "zho"})
"""Languages that put no space between sentences. Thai, Lao, Khmer, Burmese and Tibetan do, if not between words."""


class Segment(NamedTuple):
    """A sentence without white space at its ends, and the white space after it."""

    text: str
    after: str


def split_text(text: str, language: str) -> list[Segment]:
    """Cut a text into sentences; ``"".join(s.text + s.after for s in split_text(text, language)) == text``.

    A line break always ends a sentence. White space at the very beginning follows an empty sentence. A sentence of
    thousands of characters is cut at a space. Takes time that grows with the length of the text only.
    """
    check_unicode(text)
    segments: list[Segment] = []
    body, gap = "", [""]
    for line in _LINE.findall(text):
        for piece in _sentences(line, _primary(language)):
            bare = piece.strip()
            if not bare:
                gap.append(piece)
                continue
            start = piece.index(bare[0])
            gap.append(piece[:start])
            after = "".join(gap)
            if body or after:
                segments.append(Segment(body, after))
            body, gap = bare, [piece[start + len(bare) :]]
    after = "".join(gap)
    return [*segments, Segment(body, after)] if body or after else segments


class Joiner:
    """Puts translated sentences together, a piece at a time: line breaks stay, and spaces become the target's.

    Into a language without spaces between sentences (Chinese, Japanese) those of the source are left out, where one of
    the neighbours is a character of such a script; out of one, a space is put between sentences.
    """

    def __init__(self, source: str, target: str) -> None:
        is_unspaced = _primary(source) in _UNSPACED, _primary(target) in _UNSPACED
        self._drops_spaces = is_unspaced == (False, True)
        self._adds_spaces = is_unspaced == (True, False)
        self._gap: list[str] = []
        self._last = ""

    def add(self, text: str) -> str:
        """Return a piece of a sentence, behind what stands between it and the sentence before it."""
        if not text:
            return ""
        between = self._between(text[0]) if self._gap else ""
        self._gap, self._last = [], text[-1]
        return between + text

    def end_sentence(self, after: str) -> None:
        """Note what stands after a sentence of the source."""
        self._gap.append(after)

    def end(self) -> str:
        """Return the white space at the end of the text."""
        return "".join(self._gap)

    def _between(self, following: str) -> str:
        gap = "".join(self._gap)
        if not self._last or _BREAK.search(gap):
            return gap
        if self._drops_spaces and (is_spaceless(self._last) or is_spaceless(following)):
            return ""
        if self._adds_spaces and (not gap or gap.strip(" ")):  # nothing, or the wide space U+3000
            return " "
        return gap


def _primary(language: str) -> str:
    return language.partition("-")[0].lower()


def _sentences(line: str, language: str) -> Iterator[str]:
    """Cut a line, or a run of line breaks, which stays whole."""
    if _BREAK.match(line):
        yield line
        return
    plain = _ODD_SPACE.sub(" ", line)
    start = 0
    while len(line) - start > _WINDOW:
        ends = _ends(plain[start : start + _WINDOW], language)[:-1]
        if not ends or ends[-1] < _WINDOW // 2:  # the next is too long to see its end
            space = plain.rfind(" ", start + _WINDOW // 2, start + _WINDOW)
            ends.append(_WINDOW if space < 0 else space + 1 - start)
        yield from _cut(line, start, ends)
        start += ends[-1]
    yield from _cut(line, start, _ends(plain[start:], language))


def _cut(line: str, start: int, ends: list[int]) -> Iterator[str]:
    for begin, end in zip([0, *ends], ends, strict=False):
        yield line[start + begin : start + end]


def _ends(window: str, language: str) -> list[int]:
    """Where the sentences end; only at the end, where the library fails or loses something."""
    try:
        found = sentencex.segment(language, window)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what a fault in Rust becomes; a subclass of BaseException alone
            raise
        found = []
    ends = list(accumulate(map(len, found)))
    return ends if ends[-1:] == [len(window)] else [len(window)]
