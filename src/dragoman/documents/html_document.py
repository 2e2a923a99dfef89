"""HTML documents: decode by the declared charset, split into segments, write translations back."""

import codecs
import re
from collections.abc import Sequence

from dragoman.documents.document import Document, changed_segments, target_tag
from dragoman.documents.limits import DocumentLimits
from dragoman.errors import DataError
from dragoman.markup.html_text import HtmlText
from dragoman.markup.tagged_text import TaggedText

_HEAD = 1024
"""The charset must be declared in the first bytes of the page, up to this number."""
_CHARSET = re.compile(rb"<meta\s[^<>]*?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]+)", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"<\?xml\s[^<>]{0,500}?encoding\s*=\s*[\"']([A-Za-z0-9._:-]+)")
_MAX_TAGS = 100_000
_MARKUP = re.compile(r"<[!/?A-Za-z]")
_ROOT = re.compile(r"<html\s[^<>]*>", re.IGNORECASE)
_LANGUAGE = re.compile(r"(\s(?:xml:)?lang\s*=\s*[\"']?)([A-Za-z][A-Za-z0-9-]*)", re.IGNORECASE)
"""Language of the page. Screen readers choose their voice by it."""
_CHARSETS = {
    "utf-8": "utf-8", "ascii": "cp1252", "iso8859-1": "cp1252", "cp1252": "cp1252", "iso8859-2": "iso8859-2",
    "iso8859-15": "iso8859-15", "cp1250": "cp1250", "cp1251": "cp1251", "koi8-r": "koi8-r", "gb2312": "gb18030",
    "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5", "shift_jis": "cp932", "cp932": "cp932", "euc_jp": "euc_jp",
    "euc_kr": "cp949", "cp949": "cp949",
}  # fmt: skip
"""Codec that browsers use for each charset, by Python's name of the charset."""


def read_html(name: str, data: bytes, limits: DocumentLimits, *, is_xml: bool = False) -> Document:
    """Read an HTML page or fragment; with `is_xml` XHTML, in which any element may end with its start tag."""
    return _HtmlPage(name, data, limits, is_xml=is_xml)


class _HtmlPage:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits, *, is_xml: bool) -> None:
        self._mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        self._charset = "utf-8" if self._mark else _charset(name, data)
        try:
            text = data.removeprefix(self._mark).decode(self._charset)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name} is not valid {self._charset}, the declared or default charset, at byte "
                f"{error.start:,}; save it as UTF-8"
            ) from None
        if "\0" in text or not _MARKUP.search(text):
            raise DataError(f"{name} is not HTML: it has no tag, or zero bytes; check the suffix")
        self._data = data
        limits.check("tags", text.count("<"), _MAX_TAGS)
        self._html = HtmlText.parse(text, is_xml=is_xml, check=limits.add, check_length=limits.check_paragraph)
        self.segments = tuple(self._html.segments)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        if not any(changed_segments(self.segments, translated)):
            return self._data
        # A character that the charset cannot encode becomes a character reference: &#20320;
        written = _ROOT.sub(
            lambda root: _LANGUAGE.sub(lambda found: found[1] + target_tag(found[2], language), root[0]),
            self._html.write(translated),
            count=1,
        )
        return self._mark + written.encode(self._charset, "xmlcharrefreplace")


def _charset(name: str, data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)):
        raise DataError(f"{name} must be UTF-8, got UTF-16; convert it: iconv -f UTF-16 -t UTF-8")
    named = _CHARSET.search(data[:_HEAD])
    if named is None:  # browsers accept a later declaration; it is relevant to what is written
        later = (_XML_CHARSET.match(data) or _CHARSET.search(data)) if data.isascii() else None
        return (_known_codec(later[1]) if later else None) or "utf-8"
    known = _known_codec(named[1])
    if known is None:
        raise DataError(f"{name} must be UTF-8, got the charset {named[1].decode()[:40]!r}; save it as UTF-8")
    return known


def _known_codec(charset: bytes) -> str | None:
    try:
        return _CHARSETS.get(codecs.lookup(charset.decode()).name)
    except LookupError:
        return None
