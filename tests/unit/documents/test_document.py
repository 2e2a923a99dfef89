"""Languages that documents declare, compared with those of a translation."""

import pytest

from dragoman.documents.document import (
    DeclaredLanguages,
    Document,
    check_declared_target,
    declaration_notes,
    parse_declared_code,
    target_tag,
)
from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from tests.unit.documents.uppercase_translation import translated

OPEN = 'msgid "Open the door"\nmsgstr ""\n\n'
CLOSED = 'msgid "Close it"\nmsgstr "Schließen"\n\n'
COPIED = 'msgid "Taxi"\nmsgstr "Taxi"\n\nmsgid "%d"\nmsgstr "%d"\n\n#, fuzzy\nmsgid "Save"\nmsgstr "Sichern"\n\n'
UNIT = '<trans-unit id="1"><source>Open the door</source></trans-unit>'
DONE = '<trans-unit id="2"><source>Close it</source><target>Schließen</target></trans-unit>'
KEPT = '<trans-unit id="3" translate="no"><source>A</source><target>B</target></trans-unit>'


def po(language: str, *messages: str) -> Document:
    header = f'msgid ""\nmsgstr "Language: {language}\\n"\n\n'
    return read_document("b.po", (header + "".join(messages)).encode())


def xliff_1(*files: tuple[str, str]) -> bytes:
    parts = (f"<file {attributes}><body>{units}</body></file>" for attributes, units in files)
    return f'<xliff version="1.2">{"".join(parts)}</xliff>'.encode()


def xliff_2(attributes: str, *targets: str) -> Document:
    segments = "".join(f"<segment><source>Open it</source>{target}</segment>" for target in targets)
    data = f'<xliff version="2.0" {attributes}><file><unit>{segments}</unit></file></xliff>'
    return read_document("b.xlf", data.encode())


def declared(document: Document) -> tuple[DeclaredLanguages, ...]:
    found = getattr(document, "declared", None)
    assert isinstance(found, tuple)
    return found


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *((code, code) for code in ("de", "pt-BR", "zh_Hant_TW", "deu")),
        (" de \n", "de"),
        ("sr@latin", "sr"),
        ("de_DE.UTF-8", "de_DE"),
        *((text, "") for text in ("", "German", "und", "mul", "xx", "*all*", "de fr", "x-pseudo", "de-" + "a" * 99)),
    ],
)
def test_only_codes_of_languages_are_read(text: str, code: str):
    assert parse_declared_code(text) == code


def test_messages_that_stay_are_counted():
    assert declared(po("de", OPEN, CLOSED, COPIED)) == (DeclaredLanguages("", "de", 2),), "a fuzzy one stays too"
    assert declared(po("", OPEN)) == (DeclaredLanguages(),)
    assert declared(po("de", CLOSED)) == (), "nothing is translated, so nothing is written"


def test_units_that_stay_are_counted_per_file():
    data = xliff_1(
        ('source-language="en" target-language="de"', UNIT + DONE + DONE + KEPT),
        ('source-language="en" target-language="fr"', DONE),
        ('source-language="fr"', UNIT),
    )
    assert declared(read_document("b.xlf", data)) == (DeclaredLanguages("en", "de", 2), DeclaredLanguages("fr"))
    found = xliff_2('srcLang="en" trgLang="de"', "", "<target>Öffnen</target>", "<target>Open it</target>")
    assert declared(found) == (DeclaredLanguages("en", "de", 1),)


def test_copies_and_codes_are_no_translations():
    spaced = 'msgid "Taxi "\nmsgstr "Taxi"\n\n'
    people = 'msgid "translator-credits"\nmsgstr "Anna"\n\n'
    assert declared(po("de", OPEN, spaced, people)) == (DeclaredLanguages("", "de", 0),)
    code = "<source>1 <ph>br</ph></source><target>2 <ph>hr <sub>ab</sub> cd</ph></target>"
    unit = f'<trans-unit id="9">{code}</trans-unit>'
    spaces = '<trans-unit id="8"><source>Hello  <g>World</g></source><target>Hello <g>World </g></target></trans-unit>'
    text = '<trans-unit id="7"><source>A <g>dog</g></source><target>A <g>Hund</g></target></trans-unit>'
    for units, count in ((unit, 0), (spaces, 0), (text, 1)):
        data = xliff_1(('target-language="de"', UNIT + units))
        assert declared(read_document("b.xlf", data)) == (DeclaredLanguages("", "de", count),)


