"""Files of translation memories are read with what is reviewed in them, and hostile ones are refused."""

import gzip
import re
from pathlib import Path

import pytest

from dragoman.documents.memory_files import FileUnit, read_memory_file, write_memory_file
from dragoman.errors import DataError, DragomanError

TMX = """<?xml version="1.0"?>
<tmx version="1.4"><header srclang="EN-us"/><body>
<tu changedate="20260102T030405Z" changeid="ana"><tuv xml:lang="de"><seg>Ein <bpt>&lt;b></bpt>Hund<ept/></seg></tuv>
<tuv xml:lang="en-US"><seg>A <hi>dog</hi></seg></tuv><tuv xml:lang="fr"><seg>Un chien</seg></tuv></tu>
</body></tmx>"""
XLIFF = """<xliff version="1.2"><file source-language="en" target-language="de"><body>
<trans-unit id="1"><source>A dog</source><target state="final">Ein Hund</target></trans-unit>
<trans-unit id="2"><source>A cat</source><target state="needs-review-translation">Eine Katze</target></trans-unit>
<trans-unit id="3"><source>A cow</source></trans-unit></body></file></xliff>"""
PO = """msgid ""
msgstr "Language: de\\nContent-Type: text/plain; charset=UTF-8\\nPlural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "A dog"
msgstr "Ein Hund"

#, fuzzy
msgid "A cat"
msgstr "Ein Hund"

msgid "%d cow"
msgid_plural "%d cows"
msgstr[0] "%d Kuh"
msgstr[1] "%d Kühe"

msgid "A pig"
msgstr ""
"""
DOG = FileUnit("", "", "A dog", "Ein Hund")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.tsv", "A dog\tEin Hund\n", [DOG]),
        ("a.tsv.gz", "en\tde\nA dog\tEin Hund\n", [FileUnit("en", "de", "A dog", "Ein Hund")]),
        (
            "a.csv",
            'source,target\n"A ""dog"", so","Ein ""Hund"", so"\n',
            [FileUnit("", "", 'A "dog", so', 'Ein "Hund", so')],
        ),
        (
            "a.tmx",
            TMX,
            [
                FileUnit("en-US", "de", "A dog", "Ein Hund", "ana", 1767323045000000),
                FileUnit("en-US", "fr", "A dog", "Un chien", "ana", 1767323045000000),
            ],
        ),
        ("a.xlf", XLIFF, [FileUnit("en", "de", "A dog", "Ein Hund")]),
        (
            "a.po",
            PO,
            [
                FileUnit("", "de", *pair)
                for pair in (("A dog", "Ein Hund"), ("%d cow", "%d Kuh"), ("%d cows", "%d Kühe"))
            ],
        ),
    ],
)
def test_formats(tmp_path: Path, name: str, text: str, expected: list[FileUnit]) -> None:
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert list(read_memory_file(tmp_path / name)) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "x", "must end in .tmx"),
        ("a.tsv", "A dog\n", "a.tsv:1 must have two columns; separate them by tabs"),
        ("a.tsv", "A dog\t\udcff\n", "must be UTF-8"),
        ("a.csv", 'a,b\n"x,y\n' + "z" * 200_000, "must be CSV"),
        ("a.tmx", "<html/>", "must be TMX"),
        ("a.tmx", TMX[:-40], "well-formed"),
        ("a.tmx", '<!DOCTYPE tmx [<!ENTITY a "b">]><tmx><header/><body/></tmx>', "declares entities"),
        ("a.tmx", "<tmx><body><tu>" + "<tuv><seg/></tuv>" * 20_000 + "</tu></body></tmx>", "at most 10,000 elements"),
        ("a.tmx", "<tmx><body>" + "<tu>" * 300 + "</tu>" * 300 + "</body></tmx>", "well-formed"),
        (
            "a.tmx",
            f"<tmx><body><tu><tuv lang='en'><seg>{'x' * 11_000_000}</seg></tuv></tu></body></tmx>",
            "well-formed",
        ),
        ("a.tmx", f"<!DOCTYPE tmx [{'<!ENTITY % p SYSTEM `/etc/passwd`> %p;'}]><tmx/>".replace("`", "'"), "declares"),
        ("a.tsv.gz", "a" * 10_000_001, "a.tsv.gz:1 must have 10,000,000 characters at most"),
        ("a.xlf", "<html/>", "must be XLIFF"),
        ("a.tsv.gz", "no archive", "is damaged"),
    ],
)
def test_invalid_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    (tmp_path / name).write_bytes(gzip.compress(data) if len(data) > 10_000_000 and name.endswith(".gz") else data)
    with pytest.raises(DragomanError, match=re.escape(message)):
        list(read_memory_file(tmp_path / name))
    with pytest.raises(DataError, match="does not exist"):
        list(read_memory_file(tmp_path / "missing.tmx"))


def test_written_tmx_is_read_again(tmp_path: Path) -> None:
    units = [
        FileUnit("en", "de", 'A <b>"dog"</b> & so', "Ein\tHund", "a&b", 1767323045000000),
        FileUnit("en", "fr", "A \x01dog", "Un chien"),
    ]
    assert write_memory_file(tmp_path / "a.tmx", units, ".tmx") == 2
    assert list(read_memory_file(tmp_path / "a.tmx")) == [units[0], FileUnit("en", "fr", "A dog", "Un chien")]
