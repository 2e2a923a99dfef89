"""gettext messages."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import polib
import pytest

from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from tests.unit.documents.uppercase_translation import reworded, texts, translated, uppercased

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
    assert (saved.msgstr, saved.flags, saved.previous_msgid) == ("Sichere", ["fuzzy"], "Sav"), "of another author"
    assert entries[None, "%d file"].msgstr_plural == {0: "%d FILE", 1: "%d FILES"}
    assert entries[None, "First line\n<b>second</b> line\n"].msgstr == "FIRST LINE\n<b>SECOND</b> LINE\n"
    assert (entries[None, "%d %s"].msgstr, entries[None, "%d %s"].flags) == ("", [])
    assert polib.pofile(result).metadata["Language"] == "de"


def test_nothing_else_changes():
    before = MESSAGES.splitlines()
    after = translated("a.po", MESSAGES.encode()).decode().splitlines()
    assert [line for line in before if line not in after] == [
        "#, c-format",
        'msgstr[0] ""',
        'msgstr[1] ""',
    ]
    assert after[-2:] == before[-2:]


@pytest.mark.parametrize("charset", ["CHARSET", "ASCII", "ISO-8859-1"])
def test_the_header_declares_the_encoding_that_is_written(charset: str):
    head = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={charset}\\n"\n\n'
    result = reworded("a.po", (head + 'msgid "bread"\nmsgstr ""\n').encode(), [TaggedText("pão")]).decode()
    assert polib.pofile(result).metadata["Content-Type"] == "text/plain; charset=UTF-8"


def test_columns_of_help_texts_stay():
    text = "  -o, --output=FILE   write to FILE\\tor not"
    document = read_document("a.po", f'msgid "{text}"\nmsgstr ""\n'.encode())
    assert texts(document) == ["write to FILE", "or not"]
    result = document.write([uppercased(each) for each in document.segments], language="de").decode()
    assert 'msgstr "  -o, --output=FILE   WRITE TO FILE\\tOR NOT"' in result


def test_a_label_with_a_mnemonic_is_a_segment():
    assert texts(read_document("a.po", b'msgid "E&xit"\nmsgstr ""\n\nmsgid "AT&T"\nmsgstr ""\n')) == ["E&xit"]


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
    mark = rb"# dragoman:[0-9a-f]{12}-[0-9a-f]{12}"
    expected = b"\xef\xbb\xbf" + mark + b'\r\n#, fuzzy\r\nmsgid "a"\r\nmsgstr "A"\r\n'
    assert re.fullmatch(expected, translated("a.po", data))


@pytest.mark.parametrize("text", ['msgid "a\nmsgstr ""\n', 'msgid "a"b"\n', "hello\n", '"a"\n', 'msgid "a\\"\n'])
def test_an_invalid_line_is_reported_with_its_number(text: str):
    with pytest.raises(DataError, match=r"a\.po:1 must be a line of a message"):
        read_document("a.po", text.encode())


def run(data: str, *, again: bool = False, end: str = "!") -> str:
    """Translate to upper case; `end` distinguishes the translations of several runs."""
    document = read_document("a.po", data.encode(), again=again)
    new = [replace(each, text=each.text + end) for each in map(uppercased, document.segments)]
    return document.write(new, language="de").decode()


def test_a_second_run_leaves_what_the_first_wrote_and_what_people_changed():
    once = run(MESSAGES)
    assert run(once, end="?") == once
    edited = once.replace('msgstr "OPEN %s!"', 'msgstr "Öffne %s"')
    assert edited != once
    assert run(edited, end="?") == edited, "a changed translation is a person's, though it is still fuzzy"
    reviewed = edited.replace("#, fuzzy, c-format", "#, c-format")
    result = run(reviewed, again=True, end="?")
    assert 'msgstr "Öffne %s"' in result, "a reviewed message stays with --again"
    assert 'msgstr "SAVE \\"ALL\\"?"' in result, "a draft of another author does not"
    assert '#| msgid "Sav"' not in result
    assert 'msgstr[1] "%d FILES?"' in result


def test_a_changed_source_is_translated_again():
    once = run('msgid "Open"\nmsgstr ""\n')
    changed = once.replace('msgid "Open"', 'msgid "Open it"')
    result = run(changed)
    assert 'msgstr "OPEN IT!"' in result
    assert result.count("# dragoman:") == 1
    person = changed.replace("OPEN!", "Öffnen")
    assert run(person) == person


def test_only_empty_plural_forms_are_filled():
    text = 'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "Datei %d"\nmsgstr[1] ""\n'
    once = run(text)
    (entry,) = polib.pofile(once)
    assert entry.msgstr_plural == {0: "Datei %d", 1: "%d FILES!"}
    for data in (once.replace("%d file", "%d old file"), once):
        (entry,) = polib.pofile(run(data, again=True, end="?"))
        assert entry.msgstr_plural[0] == "Datei %d", "a reviewed form stays with --again"
        assert entry.msgstr_plural[1].endswith("FILES?")
    more = 'msgid ""\nmsgstr "Plural-Forms: nplurals=3; plural=0;\\n"\n\n' + text.replace(
        'msgstr[1] ""', 'msgstr[2] "c"'
    )
    (entry,) = polib.pofile(run(more))
    assert entry.msgstr_plural == {0: "Datei %d", 1: "%d FILES!", 2: "c"}


def test_the_mark_follows_the_comments_of_translators():
    text = '# Note\n#. extracted\n#: a.c:1\n#, c-format\n#, no-wrap\nmsgid "Open"\nmsgstr ""\n'
    lines = run(text).splitlines()
    assert [line[:10] for line in lines[:3]] == ["# Note", "# dragoman", "#. extract"]
    assert lines[4:6] == ["#, c-format", "#, fuzzy, no-wrap"]
    assert run(run(text)) == run(text), "a second line of flags does not hide the first"


def test_the_region_in_the_header_stays():
    text = 'msgid ""\nmsgstr "Language: de_AT\\n"\n\nmsgid "Open"\nmsgstr ""\n'
    assert run(text).splitlines()[:2] == text.splitlines()[:2]
    assert "Language: pt\\n" in read_document("a.po", text.encode()).write([TaggedText("A")], language="pt").decode()


@pytest.mark.skipif(shutil.which("msgmerge") is None, reason="needs gettext")
def test_gettext_keeps_the_marks(tmp_path: Path):
    once = run(MESSAGES)
    (tmp_path / "a.po").write_text(once)
    (tmp_path / "a.pot").write_text(re.sub(r"(?m)^#~.*\n|^#, fuzzy\n|^#\|.*\n", "", MESSAGES).replace("Open", "Opens"))
    subprocess.run(["msgfmt", "--check-format", "-o", "/dev/null", "a.po"], cwd=tmp_path, check=True)
    subprocess.run(["msgmerge", "--quiet", "-o", "b.po", "a.po", "a.pot"], cwd=tmp_path, check=True)
    merged = (tmp_path / "b.po").read_text()
    assert 'msgstr "OPEN %s!"' in merged, "the old translation of a changed source"
    result = run(merged, end="?")
    assert 'msgstr "OPENS %s?"' in result
    assert 'msgstr[0] "%d FILE!"' in result
    assert 'msgstr "Sichere"' in result


@pytest.mark.parametrize("charset", ["CHARSET", "ISO-8859-1", "ASCII"])
def test_the_header_declares_the_charset_that_is_written(charset: str):
    header = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={charset}\\n"\n\n'
    document = read_document("a.po", f'{header}msgid "door"\nmsgstr ""\n'.encode())
    written = document.write([TaggedText("Tür")], language="de")
    assert b"charset=UTF-8\\n" in written
    assert "Tür".encode() in written


def test_escape_sequences_of_c_are_kept():
    data = rb'msgid "Ring \a \x41\101 \303\251 \\a"' + b'\nmsgstr ""\n'
    document = read_document("a.po", data)
    assert texts(document) == ["Ring \a AA é \\a"]
    assert rb'msgstr "RING \007 AA ' in translated("a.po", data)
