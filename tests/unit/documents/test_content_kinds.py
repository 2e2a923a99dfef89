"""What a text contains is recognised by its first lines."""

from __future__ import annotations

import time

import pytest

from dragoman.documents.content_kinds import content_kind

KINDS = {
    '{"a": {"b": "Open"}}': "JSON",
    '{"text": "a"}\n{"text": "b"}\n': "JSON",
    '<?xml version="1.0"?>\n<resources>\n</resources>': "XML",
    '<?xml version="1.0"?>\n<xliff version="1.2">': "XLIFF",
    "<div>\n<p>Hello</p>\n</div>\n": "HTML",
    "<!DOCTYPE html>\n<html><body>Hello": "HTML",
    "1\n00:00:01,000 --> 00:00:02,000\nHello\n\n2\n00:00:03,000 --> 00:00:04,000\nYou\n": "subtitles",
    "WEBVTT\n\nHello": "subtitles",
    "[00:12.00]Line one\n[00:17.20]Line two\n": "subtitles",
    "{0}{25}Hello!\n{30}{60}You\n": "subtitles",
    'msgid "Open"\nmsgstr ""\n': "gettext messages",
    "#include <stdio.h>\nint main(void) {\n  return 0;\n}\n": "code",
    "import os\n\ndef main():\n    print(os.name)\n": "code",
    "const a = 1;\nexport default a;\n": "code",
    "[section]\nname = Open\npath = x\nother = y\n": "settings",
    "# Title\n\nSome [text](https://example.org).\n": "Markdown",
    "Title\n=====\n\n.. note::\n\n   Text\n": "reStructuredText",
    "\\documentclass{article}\n\\begin{document}\n": "LaTeX",
    "2024-01-02 10:11:12 INFO started\n2024-01-02 10:11:13 INFO done\n": "a log",
    "name: Open\nitems:\n  - one\n  - two\nother: x\n": "YAML",
}
PROSE = [
    "",
    "Two dogs play; a man sleeps.\n" * 5,
    "Anna: Hello!\nPeter: Good morning.\nAnna: How are you?\n",
    "- Yes.\n- No!\n- Why not?\n",
    "The chapters are:\nfirst, the beginning;\nsecond, the middle;\nand the end.\nIt goes on.\nAnd on.\nSo.\nNow.\n",
    "[Music]\nHello.\n[1] See the notes.\n",
    "Price = 5 euros.\nHello {name}, welcome.\nOpen the file.\nClose it.\n",
    "El perro (negro) duerme.\n今天天气很好。\nEr sagte: „Nein“.\n",
    "Hello.\nThe house is red.\n{n, plural, one {x}}\n",
    "What is 3 < 5 ?\n<b>Bold</b> text.\nMore text.\nEven more.\n",
    "1. Resumption of the session\n2. Agenda\n(The sitting was closed at 12.25 p.m.)\n",
]


@pytest.mark.parametrize(("text", "kind"), KINDS.items(), ids=KINDS.values())
def test_the_kind_of_a_text(text: str, kind: str):
    assert content_kind(text) == kind


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_no_other_kind(text: str):
    assert content_kind(text) == ""


@pytest.mark.parametrize("before", ["import ", "def ", "if (", "a", "{1}{", "{% ", ""])
@pytest.mark.parametrize("unit", ["a", "1", " ", "=", "; "])
def test_long_lines_take_little_time(before: str, unit: str):
    began = time.process_time()
    content_kind(before + unit * 50_000 + "\0")
    assert time.process_time() - began < 2
