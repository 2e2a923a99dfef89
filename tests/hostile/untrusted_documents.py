"""Malformed and malicious documents, each with a pattern of the expected error message."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable

from tests.unit.documents.office.test_odt import letter
from tests.unit.documents.office_files import deck, report
from tests.unit.documents.uppercase_translation import members, packed

CONTENT = "word/document.xml"
W = b'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
BILLION_LAUGHS = b"<!DOCTYPE x [" + b'<!ENTITY a "ha">' + b"".join(
    b'<!ENTITY %c "%s">' % (letter, b"&%c;" % (letter - 1) * 10) for letter in range(ord("b"), ord("k"))
) + b"]>"  # fmt: skip
ZEROS = 16 << 20
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def with_body(xml: bytes) -> bytes:
    return packed(members(report()) | {CONTENT: xml})


def with_entry(name: str, data: bytes = b"x") -> bytes:
    return packed(members(report()) | {name: data})


def bomb() -> bytes:
    return with_entry("word/media/image1.bmp", bytes(ZEROS))


def bomb_with_wrong_sizes() -> bytes:
    """Create a member whose two size fields are too small."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as written:
        for name, data in members(report()).items():
            written.writestr(name, data if name != CONTENT else bytes(ZEROS))
    return target.getvalue().replace(struct.pack("<I", ZEROS), struct.pack("<I", 100))


def overlapping() -> bytes:
    """Create many names for one member: a small version of Fifield's zip bomb."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as written:
        for name, data in members(report()).items():
            written.writestr(name, data)
        written.writestr("big", bytes(8 << 20))
        big = written.getinfo("big")
        for number in range(20):
            entry = zipfile.ZipInfo(f"big{number}")
            for field in ("header_offset", "CRC", "compress_size", "file_size", "compress_type"):
                setattr(entry, field, getattr(big, field))
            written.filelist.append(entry)
            written.NameToInfo[entry.filename] = entry
    return target.getvalue()


def encrypted() -> bytes:
    """Set the encryption flag of every member."""
    data = bytearray(report())
    place = -1
    while (place := data.find(b"PK\x01\x02", place + 1)) >= 0:
        data[place + 8] |= 1
    return bytes(data)


def duplicate_member() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as written:
        for name, data in members(report()).items():
            written.writestr(name, data)
        written.filelist.append(written.getinfo(CONTENT))
    return target.getvalue()


def damaged() -> bytes:
    data = bytearray(report())
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as opened:
        entry = opened.getinfo(CONTENT)
    start = entry.header_offset + 60
    data[start : start + 20] = bytes(20)
    return bytes(data)


def unknown_compression() -> bytes:
    """Set an unknown compression method."""
    data = bytearray(report())
    for mark, offset in [(b"PK\x01\x02", 10), (b"PK\x03\x04", 8)]:
        place = -1
        while (place := data.find(mark, place + 1)) >= 0:
            data[place + offset] = 99
    return bytes(data)


def with_lzma() -> bytes:
    """Create a member whose LZMA data is damaged."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as written:
        for name, data in members(report()).items():
            written.writestr(name, data)
    return target.getvalue().replace(b"]\0\0\x80", b"]\xff\xff\xff")


def odt_with(name: str, data: bytes) -> bytes:
    return packed(members(letter()) | {name: data})


def types_without_main() -> bytes:
    entries = members(report())
    entries["[Content_Types].xml"] = entries["[Content_Types].xml"].replace(b"document.main", b"document.other")
    return packed(entries)


def many_members() -> bytes:
    return packed(members(report()) | {f"m/{number}": b"" for number in range(5000)})


def xliff(inside: bytes, head: bytes = b"") -> bytes:
    return head + b"<xliff version='1.2'><file><body>" + inside + b"</body></file></xliff>"


MANIFEST = b'<m:manifest xmlns:m="urn:m"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>'

