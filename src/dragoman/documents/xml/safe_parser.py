"""Parse untrusted XML without entities, DTDs or network access, and serialize it in its original encoding."""

import re
from typing import Any

from lxml import etree

from dragoman.documents.limits import DocumentLimits
from dragoman.errors import DataError

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"

_MAX_ATTRIBUTES = 400_000
_MAX_DECLARATION = 500  # bytes
_PROLOG = re.compile(rb"(?:\s|<\?.*?\?>|<!--.*?-->)*+(<!DOCTYPE[^>\[]*+\[?)?", re.DOTALL)
_DECLARATION = re.compile(rb"<\?xml\s[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"'][^>]*?\?>")
_DECLARED = re.compile(rb"\s*<\?xml\s.*?\?>\s*", re.DOTALL)
_ENCODINGS = {b"utf-8", b"utf8", b"us-ascii", b"ascii", b"iso-8859-1", b"iso-8859-15", b"windows-1252"}
"""Supported encodings: all encode markup as ASCII does, so a search in the prolog finds every document type."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_EBCDIC = b"\x4c\x6f\xa7\x94"  # how libxml2 recognizes it
_NO_ENTITIES = "{name} declares entities or a document type, which is not allowed; save it without"
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse_xml(name: str, data: bytes, limits: DocumentLimits, *, doctype: bool = False) -> Any:
    """Parse a file. A document type is rejected; with `doctype` it is accepted if it has no internal declarations.

    A tree takes many times the memory of the file, so tags and attributes are counted before it is built. Nesting is
    limited to 256 levels.
    """
    limits.add_tags(name, data.count(b"<"))
    limits.check("attributes", data.count(b"="), _MAX_ATTRIBUTES)
    has_type = check_prolog(name, data, doctype=doctype)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        strip_cdata=False,
        # Without identifiers, one that occurs twice is accepted, as by office programs; but libxml2 then reads the file
        # that a document type names, from this machine as well.
        collect_ids=has_type,
    )
    try:
        tree = etree.fromstring(data, parser).getroottree()
    except (etree.XMLSyntaxError, ValueError) as error:
        detail = str(error).partition("\n")[0]
        raise DataError(f"{name} must be well-formed XML, got: {detail}; save it again") from None
    declared = tree.docinfo.internalDTD
    if declared is not None and (not doctype or any(True for _ in declared.entities())):
        raise DataError(_NO_ENTITIES.format(name=name))
    return tree


def _first_declaration(name: str, data: bytes) -> bytes:
    """Return the XML declaration, which must be short: a search in a longer one may take quadratic time."""
    if not data.startswith(b"<?xml"):
        return b""
    head, end, _ = data[:_MAX_DECLARATION].partition(b"?>")
    if not end:
        raise DataError(f"the XML declaration of {name} has more than {_MAX_DECLARATION} bytes; save it again")
    return head + end


def check_prolog(name: str, data: bytes, *, doctype: bool) -> bool:
    """Return whether there is a document type; raise `DataError` for an unsupported encoding or declared entities."""
    head = data
    if data.startswith(_UTF16):
        try:
            head = data.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name} must be valid UTF-16 as its byte-order mark states, got: {error}; save it again"
            ) from None
    else:
        declared = _DECLARATION.match(_first_declaration(name, head.removeprefix(_BOM)))
        if declared and declared[1].lower() not in _ENCODINGS:
            shown = declared[1].decode()
            raise DataError(f"{name} must be UTF-8, got {shown}; save it as UTF-8")
    if b"\0" in head[:4] or head.startswith(_EBCDIC):
        raise DataError(f"{name} must be UTF-8, or UTF-16 with a byte-order mark; save it as UTF-8")
    prolog = _PROLOG.match(head.removeprefix(_BOM))
    found = prolog[1] if prolog else None
    if found is not None and (not doctype or found.endswith(b"[")):
        raise DataError(_NO_ENTITIES.format(name=name))
    return found is not None


def serialize_xml(tree: Any, original: bytes) -> bytes:
    """Serialize a tree with the encoding and the XML declaration of the original file."""
    if original.startswith(_UTF16):
        return bytes(etree.tostring(tree, encoding="UTF-16", xml_declaration=True))
    mark = _BOM if original.startswith(_BOM) else b""
    declared = _DECLARED.match(original.removeprefix(_BOM))
    named = _DECLARATION.match(original.removeprefix(_BOM))
    encoding = named[1].decode() if named else "UTF-8"
    body = bytes(etree.tostring(tree, encoding=encoding, xml_declaration=False))
    return mark + (declared[0] if declared else b"") + body + original[len(original.rstrip()) :]


def strip_invalid_characters(text: str) -> str:
    """Remove the characters that XML does not allow."""
    return _INVALID.sub("", text)


def own_text(element: Any) -> str:
    """Return the text of an element without that of its children; comments and instructions may divide it."""
    return "".join([element.text or "", *(child.tail or "" for child in element)])


def local_name(element: Any) -> str:
    """Return an element's name without its namespace; empty for a comment or a processing instruction."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
