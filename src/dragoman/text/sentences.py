"""Split text into sentences and join translated sentences.

`sentencex` has the rules of about 300 languages. It is called with single lines, because it loses line breaks in long
runs of them; with plain spaces, because it fails on other white space; and with at most a few thousand characters,
because its time is quadratic in the number of quotation marks.
"""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import sentencex

from dragoman.text.characters import check_unicode, is_spaceless

_BREAKS = "\n-\r\x1c-\x1e\x85\u2028\u2029"  # where str.splitlines cuts
_BREAK = re.compile(f"[{_BREAKS}]")
_LINE = re.compile(f"[^{_BREAKS}]+|[{_BREAKS}]+")
_ODD_SPACE = re.compile(r"[^\S ]")
_WINDOW = 4000

_UNSPACED = frozenset({"cmn", "gan", "hak", "ja", "jpn", "lzh", "nan", "wuu", "yue", "zh", "zho"})
"""Languages without spaces between sentences. Thai, Lao, Khmer, Burmese and Tibetan have them."""


class SentenceSegment(NamedTuple):
    """A sentence without white space at its ends, and the white space after it."""

    text: str
    after: str


def split_sentences(text: str, language: str) -> list[SentenceSegment]:
    """Split a text into sentences; joining `text` and `after` of all segments gives the text.

    A line break always ends a sentence. White space at the beginning follows an empty sentence. A sentence of
    thousands of characters is cut at a space. The time is linear in the length of the text.
    """
    check_unicode(text)
    segments: list[SentenceSegment] = []
    body, gap = "", [""]
    for line in _LINE.findall(text):
        for sentence in _sentences(line, _primary(language)):
            bare = sentence.strip()
            if not bare:
                gap.append(sentence)
                continue
            start = sentence.index(bare[0])
            gap.append(sentence[:start])
            after = "".join(gap)
            if body or after:
                segments.append(SentenceSegment(body, after))
            body, gap = bare, [sentence[start + len(bare) :]]
    after = "".join(gap)
    return [*segments, SentenceSegment(body, after)] if body or after else segments


class SentenceJoiner:
    """Join translated sentences incrementally: line breaks are kept, and spaces follow the target language.

    If only the target has no spaces between sentences (Chinese, Japanese), a space next to a character of such a script
    is dropped. If only the source has none, a space is added between sentences.
    """

    def __init__(self, source: str, target: str) -> None:
        is_unspaced = _primary(source) in _UNSPACED, _primary(target) in _UNSPACED
        self._drops_spaces = is_unspaced == (False, True)
        self._adds_spaces = is_unspaced == (True, False)
        self._gap: list[str] = []
        self._last = ""

    def add(self, text: str) -> str:
        """Return a part of a sentence, preceded by the white space between it and the previous sentence."""
        if not text:
            return ""
        between = self._between(text[0]) if self._gap else ""
        self._gap, self._last = [], text[-1]
        return between + text

    def end_sentence(self, after: str) -> None:
        """End a sentence that is followed by this white space in the source."""
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
    """Split a line; a run of line breaks is not split."""
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
    """Return where sentences end; only the end of the window if the library fails or loses characters."""
    try:
        found = sentencex.segment(language, window)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic in Rust; it is a subclass of BaseException only
            raise
        found = []
    ends = list(accumulate(map(len, found)))
    return ends if ends[-1:] == [len(window)] else [len(window)]
