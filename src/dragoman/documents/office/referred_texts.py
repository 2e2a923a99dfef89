"""Texts of a spreadsheet that must stay: formulas, filters or tables compare them with cells, or they are codes."""

import re
from collections.abc import Iterable
from html import unescape

from dragoman.documents.limits import DocumentLimits
from dragoman.reporting.number_format import format_count

_MAX_FORMULAS = 100_000  # different ones of a part
_LITERAL = re.compile(r'"((?:[^"]|"")*+)"')
_CODE = re.compile(r"(?=\S*\d)(?!\S*[^\W\d_]{3}(?<![A-Z]{3}))\S+|[A-Z]{2,4}-[A-Z]{2,4}")
"""One word with a digit and at most two letters in a row unless they are capitals: ``SKU-0042``, ``Q1``, ``4b``."""
_PARTIAL = re.compile(r"\b(?:(?:SEARCH|FIND|LEFT|RIGHT|MID)B?|SUBSTITUTE)\(|-text\(", re.IGNORECASE)
"""Functions that compare a part of a text; of others, a literal with ``*`` or ``?`` does."""
_MAX_PARTS = 100  # each is searched in each text
_FORMULA = re.compile(r"<(?:\w+:)?(?:f|formula|formula1|formula2|definedName)(?:\s[^<>]*)?>([^<]+)</")
_NAMED = re.compile(
    r"<(?:\w+:)?(?:(?:filter|customFilter)\s[^<>]*?\bval|(?:tableColumn|cacheField)\s[^<>]*?\bname|s\s[^<>]*?\bv)"
    r"=\"([^\"<>]*)\""
)


class ReferredTexts:
    """Texts that occur in the formulas of a spreadsheet; formulas compare without regard to case."""

    def __init__(self, limits: DocumentLimits) -> None:
        self._limits = limits
        self._texts: set[str] = set()
        self._parts: list[str] = []
        self.has_formulas = False
        self.kept = 0
        """Number of texts of the file that stay because something refers to them."""

    def add_formula(self, formula: str) -> None:
        """Add the texts in quotes of a formula, and their parts: a list of choices is written ``"Yes,No"``."""
        self.has_formulas = True
        is_partial = _PARTIAL.search(formula) is not None
        for literal in _LITERAL.findall(formula):
            self.add([literal.replace('""', '"'), *literal.split(",")])
            parts = [literal] if is_partial else re.split(r"[*?]", literal) if re.search(r"[*?]", literal) else []
            part = max((each.strip() for each in parts), key=len, default="").casefold()
            if sum(map(str.isalpha, part)) > 1 and len(self._parts) < _MAX_PARTS and part not in self._parts:
                self._parts.append(part)

    def add(self, texts: Iterable[str]) -> None:
        self._texts.update(text.strip().casefold() for text in texts)

    def add_part(self, xml: bytes) -> None:
        """Add what a sheet, a table, a pivot cache or the workbook of an xlsx file refers to."""
        utf16 = xml.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = xml.decode("utf-16" if utf16 else "utf-8", "replace")
        formulas = _FORMULA.findall(text)
        self.has_formulas = self.has_formulas or bool(formulas)
        quoted = {formula for formula in formulas if '"' in formula or "&" in formula}
        names = set(_NAMED.findall(text))
        self._limits.check("formulas and filters with texts", len(quoted) + len(names), _MAX_FORMULAS)
        for formula in quoted:
            self.add_formula(unescape(formula))
        self.add(unescape(name).replace("_x000a_", "\n") for name in names)

    def stays(self, text: str) -> bool:
        """Whether a text must stay; texts to which something refers are counted."""
        folded = text.strip().casefold()
        is_referred = folded in self._texts or any(part in folded for part in self._parts)
        self.kept += is_referred
        return is_referred or _CODE.fullmatch(text) is not None

    @property
    def notes(self) -> list[str]:
        """A note on the texts that stay because something refers to them."""
        which = "stays: a formula, filter or table refers to it"
        if self.kept > 1:
            which = "stay: formulas, filters or tables refer to them"
        return [f"{format_count(self.kept, 'text')} of the spreadsheet {which}"] if self.kept else []
