"""A stranger's document is refused quickly, in a sentence, or it is read; and it does nothing meanwhile."""

import os
import sys
import time
from typing import Any

import pytest

from dragoman.documents.formats import FORMATS, read_document
from dragoman.errors import DataError
from tests.hostile.strange_documents import CASES, CONTENT, W, with_body, with_entry
from tests.unit.documents.office_files import report
from tests.unit.documents.translating import loud, members, packed, translated

SECONDS = 1.0
SUSPECT = ("ctypes", "os.exec", "os.fork", "os.posix_spawn", "os.system", "pickle", "socket", "subprocess", "urllib")

_heard: list[str] | None = None


def _listen(event: str, args: tuple[Any, ...]) -> None:
    """Hear what the interpreter does, while a test asks for it; a hook of this kind cannot be taken away."""
    if _heard is None:
        return
    if event.startswith(SUSPECT) or event == "exec":
        _heard.append(f"{event} {args}")
    elif event == "open" and isinstance(args[0], str | bytes):
        _heard.append(f"open {os.fsdecode(args[0])}")


sys.addaudithook(_listen)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    read_document("a.docx", report())  # Python has loaded all it needs to read one
    found: list[str] = []
    monkeypatch.setattr(sys.modules[__name__], "_heard", found)
    return found


def test_there_are_enough():
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_in_one_clear_line(name: str, heard: list[str]):
    file, make, fault = CASES[name]
    data = make()
    heard.clear()
    began = time.process_time()
    with pytest.raises(DataError, match=fault) as caught:
        read_document(file, data)
    spent = time.process_time() - began
    assert heard == []
    assert spent < SECONDS
    message = str(caught.value)
    assert "\n" not in message
    assert "; " in message
    assert len(message) < 400


def test_the_listener_hears(heard: list[str]):
    with open("/dev/null", encoding="utf-8"):  # noqa: PTH123 -- the control
        pass
    assert heard == ["open /dev/null"]


def test_too_much_text_is_refused():
    assert read_document("a.docx", report(), characters=1000).segments
    with pytest.raises(DataError, match="at most 10 characters of text, got 1"):
        read_document("a.docx", report(), characters=10)


def test_archives_and_macros_in_a_document_are_copied_and_not_opened(heard: list[str]):
    inner = packed({"bomb": bytes(1 << 20)})
    data = packed(members(with_entry("word/embeddings/a.xlsx", inner)) | {"word/vbaProject.bin": b"\xd0\xcf\x11\xe0"})
    heard.clear()
    result = translated("a.docx", data)
    assert members(result)["word/embeddings/a.xlsx"] == inner
    assert members(result)["word/vbaProject.bin"] == b"\xd0\xcf\x11\xe0"
    assert heard == []


def test_a_member_that_is_damaged_but_not_read_is_found_when_writing():
    entry = b"not to be read " * 50
    data = bytearray(with_entry("word/media/a.bin", entry))
    place = data.find(b"word/media/a.bin") + len("word/media/a.bin") + 5
    data[place : place + 4] = b"\xff\xff\xff\xff"
    document = read_document("a.docx", bytes(data))
    with pytest.raises(DataError, match="damaged"):
        document.write([loud(segment) for segment in document.segments], language="de")


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
def test_strange_paragraphs_are_read_and_written(inside: bytes):
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
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n" + b"<b>x</i>" * 10_000),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n" + b"ab\n" * 20_000),
        ("a.po", b'msgid "' + b"<b>x" * 10_000 + b'"\nmsgstr ""\n'),
        ("a.txt", b"http://" * 10_000),
        ("a.html", b"<b><p>x" * 3_000),
        ("a.tmx", b"<tmx><body><tu><tuv><seg>" + b"a<ph/>" * 20_000 + b"</seg></tuv></tu></body></tmx>"),
        ("a.xlf", b"<xliff><trans-unit><source>" + b"<g>a" * 200 + b"</g>" * 200 + b"</source></trans-unit></xliff>"),
    ],
)
def test_what_is_made_to_be_slow_is_not(name: str, data: bytes):
    began = time.process_time()
    translated(name, data)
    assert time.process_time() - began < 5 * SECONDS


@pytest.mark.parametrize("suffix", FORMATS)
def test_bytes_of_any_kind_give_a_document_or_a_clear_refusal(suffix: str):
    seeds = [report(), b"<xliff><trans-unit><source>a</source>", b"1\n00:00:01,000 --> 00:00:02,000\na", b'msgid "a"\n']
    for seed in seeds:
        for cut in (1, 7, len(seed) // 2, len(seed) - 1):
            for data in (seed[:cut], seed[cut:], seed[:cut] + b"\xff\x00<" + seed[cut:]):
                try:
                    document = read_document(f"a{suffix}", data)
                except DataError as error:
                    assert "must" in str(error)  # noqa: PT017 -- either is right
                else:
                    document.write(document.segments, language="de")
