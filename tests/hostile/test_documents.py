"""Untrusted documents are read or rejected quickly, with a one-line error and without side effects."""

import contextlib
import os
import re
import sys
import time
from typing import Any

import pytest

from dragoman.documents.formats import FORMATS, read_document
from dragoman.errors import DataError
from tests.hostile.untrusted_documents import CASES, CONTENT, W, with_body, with_entry
from tests.unit.documents.office_files import report
from tests.unit.documents.uppercase_translation import members, packed, translated, uppercased

SECONDS = 1.0
SUSPECT = ("ctypes", "os.exec", "os.fork", "os.posix_spawn", "os.system", "pickle", "socket", "subprocess", "urllib")

_events: list[str] | None = None


def _record(event: str, args: tuple[Any, ...]) -> None:
    """Record audit events while a test requests it; an audit hook cannot be removed."""
    if _events is None:
        return
    if event.startswith(SUSPECT) or event == "exec":
        _events.append(f"{event} {args}")
    elif event == "open" and isinstance(args[0], str | bytes):
        _events.append(f"open {os.fsdecode(args[0])}")


sys.addaudithook(_record)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    for suffix in FORMATS:  # import every reader before events are recorded
        with contextlib.suppress(DataError):
            read_document(f"a{suffix}", b"x")
    read_document("a.docx", report())
    with contextlib.suppress(DataError):
        read_document("a", b"{")  # a file without suffix: the formats of installed packages are looked for
    found: list[str] = []
    monkeypatch.setattr(sys.modules[__name__], "_events", found)
    return found


def test_the_number_of_cases():
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", CASES)
def test_a_bad_document_is_rejected_with_one_clear_line(name: str, events: list[str]):
    file, make, fault = CASES[name]
    data = make()
    events.clear()
    began = time.process_time()
    with pytest.raises(DataError, match=fault) as caught:
        read_document(file, data)
    spent = time.process_time() - began
    assert events == []
    assert spent < SECONDS
    message = str(caught.value)
    assert "\n" not in message
    assert "; " in message
    assert len(message) < 400


def test_the_audit_hook_records_events(events: list[str]):
    with open("/dev/null", encoding="utf-8"):  # noqa: PTH123 -- control: this event must be recorded
        pass
    assert events == ["open /dev/null"]


def test_too_much_text_is_rejected():
    assert read_document("a.docx", report(), characters=1000).segments
    with pytest.raises(DataError, match="at most 10 characters of text, got more"):
        read_document("a.docx", report(), characters=10)


def test_archives_and_macros_in_a_document_are_copied_and_not_opened(events: list[str]):
    inner = packed({"bomb": bytes(1 << 20)})
    data = packed(members(with_entry("word/embeddings/a.xlsx", inner)) | {"word/vbaProject.bin": b"\xd0\xcf\x11\xe0"})
    events.clear()
    result = translated("a.docx", data)
    assert members(result)["word/embeddings/a.xlsx"] == inner
    assert members(result)["word/vbaProject.bin"] == b"\xd0\xcf\x11\xe0"
    assert events == []


def test_a_damaged_member_is_detected_when_writing():
    entry = b"not to be read " * 50
    data = bytearray(with_entry("word/media/a.bin", entry))
    place = data.find(b"word/media/a.bin") + len("word/media/a.bin") + 5
    data[place : place + 4] = b"\xff\xff\xff\xff"
    document = read_document("a.docx", bytes(data))
    with pytest.raises(DataError, match="damaged"):
        document.write([uppercased(segment) for segment in document.segments], language="de")


@pytest.mark.parametrize(
    "inside",
    [
        b"<w:ins>" * 200 + b"<w:r><w:t>deep</w:t></w:r>" + b"</w:ins>" * 200,
        b"<w:r><w:fldChar w:fldCharType='begin'/><w:t>a</w:t></w:r>" * 3000,
        b"<w:r><w:t>a</w:t><w:tab/></w:r>" * 3000,
        b"<w:hyperlink><w:r><w:rPr/><w:t>a</w:t></w:r><w:p/></w:hyperlink><!-- a --><?b c?>",
        b"<w:r><w:t>a<b/>c</w:t><w:t/></w:r><w:sdt/><w:sdt><w:sdtContent/></w:sdt>text of nobody",
    ],
)
def test_unusual_paragraphs_are_read_and_written(inside: bytes):
    data = with_body(b"<w:document " + W + b"><w:body><w:p>" + inside + b"</w:p></w:body></w:document>")
    began = time.process_time()
    result = translated("a.docx", data)
    assert time.process_time() - began < 5 * SECONDS
    assert len(read_document("a.docx", result).segments) == len(read_document("a.docx", data).segments)
    assert list(members(result)) == list(members(data))
    assert CONTENT in members(result)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.md", b"[" * 20_000 + b"a"),
        ("a.md", b"*a_ " * 5_000),
        ("a.md", b"<b>x</i>" * 2_500),
        ("a.md", b"[a](b" * 4_000),
        ("a.md", b"> " * 10_000 + b"a"),
        ("a.md", b"# a" + b" " * 90_000 + b"b"),
        ("a.md", b"$$\n\n$$" + b" " * 90_000 + b"b"),
        ("a.mdx", b"<A b={\n" * 14_000 + b"a\n"),
        ("a.rst", b"*a " * 8_000),
        ("a.rst", b"- " * 40_000 + b"a"),
        ("a.tex", b"\\emph{a} $b$ \\(" * 6_000),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n" + b"<b>x</i>" * 10_000),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n" + b"ab\n" * 20_000),
        ("a.po", b'msgid "' + b"<b>x" * 10_000 + b'"\nmsgstr ""\n'),
        ("a.txt", b"http://" * 10_000),
        ("a.html", b"<b><p>x" * 3_000),
        ("a.tmx", b"<tmx><body><tu><tuv><seg>" + b"a<ph/>" * 20_000 + b"</seg></tuv></tu></body></tmx>"),
        ("a.xlf", b"<xliff><trans-unit><source>" + b"<g>a" * 200 + b"</g>" * 200 + b"</source></trans-unit></xliff>"),
    ],
)
def test_slow_inputs_are_read_quickly(name: str, data: bytes):
    began = time.process_time()
    translated(name, data)
    assert time.process_time() - began < 5 * SECONDS


@pytest.mark.parametrize("suffix", FORMATS)
def test_any_bytes_give_a_document_or_a_clear_error(suffix: str):
    seeds = [report(), b"<xliff><trans-unit><source>a</source>", b"1\n00:00:01,000 --> 00:00:02,000\na", b'msgid "a"\n']
    for seed in seeds:
        for cut in (1, 7, len(seed) // 2, len(seed) - 1):
            for data in (seed[:cut], seed[cut:], seed[:cut] + b"\xff\x00<" + seed[cut:]):
                try:
                    document = read_document(f"a{suffix}", data)
                except DataError as error:
                    assert re.search(rf"\ba\{suffix}\b.*; \w", str(error))  # noqa: PT017 -- both outcomes are valid
                else:
                    document.write(document.segments, language="de")
