"""Keyboard mnemonics of labels, ``_Open`` in GTK and ``&File`` in Qt and Windows: remove them and put them back."""

import re
from typing import NamedTuple

_MAX_LETTERS, _MAX_WORDS = 40, 4  # of a label
_SENTENCE = re.compile(r"[.!?;,](?!\.)(?:\s|$)(?<!\.\.\.)(?<!\.\.\.\s)")  # a label may end in three dots or a colon
_AT_WORD = re.compile(r"(?<![\w&_/.:])(?:(_)(?=[A-Z])|(&)(?=[^\W\d_]))(?!\w{1,30}[;_])")  # &File, Save _As
# E&xit, Cu_t, Or_ientation, Pag_es:, Cance_l, Page Set_up, For&mat, Move do&wn; not AT&T, Gin&tonic, User_id
_END = r"(?:\.\.\.|\u2026|:)"
_IN_WORD = re.compile(
    rf"^[A-Z](?:[a-z]?(_)|[a-z]{{0,2}}(&))(?=[a-z]{{1,4}}{_END}?$)|^[A-Z](?:[a-z](_)(?=[a-z]{{1,20}}{_END}?$)"
    rf"|[a-z]{{1,20}}(_)(?=[a-z]{{1,20}}{_END}$|[a-z]$))"
    rf"|^(?:[A-Z][a-z]+ ){{1,3}}[A-Z][a-z]{{0,4}}(_)(?=[a-z]{{1,20}}{_END}?$)"
    r"|(?<!\S)(?:[A-Z]|[A-Za-z][a-z])(&)(?=[a-z]{2,30}(?:\.\.\.|\u2026|:)?(?!\S))"
)
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_TAIL = re.compile(r"[\s.\u2026:]*$")


class Mnemonic(NamedTuple):
    """The marker of a mnemonic and its letter."""

    marker: str
    letter: str

    def add_to(self, text: str) -> str:
        """Mark a letter of a translated label: the same one at the start of a word, otherwise the first.

        A label without Latin letters gets the letter in brackets, ``文件(&F)``, as Qt and GTK have it.
        """
        if not _LATIN.search(text):
            end = _TAIL.search(text)
            at = end.start() if end else len(text)
            return f"{text[:at]}({self.marker}{self.letter.upper()}){text[at:]}"
        letter = re.escape(self.letter)
        found = re.search(rf"(?i)(?<!\w){letter}", text) or _LATIN.search(text)
        assert found is not None
        return f"{text[: found.start()]}{self.marker}{text[found.start() :]}"


def find_mnemonic(text: str) -> tuple[str, Mnemonic] | None:
    """Return a label without its mnemonic, and the mnemonic; None if the text is no such label."""
    markers = text.count("_") + text.count("&")
    if markers != 1 or len(text) > _MAX_LETTERS or len(text.split()) > _MAX_WORDS or _SENTENCE.search(text):
        return None
    found = _AT_WORD.search(text) or _IN_WORD.search(text)
    if found is None:
        return None
    at = found.start(found.lastindex or 0)
    return text[:at] + text[at + 1 :], Mnemonic(text[at], text[at + 1])
