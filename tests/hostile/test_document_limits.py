"""Limits are checked while a document is read: 8 MiB of any format takes at most 2 s of CPU time and 200 MiB."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.documents.formats import read_document
from dragoman.documents.limits import DocumentTooLargeError
from dragoman.errors import DataError
from tests.hostile.document_costs import SAMPLE
from tests.unit.documents.office_files import deck, report
from tests.unit.documents.uppercase_translation import members, packed, translated

SUFFIXES = [
    *("txt", "srt", "po", "md", "html", "tmx", "xlf", "docx", "pptx", "odt"),
    *("xlsx", "ods", "odp", "epub", "ipynb", "mdx", "vtt", "ass", "sdlxliff", "rst", "tex"),
    *("json", "arb", "yaml", "xml", "strings", "stringsdict", "xcstrings", "properties", "resx", "php", "ftl", "ts"),
]
SECONDS = 2.0
MEMORY = 200 << 20


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured on Linux")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_largest_documents_take_little_time_and_memory(suffix: str):
    command = [sys.executable, "-m", "tests.hostile.document_costs", suffix, str(SAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    costly = {shape: cost for shape, cost in json.loads(done.stdout).items() if cost[0] > SECONDS or cost[1] > MEMORY}
    assert not costly


def test_a_long_text_of_a_slide_is_not_split_at_its_tabs():
    """Each of 4 million tabs would be an object; the time of the refusal does not depend on them."""
    space = "http://schemas.openxmlformats.org/drawingml/2006/main"

    def seconds(unit: str) -> float:
        slide = f"<p:sld xmlns:p='p' xmlns:a='{space}'><a:p><a:r><a:t>{unit * 500_000}</a:t></a:r></a:p></p:sld>"
        media = {"media.bin": os.urandom(1 << 16)}  # for the permitted ratio of compression
        data = packed(members(deck()) | {"ppt/slides/slide1.xml": slide.encode()} | media)
        began = time.process_time()
        with pytest.raises(DocumentTooLargeError, match="characters in one paragraph"):
            read_document("a.pptx", data)
        return time.process_time() - began

    assert min(seconds("a\t") for _ in range(3)) < 3 * min(seconds("aa") for _ in range(3))


QUOTED = """
from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from tests.hostile.document_costs import status
data = b'msgid "' + b"a" * 8_000_000 + b'"\\nmsgstr ""\\n'
before = status("VmRSS")
try:
    read_document("a.po", data)
except DataError as error:
    print(status("VmHWM") - before, error)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured on Linux")
def test_a_long_quoted_string_takes_little_memory():
    done = subprocess.run([sys.executable, "-c", QUOTED], capture_output=True, text=True, check=True)
    memory, _, error = done.stdout.partition(" ")
    assert "characters in one paragraph" in error
    assert int(memory) < MEMORY


@pytest.mark.parametrize(
    ("name", "data", "fault"),
    [
        ("a.txt", b"a\n" * 200_001, "at most 200,000 lines"),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\na\n" * 20_001, "at most 20,000 paragraphs"),
        ("a.po", b"#\n" * 100_001, "at most 100,000 lines"),
        ("a.txt", b"a " * 50_001, "at most 100,000 characters in one paragraph"),
        ("a.md", b"a " * 50_001, "at most 100,000 characters in one paragraph"),
        ("a.html", b"<b>" * 100_001, "at most 100,000 tags"),
        ("a.tmx", b"<tmx>" + b"<a/>" * 300_001 + b"</tmx>", "at most 300,000 tags"),
        ("a.xlf", b"<xliff>" + b"<a b='' c=''/>" * 200_001 + b"</xliff>", "at most 400,000 attributes"),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n" + b"<i>" * 100_001, "at most 100,000 tags"),
        ("a.po", b'msgid "' + rb"\n" * 400_001 + b'a"\nmsgstr ""\n', "at most 400,000 escapes"),
        (
            "a.tmx",
            b"<tmx><tu><tuv><seg>a" + b"<ph/>" * 20_001 + b"</seg></tuv></tu></tmx>",
            "at most 20,000 inline tags",
        ),
        ("a.ass", b"[Events]\nFormat: Text\nDialogue: " + b"\\N" * 60_000, "characters in one paragraph"),
        ("a.php", b"<?php return ['a' => " + b"a " * 500_001 + b"];", "at most 1,000,000 tokens"),
        ("en.yml", b"en: [" + b"1, " * 300_001 + b"]", "at most 300,000 values"),
        ("a.xml", b"<resources>" + b"<item></item>" * 60_001 + b"</resources>", "at most 60,000 texts"),
        ("a.po", b'msgid "' + b"a" * 100_001 + b'"\nmsgstr ""\n', "characters in one paragraph"),
    ],
)
def test_what_exceeds_a_limit_is_rejected(name: str, data: bytes, fault: str):
    with pytest.raises(DocumentTooLargeError, match=fault):
        read_document(name, data)


def test_characters_are_counted_while_reading():
    with pytest.raises(DocumentTooLargeError, match="at most 10 characters of text"):
        read_document("a.txt", b"house and garden\n" * 50_000, characters=10)


def test_the_directory_of_an_archive_is_checked_before_it_is_read():
    data = packed(members(report()) | {f"{number:0100}": b"" for number in range(15_000)})
    with pytest.raises(DocumentTooLargeError, match="at most 4,000 members, got more"):
        read_document("a.docx", data)


def test_the_name_of_a_part_may_have_thousands_of_digits():
    kind = "application/vnd.openxmlformats-officedocument.presentationml.slide+xml"
    name = f"ppt/slides/slide{'9' * 5000}.xml"
    entries = members(deck())
    listed = f"<Override PartName='/{name}' ContentType='{kind}'/></Types>".encode()
    entries["[Content_Types].xml"] = entries["[Content_Types].xml"].replace(b"</Types>", listed)
    entries[name] = entries["ppt/slides/slide1.xml"]
    assert len(read_document("a.pptx", packed(entries)).segments) > len(read_document("a.pptx", deck()).segments)


@pytest.mark.parametrize("reference", ["&#" + "9" * 5000, "&#" + "9" * 5000 + ";", "&#x" + "f" * 5000 + ";"])
def test_a_character_reference_may_have_thousands_of_digits(reference: str):
    (segment,) = read_document("a.html", f"<p title='{reference}' translate=yes>word {reference}".encode()).segments
    assert segment.text == "word \ufffd"


def test_a_long_reference_that_begins_with_zeros_is_a_character():
    (segment,) = read_document("a.html", b"<p>word &#" + b"0" * 5000 + b"65;").segments
    assert segment.text == "word A"


@pytest.mark.parametrize("name", ["a.docx", "a.pptx"])
def test_copies_of_a_large_format_are_limited(name: str):
    if name == "a.docx":
        space = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'"
        form = "<w:rPr>" + "<w:b/>" * 5_000 + "</w:rPr>"
        runs = f"<w:r>{form}{'<w:t>a</w:t><w:br/>' * 20_000}</w:r>"
        body = f"<w:document {space}><w:body><w:p>{runs}</w:p></w:body></w:document>"
        data = packed(members(report()) | {"word/document.xml": body.encode()})
    else:
        space = "xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main'"
        runs = "<a:r><a:rPr>" + "<a:b/>" * 5_000 + "</a:rPr><a:t>" + "a\t" * 20_000 + "</a:t></a:r>"
        slide = f"<s {space}><a:p>{runs}</a:p></s>"
        data = packed(members(deck()) | {"ppt/slides/slide1.xml": slide.encode()})
    with pytest.raises(DataError, match="bytes of formatting"):
        translated(name, data)
