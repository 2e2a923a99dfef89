"""Plural forms of gettext are made by the rule of the target language, or by that of the file."""

from __future__ import annotations

import gettext

import polib
import pytest
from babel.messages.plurals import get_plural

from dragoman.documents.document import select_target
from dragoman.documents.formats import read_document
from dragoman.markup.tagged_text import TaggedText
from tests.unit.documents.uppercase_translation import uppercased

TEMPLATE = """# SOME DESCRIPTIVE TITLE.
#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: x\\n"
"Language: \\n"
"Content-Type: text/plain; charset=CHARSET\\n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"

#: a.c:1
#, c-format
msgid "%d file in %s"
msgid_plural "%d files in %s"
msgstr[0] ""
msgstr[1] ""

msgid "Open"
msgstr ""
"""


@pytest.mark.parametrize("language", ["de", "fr", "pt", "cs", "pl", "ar", "zh"])
def test_a_template_gets_the_forms_of_the_language(language: str):
    document = read_document("a.pot", TEMPLATE.encode())
    assert document.write(document.segments, language=language) == TEMPLATE.encode()
    select_target(document, language)
    written = document.write([uppercased(each) for each in document.segments], language=language).decode()
    messages = polib.pofile(written)
    rule = get_plural(language)
    assert messages.metadata["Plural-Forms"] == f"nplurals={rule[0]}; plural={rule[1]};"
    assert messages.metadata["Language"] == language
    assert not messages.metadata_is_fuzzy
    files, _ = messages
    assert sorted(files.msgstr_plural) == [*range(rule[0])]
    index = gettext.c2py(rule[1])
    for number in range(200):
        is_singular = files.msgstr_plural[index(number)] == "%d FILE IN %s"
        assert is_singular == (rule[0] > 1 and index(number) == index(1))


def test_each_form_is_translated_with_its_number():
    document = read_document("a.pot", TEMPLATE.encode())
    select_target(document, "pl")
    assert [each.text for each in document.segments] == ["1 file in %s", "2 files in %s", "5 files in %s", "Open"]
    done = [TaggedText(each) for each in ("1 plik w %s", "2 pliki w %s", "5 plików w %s", "Otwórz")]
    messages = polib.pofile(document.write(done, language="pl").decode())
    assert messages[0].msgstr_plural == {0: "%d plik w %s", 1: "%d pliki w %s", 2: "%d plików w %s"}
    broken = [TaggedText(each) for each in ("1 plik w %s", "pliki w %s", "5 plików w %s", "Otwórz")]
    messages = polib.pofile(document.write(broken, language="pl").decode())
    assert not any(messages[0].msgstr_plural.values())
    assert messages[1].msgstr == "Otwórz"


def test_a_form_that_other_numbers_take_gets_the_count():
    for language, text in {"ru": "1 file in %s", "de": "The file in %s"}.items():
        document = read_document("a.pot", TEMPLATE.replace('"%d file in', '"The file in').encode())
        select_target(document, language)
        assert document.segments[0].text == text


def test_the_rule_of_the_file_is_kept():
    rule = "nplurals=2; plural=(n == 1 ? 1 : 0);"  # the singular is the second form
    text = TEMPLATE.replace("nplurals=INTEGER; plural=EXPRESSION;", rule)
    document = read_document("a.po", text.encode())
    select_target(document, "pl")
    written = document.write([uppercased(each) for each in document.segments], language="pl").decode()
    assert polib.pofile(written).metadata["Plural-Forms"] == rule
    assert polib.pofile(written)[0].msgstr_plural == {0: "%d FILES IN %s", 1: "%d FILE IN %s"}


@pytest.mark.parametrize("rule", ["nplurals=2; plural=n/0;", "nplurals=2; plural=((((;", "nplurals=9999; plural=0;"])
def test_a_broken_rule_is_read(rule: str):
    document = read_document("a.po", TEMPLATE.replace("nplurals=INTEGER; plural=EXPRESSION;", rule).encode())
    select_target(document, "pl")
    written = document.write([uppercased(each) for each in document.segments], language="pl").decode()
    assert polib.pofile(written)[0].msgstr_plural[1]
