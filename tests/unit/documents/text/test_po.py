"""gettext messages."""

import polib
import pytest

from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from tests.unit.documents.uppercase_translation import reworded, texts, translated

MESSAGES = r"""# Notes of the translator
msgid ""
msgstr ""
"Project-Id-Version: thing\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. for the menu
#: src/a.c:12
#, c-format
msgctxt "menu"
msgid "Open %s"
msgstr ""

#: src/b.c:1
msgid "Close"
msgstr "Schließen"

#, fuzzy
#| msgid "Sav"
msgid "Save \"all\""
msgstr "Sichere"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid ""
"First line\n"
"<b>second</b> line\n"
msgstr ""

msgid "%d %s"
msgstr ""

#~ msgid "Gone"
#~ msgstr "Weg"
"""


def test_translated_messages_are_not_segments():
    assert texts(read_document("a.po", MESSAGES.encode())) == [
        "Open %s",
        'Save "all"',
        "%d file",
        "%d files",
        "First line",
        "second line",
    ]


def test_translations_are_written_and_marked():
    result = translated("a.po", MESSAGES.encode()).decode()
    entries = {(entry.msgctxt, entry.msgid): entry for entry in polib.pofile(result)}
    opened = entries["menu", "Open %s"]
    assert (opened.msgstr, opened.flags) == ("OPEN %s", ["fuzzy", "c-format"])
    assert (entries[None, "Close"].msgstr, entries[None, "Close"].flags) == ("Schließen", [])
    saved = entries[None, 'Save "all"']
    assert (saved.msgstr, saved.flags, saved.previous_msgid) == ('SAVE "ALL"', ["fuzzy"], None)
    assert entries[None, "%d file"].msgstr_plural == {0: "%d FILE", 1: "%d FILES"}
    assert entries[None, "First line\n<b>second</b> line\n"].msgstr == "FIRST LINE\n<b>SECOND</b> LINE\n"
    assert (entries[None, "%d %s"].msgstr, entries[None, "%d %s"].flags) == ("", [])
    assert polib.pofile(result).metadata["Language"] == "de"


def test_nothing_else_changes():
    before = MESSAGES.splitlines()
    after = translated("a.po", MESSAGES.encode()).decode().splitlines()
    assert [line for line in before if line not in after] == [
        "#, c-format",
        '#| msgid "Sav"',
        'msgstr "Sichere"',
        'msgstr[0] ""',
        'msgstr[1] ""',
    ]
    assert after[-2:] == before[-2:]


def test_a_fully_translated_file_is_unchanged():
    done = b'msgid ""\nmsgstr "Language: fr\\n"\n\nmsgid "a"\nmsgstr "b"\n'
    assert translated("a.po", done) == done


@pytest.mark.parametrize(("forms", "expected"), [(1, ["D"]), (2, ["C", "D"]), (4, ["C", "D", "D", "D"])])
def test_the_header_sets_the_number_of_plural_forms(forms: int, expected: list[str]):
    head = f'msgid ""\nmsgstr "Plural-Forms: nplurals={forms}; plural=0;\\n"\n\n'
    data = (head + 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\n').encode()
    result = reworded("a.po", data, [TaggedText("C"), TaggedText("D")]).decode()
    (entry,) = polib.pofile(result)
    assert list(entry.msgstr_plural.values()) == expected


def test_line_ends_and_the_byte_order_mark_stay():
    data = b'\xef\xbb\xbfmsgid "a"\r\nmsgstr ""\r\n'
    assert translated("a.po", data) == b'\xef\xbb\xbf#, fuzzy\r\nmsgid "a"\r\nmsgstr "A"\r\n'


@pytest.mark.parametrize("text", ['msgid "a\nmsgstr ""\n', 'msgid "a"b"\n', "hello\n", '"a"\n', 'msgid "a\\"\n'])
def test_an_invalid_line_is_reported_with_its_number(text: str):
    with pytest.raises(DataError, match=r"a\.po:1 must be a line of a message"):
        read_document("a.po", text.encode())