CASES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "no suffix": ("report", report, "must be one of"),
    "another suffix": ("a.exe", report, "must be one of"),
    "a path for a name": ("../../etc/passwd", report, "must be one of"),
    "a name with a line end and a null": ("a\n\x00.docx", lambda: b"x", r"a\?\?\.docx is not"),
    "an endless name": ("a" * 100_000 + ".docx", lambda: b"x", "not a zip archive"),
    "nothing": ("a.docx", lambda: b"", "is empty"),
    "nothing but blanks": ("a.txt", lambda: b" \n" * 9, "is empty"),
    "text as docx": ("a.docx", lambda: b"hello", "not a zip archive"),
    "half a docx": ("a.docx", lambda: report()[:9000], "damaged"),
    "a docx without its beginning": ("a.docx", lambda: report()[100:], "not a zip archive"),
    "bytes changed": ("a.docx", damaged, "damaged"),
    "a docx as pptx": ("a.pptx", report, "a PowerPoint presentation"),
    "a pptx as docx": ("a.docx", deck, "a Word document"),
    "a docx as odt": ("a.odt", report, "an OpenDocument text"),
    "an odt as docx": ("a.docx", letter, "a Word document"),
    "a docx as txt": ("a.txt", report, "must be UTF-8|zero byte"),
    "a docx as html": ("a.html", report, "is not valid utf-8"),
    "a zip of a docx": ("a.docx", lambda: packed({"a.docx": report()}), "a Word document"),
    "no main part": ("a.docx", types_without_main, "a Word document"),
    "an OLE file": ("a.docx", lambda: OLE + bytes(500), "encrypted"),
    "encrypted members": ("a.docx", encrypted, "encrypted"),
    "an encrypted odt": ("a.odt", lambda: odt_with("META-INF/manifest.xml", MANIFEST), "encrypted"),
    "a bomb": ("a.docx", bomb, "decompression bomb"),
    "a bomb with wrong sizes": ("a.docx", bomb_with_wrong_sizes, "damaged|decompression bomb"),
    "overlapping members": ("a.docx", overlapping, "decompression bomb|damaged"),
    "an XML bomb": ("a.docx", lambda: with_body(b"<w:p " + W + b">" + b" " * ZEROS + b"</w:p>"), "decompression bomb"),
    "many members": ("a.docx", many_members, "at most 4,000 members"),
    "a duplicated member": ("a.docx", duplicate_member, "has a member twice"),
    "a member in a parent folder": ("a.docx", lambda: with_entry("../../evil.txt"), "relative member"),
    "a member at the root": ("a.docx", lambda: with_entry("/etc/evil"), "relative member"),
    "a member on a Windows drive": ("a.docx", lambda: with_entry("C:\\evil.txt"), "relative member"),
    "a member in a parent folder, Windows": ("a.docx", lambda: with_entry("word\\..\\..\\evil"), "relative member"),
    "an unknown compression": ("a.docx", unknown_compression, "not stored or deflated"),
    "LZMA": ("a.docx", with_lzma, "not stored or deflated"),
    "laughs in a docx": ("a.docx", lambda: with_body(BILLION_LAUGHS + b"<x>&j;</x>"), "declares entities"),
    "an external entity in a docx": (
        "a.docx",
        lambda: with_body(b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>'),
        "declares entities",
    ),
    "an external DTD in a docx": (
        "a.docx", lambda: with_body(b'<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd"><x/>'), "declares entities"
    ),
    "laughs in UTF-16": (
        "a.docx", lambda: with_body((BILLION_LAUGHS + b"<x>&j;</x>").decode().encode("utf-16")), "declares entities"
    ),
    "UTF-16 without a mark": ("a.xlf", lambda: xliff(b"").decode().encode("utf-16-le"), "with a byte-order mark"),
    "UTF-7": ("a.xlf", lambda: xliff(b"", b'<?xml version="1.0" encoding="UTF-7"?>'), "got UTF-7"),
    "EBCDIC": ("a.xlf", lambda: b'<?xml version="1.0" encoding="cp037"?><xliff/>', "got cp037"),
    "laughs in xliff": ("a.xliff", lambda: xliff(b"&j;", BILLION_LAUGHS), "declares entities"),
    "laughs in tmx": ("a.tmx", lambda: BILLION_LAUGHS + b"<tmx>&j;</tmx>", "declares entities"),
    "an undeclared entity": ("a.xlf", lambda: xliff(b"&undeclared;"), "well-formed"),
    "a deep tree": ("a.xlf", lambda: b"<a>" * 100_000, "well-formed"),
    "a tree cut short": ("a.xlf", lambda: xliff(b"<trans-unit>"), "well-formed"),
    "XML of something else": ("a.xlf", lambda: b"<html/>", "must be XLIFF, got XML with the root 'html'"),
    "a page as tmx": ("a.tmx", lambda: b"<tmy/>", "must be TMX"),
    "text as tmx": ("a.tmx", lambda: b"hello", "well-formed"),
    "subtitles without times": ("a.srt", lambda: b"hello\n\nyou", "has no subtitles"),
    "no messages": ("a.po", lambda: b"# only a remark\n", "has no messages"),
    "a path as messages": ("a.po", lambda: b"/etc/passwd", "must be a line of a message"),
    "text as HTML": ("a.html", lambda: b"5 < 6", "is not HTML"),
    "another charset": ("a.txt", lambda: "käse".encode("latin-1"), "must be UTF-8"),
    "binary text": ("a.md", lambda: b"a\0b", "zero byte"),
    "a picture": ("a.txt", lambda: b"\x89PNG\r\n\x1a\n" + zlib.compress(bytes(99)), "must be UTF-8"),
    "too long a page": ("a.md", lambda: b"a" * (1 << 21), "at most 1,048,576 bytes"),
    "too large a file": ("a.txt", lambda: b"a" * (9 << 20), "at most 8,388,608 bytes"),
}  # fmt: skip
