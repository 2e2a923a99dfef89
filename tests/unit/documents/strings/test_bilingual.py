"""Qt Linguist and string catalogs of Xcode: missing translations are added, others stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from babel import Locale
from babel.messages.plurals import get_plural
from lxml import etree

from dragoman.documents.document import select_target
from dragoman.documents.formats import read_document
from dragoman.documents.translation_marks import unreviewed_note
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from tests.unit.documents.uppercase_translation import uppercased

TS = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="pl" sourcelanguage="en">
<context>
    <name>Main</name>
    <message>
        <location filename="a.cpp" line="3"/>
        <source>Save &amp;As %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>%n file(s)</source>
        <comment>a note</comment>
        <translation type="unfinished">
            <numerusform></numerusform>
        </translation>
    </message>
    <message><source>Draft</source><translation type="unfinished">Szkic</translation></message>
    <message><source>Done</source><translation>Gotowe</translation></message>
    <message><source>Old</source><translation type="vanished">Stary</translation></message>
    <message><source>Short</source><translation type="unfinished"/></message>
</context>
</TS>
"""
CATALOG = """{
  "sourceLanguage" : "en",
  "strings" : {
    "Hello %@" : {

    },
    "KEY" : {
      "comment" : "A note",
      "localizations" : {
        "de" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "Schlüssel"
          }
        },
        "en" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "Key / name"
          }
        }
      }
    },
    "Never" : {
      "shouldTranslate" : false
    },
    "items" : {
      "localizations" : {
        "en" : {
          "variations" : {
            "plural" : {
              "one" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%lld item"
                }
              },
              "other" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%lld items"
                }
              }
            }
          }
        }
      }
    }
  },
  "version" : "1.0"
}
"""


def in_upper_case(name: str, text: str, language: str, *, again: bool = False) -> str:
    document = read_document(name, text.encode(), again=again)
    select_target(document, language)
    assert document.write(document.segments, language=language).decode() == text
    return document.write([uppercased(each) for each in document.segments], language=language).decode()


def test_messages_of_qt_without_a_translation_get_one():
    written = in_upper_case("a.ts", TS, "pl")
    expected = TS.replace('"unfinished"></tr', '"unfinished">SAVE &amp;AS %1</tr')
    texts = ("%n FILE", "%n FILES", "%n FILES")  # of the source "%n file(s)"
    forms = "\n            ".join(f"<numerusform>{each}</numerusform>" for each in texts)
    expected = expected.replace("<numerusform></numerusform>", forms)
    expected = expected.replace(
        '<translation type="unfinished"/>', '<translation type="unfinished">SHORT</translation>'
    )
    assert written == expected
    note = unreviewed_note(read_document("a.ts", TS.encode()))
    assert note == "a.ts has 1 unreviewed translation, which stays: of anyone; --again translates again"
    assert ">DRAFT</translation>" in in_upper_case("a.ts", TS, "pl", again=True)
    assert ">Gotowe</translation>" in in_upper_case("a.ts", TS, "pl", again=True)


@pytest.mark.parametrize("language", ["de", "fr", "pt", "cs", "pl", "ar", "zh"])
def test_plural_forms_are_those_of_the_language(language: str):
    text = TS.replace("Szkic", "").replace("Gotowe", "").replace("Stary", "")
    root = etree.fromstring(in_upper_case("a.ts", text, language).encode())
    assert root.get("language") == language
    assert len(root.findall(".//numerusform")) == get_plural(language)[0]
    catalog = json.loads(in_upper_case("a.xcstrings", CATALOG, language))
    plural = catalog["strings"]["items"]["localizations"][language]["variations"]["plural"]
    assert plural.keys() == {*Locale.parse(language).plural_form.tags, "other"}


def test_a_form_that_other_numbers_take_gets_the_count():
    source = CATALOG.replace('%lld item"', 'One item"')
    for language, text in {"ru": "%lld ITEM", "de": "ONE ITEM"}.items():
        strings = json.loads(in_upper_case("a.xcstrings", source, language))["strings"]
        forms = strings["items"]["localizations"][language]["variations"]["plural"]
        assert forms["one"]["stringUnit"]["value"] == text


def test_a_copy_of_the_source_is_a_translation_in_a_bilingual_file():
    document = read_document("a.ts", TS.encode())
    select_target(document, "pl")
    copies = [TaggedText(f"{each.text} x" if not at else each.text) for at, each in enumerate(document.segments)]
    assert ">Short</translation>" in document.write(copies, language="pl").decode()


def test_strings_of_a_catalog_are_added_in_the_style_of_xcode():
    written = in_upper_case("a.xcstrings", CATALOG, "de")
    content: dict[str, Any] = json.loads(written)
    strings = content["strings"]
    assert strings["Hello %@"]["localizations"] == {
        "de": {"stringUnit": {"state": "needs_review", "value": "HELLO %@"}}
    }
    assert (
        '"stringUnit" : {\n            "state" : "needs_review",\n            "value"' in written
    )  # sorted, as by Xcode
    assert strings["KEY"] == json.loads(CATALOG)["strings"]["KEY"]
    assert strings["Never"] == {"shouldTranslate": False}
    for each in strings.values():
        each.get("localizations", {}).pop("pt", None)
    read = read_document("a.xcstrings", written.encode())
    select_target(read, "de")
    assert not read.segments
    again = in_upper_case("a.xcstrings", written, "pt")
    removed = json.loads(again)
    for each in removed["strings"].values():
        each.get("localizations", {}).pop("pt", None)
    assert removed == content
    lines = iter(again.splitlines())
    assert all(line in lines for line in CATALOG.splitlines() if line.strip() and line.strip() != "},")


def test_a_localization_in_another_language_than_the_selected_one_stays():
    document = read_document("a.xcstrings", CATALOG.encode())
    select_target(document, "de")
    data = document.write([uppercased(each) for each in document.segments], language="de")
    document = read_document("a.xcstrings", data)
    select_target(document, "pt")
    again = json.loads(document.write([uppercased(each) for each in document.segments], language="de"))
    assert again == json.loads(data)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ts", "export const a = 3;"),
        ("a.ts", "<TS></TS>"),
        ("a.xcstrings", "{}"),
        ("a.xcstrings", '{"sourceLanguage": "en", "strings": {"a": 3}}'),
    ],
)
def test_other_files_are_refused(name: str, text: str):
    with pytest.raises(DataError, match="; "):
        read_document(name, text.encode())


@pytest.mark.parametrize(
    "entry", ['{"localizations": 3}', '{"localizations": {"en": 3}}', '{"localizations": {"de": []}}', "{}"]
)
def test_unusual_entries_are_read(entry: str):
    in_upper_case("a.xcstrings", f'{{"sourceLanguage": "en", "strings": {{"a": {entry}}}}}', "de")
