"""Broken files of every format: each of a hundred is read, or rejected with one clear line.

`python -m benchmarks.hostile_documents` has 500 of each format.
"""

import json
import random
import re
import sys
import time
from pathlib import Path

import pytest

from dragoman.documents.formats import FORMATS, read_document
from dragoman.errors import DataError
from tests.hostile.untrusted_documents import BILLION_LAUGHS
from tests.unit.documents.office.test_odt import odt_of
from tests.unit.documents.office_files import deck, report
from tests.unit.documents.samples import SAMPLES
from tests.unit.documents.strings.test_bilingual import CATALOG, TS
from tests.unit.documents.strings.test_strings import CASES
from tests.unit.documents.uppercase_translation import members, packed, uppercased

FILES = 100
SEEDS: dict[str, tuple[str, bytes]] = {
    **{f".{suffix}": (f"a.{suffix}", data) for suffix, (data, _) in SAMPLES.items()},
    **{Path(name).suffix: (name, text.encode()) for name, (text, _, _) in CASES.items()},
    ".ts": ("a.ts", TS.encode()),
    ".xcstrings": ("a.xcstrings", CATALOG.encode()),
    ".docx": ("a.docx", report()),
    ".pptx": ("a.pptx", deck()),
    ".odt": ("a.odt", odt_of("<text:p>A <text:span>text</text:span> here</text:p>")),
    ".html": ("a.html", b"<html lang='en'><p>A <b>bold</b> text<br>here</p><pre>kept</pre></html>"),
    ".md": ("a.md", b"# A title\n\n- *One* [link](a)\n\n| a | b |\n|---|---|\n| c | `d` |\n\n```\nkept\n```\n"),
    ".po": ("a.po", b'msgid ""\nmsgstr ""\n\n#: a.c\nmsgid "One file"\nmsgid_plural "%d files"\nmsgstr[0] ""\n'),
    ".srt": ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\nA <i>word</i>\nand another\n"),
    ".tmx": (
        "a.tmx",
        b"<tmx><header srclang='en'/><body><tu><tuv xml:lang='en'><seg>A <ph/>b</seg></tuv></tu></body></tmx>",
    ),
    ".txt": ("a.txt", b"A text\n\n  with lines\n"),
    ".xlf": (
        "a.xlf",
        b"<xliff version='1.2'><trans-unit id='a'><source>A <g id='1'>b</g></source></trans-unit></xliff>",
    ),
}
"""A file by ending."""
SAME = {".htm": ".html", ".pot": ".po", ".ssa": ".ass", ".xliff": ".xlf", ".yaml": ".yml", ".yml": ".yaml"}
"""Endings that have the reader of another."""
SECONDS = 20.0
"""For all files of a format: a guard against a shape that takes quadratic time."""
NOISE = [b"\0", b"\xff", b"<", b">", b"&", b'"', b"\\", b"{", b"}", b"[", b"]", b"\n\n", b"`", b"::", b"$", b" --> "]


def broken(rng: random.Random, data: bytes) -> bytes:
    """Cut, repeat, remove or replace a part of a file."""
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    match rng.randrange(5):
        case 0:
            return data[:end]
        case 1:
            return data[:start] + data[start:end] * rng.choice([2, 20]) + data[end:]
        case 2:
            return data[:start] + data[min(end, start + 40) :]
        case 3:
            return data[:start] + rng.choice(NOISE) * rng.choice([1, 3, 500]) + data[start:]
        case _:
            return data[:start] + bytes(rng.randrange(256) for _ in range(4)) + data[start + 4 :]


def attacked(rng: random.Random, data: bytes) -> bytes:
    """Break a file or, of an archive, half of the time the content of a member."""
    if not data.startswith(b"PK") or rng.random() < 0.5:
        return broken(rng, data)
    parts = members(data)
    name = rng.choice(sorted(parts))
    return packed(parts | {name: broken(rng, parts[name])})


def outcome(name: str, data: bytes) -> str:
    """Read and write a file; return the error, which must be one line, or nothing."""
    try:
        document = read_document(name, data)
        assert document.write(document.segments, language="de") == data
        document.write([uppercased(segment) for segment in document.segments], language="de")
    except DataError as error:
        assert re.fullmatch(r".*\S; \w.*", str(error)), str(error)  # noqa: PT017 -- both outcomes are valid
        return str(error)
    return ""


def attack(suffix: str, files: int) -> tuple[float, list[str]]:
    """Return CPU seconds and the error of each broken file; empty for one that is read."""
    rng = random.Random(suffix)
    name, data = SEEDS[suffix]
    began = time.process_time()
    errors = [outcome(name, attacked(rng, data)) for _ in range(files)]
    return time.process_time() - began, errors


def test_every_format_is_attacked():
    assert FORMATS.keys() - SEEDS.keys() <= SAME.keys()
    assert all(SAME[each] in SEEDS for each in FORMATS.keys() - SEEDS.keys())


@pytest.mark.parametrize("suffix", SEEDS)
def test_a_broken_file_is_read_or_rejected_with_one_line(suffix: str):
    seconds, errors = attack(suffix, FILES)
    assert seconds < SECONDS
    assert any(errors) or suffix == ".txt", "the control: some files are rejected"


@pytest.mark.parametrize("suffix", [suffix for suffix, (data, _) in SAMPLES.items() if data.startswith(b"PK")])
def test_bombs_are_rejected(suffix: str):
    parts = members(SAMPLES[suffix][0])
    zeros = packed(parts | {"media.bin": bytes(16 << 20)})
    assert "decompression bomb" in outcome(f"a.{suffix}", zeros)
    for name in parts:
        if parts[name].startswith(b"<"):
            laughs = packed(parts | {name: BILLION_LAUGHS + parts[name].replace(b"</", b"&j;</", 1)})
            assert "declares entities" in outcome(f"a.{suffix}", laughs)


def main(files: int) -> None:
    """Attack every format; print its suffix, the rejected files, CPU seconds and a fault as a line of JSON."""
    for suffix in sorted(SEEDS):
        try:
            seconds, errors = attack(suffix, files)
            found = suffix, sum(map(bool, errors)), seconds, ""
        except Exception as error:  # noqa: BLE001 -- a finding
            found = suffix, 0, 0.0, f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