def test_another_target_language_with_translations_is_an_error():
    message = (
        r"^b\.po must be translated to de, the target language that it declares, got pt and 1 translation in the file, "
        r"which would stay; translate a file without translations, or correct the declared language$"
    )
    with pytest.raises(DataError, match=message):
        check_declared_target(po("de", OPEN, CLOSED), "pt")
    for document in (
        read_document("b.xlf", xliff_1(('target-language="pt"', UNIT + DONE), ('target-language="de"', UNIT + DONE))),
        xliff_2('srcLang="en" trgLang="de-AT"', "", "<target>Öffnen</target>"),
    ):
        with pytest.raises(DataError, match=r"^b\.xlf must be translated to de"):
            check_declared_target(document, "pt")


@pytest.mark.parametrize(
    ("language", "target"),
    [
        ("pt_BR", "pt"),
        ("pt", "pt-BR"),
        ("zh_CN", "zh"),
        ("deu", "de"),
        ("nb_NO", "no"),
        ("fil", "tl"),
        ("sr@latin", "sr"),
        *(("", "pt"), ("de", ""), ("und", "pt"), ("German", "pt")),
    ],
)
def test_regions_and_unknown_languages_are_not_reported(language: str, target: str):
    check_declared_target(po(language, OPEN, CLOSED), target)
    assert declaration_notes(po(language, OPEN), "en", target) == []


def test_another_script_is_another_language():
    with pytest.raises(DataError, match="must be translated to zh_TW"):
        check_declared_target(po("zh_TW", OPEN, CLOSED), "zh")
    assert "Language: zh\\n" in po("zh_TW", OPEN).write([TaggedText("a")], language="zh").decode()


@pytest.mark.parametrize(
    ("declared", "language", "tag"),
    [
        *((tag, "pt", tag) for tag in ("pt-BR", "pt_BR", "pt_BR.UTF-8", "por", "PT")),
        ("pt-PT", "pt-BR", "pt-PT"),
        ("sr@latin", "sr", "sr@latin"),
        *(("", "pt", "pt"), ("de-AT", "pt", "pt"), ("German", "de", "de"), ("zh-TW", "zh", "zh")),
    ],
)
def test_a_file_keeps_the_region_that_it_declares(declared: str, language: str, tag: str):
    assert target_tag(declared, language) == tag
    assert target_tag("", "pt-BR", separator="_") == "pt_BR", "gettext joins with an underscore"


def test_notes():
    told = "b.po declares de as its target language; the model translates to pt, and the output declares pt"
    assert declaration_notes(po("de", OPEN), "en", "pt") == [told]
    check_declared_target(po("de", OPEN), "pt")
    twice = read_document("b.xlf", xliff_1(*[('source-language="fr" target-language="pt"', UNIT + DONE)] * 2))
    told = "b.xlf declares fr as its source language; the model translates from en"
    assert declaration_notes(twice, "en", "pt") == [told]
    assert declaration_notes(xliff_2('srcLang="fr-CA"', ""), "en", "pt") == [told.replace("fr as", "fr-CA as")]
    assert declaration_notes(xliff_2('srcLang="en-US"', ""), "en", "pt") == []


def test_documents_without_declarations():
    document = read_document("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\nOpen the door\n")
    check_declared_target(document, "pt")
    assert declaration_notes(document, "en", "pt") == []


def test_only_what_is_translated_gets_the_target_language():
    data = xliff_1(('target-language="de"', DONE), ('target-language="fr"', UNIT))
    result = translated("b.xlf", data, "pt")
    assert b'<file target-language="de">' in result
    assert b'<file target-language="pt">' in result
    numbers = b'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "Close it"\nmsgstr "Zu"\n\nmsgid "%d"\nmsgstr ""\n'
    assert translated("b.po", numbers, "pt") == numbers


def test_a_page_in_a_region_of_the_target_language_keeps_its_tag():
    page = '<html lang="{}"><p>Open it</p></html>'
    for declared, expected in (("en-GB", "pt"), ("pt-BR", "pt-BR")):
        assert translated("a.html", page.format(declared).encode(), "pt").startswith(
            f'<html lang="{expected}">'.encode()
        )
