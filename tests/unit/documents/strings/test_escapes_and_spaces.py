"""Escapes, white space and names in files of strings that only look like something else."""

from __future__ import annotations

import json
import time

import pytest
import yaml

from dragoman.documents.document import select_target
from dragoman.documents.formats import read_document
from dragoman.documents.strings.json_strings import encode_json
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from tests.unit.documents.uppercase_translation import uppercased


def uppercase(name: str, source: str, language: str = "de") -> str:
    document = read_document(name, source.encode())
    select_target(document, language)
    return document.write([uppercased(each) for each in document.segments], language=language).decode()


@pytest.mark.parametrize(
    ("source", "language", "written"),
    [
        (
            '{"a_other": "{{count}} b", "a_one": "{{count}} c", "a_two": "{{count}} d"}',
            "ja",
            {"a_other": "{{count}} B"},
        ),
        (
            '{"z": "Last b", "a_one": "{{count}} c", "a_few": "{{count}} e", "a_other": "{{count}} b"}',
            "ja",
            {"z": "LAST B", "a_other": "{{count}} B"},
        ),
    ],
)
def test_json_without_several_forms_in_a_row_is_valid(source: str, language: str, written: dict[str, str]):
    assert json.loads(uppercase("en.json", source, language)) == written


@pytest.mark.parametrize(
    ("name", "source", "written"),
    [
        (
            "strings.xml",
            r'<resources><string name="a">Go \uD83D\uDE00</string></resources>',
            '<resources><string name="a">GO \N{GRINNING FACE}</string></resources>',
        ),
        ("a.strings", r'"a" = "Go \UD83D\UDE00";', '"a" = "GO \N{GRINNING FACE}";'),
        ("en.json", r'{"a": "Half \ud83d of it", "b": "A word"}', r'{"a": "Half \ud83d of it", "b": "A WORD"}'),
    ],
)
def test_surrogate_pairs_are_one_character_and_halves_stay(name: str, source: str, written: str):
    assert uppercase(name, source) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (r"\u0020and more\u0020", r"\u0020AND MORE\u0020"),
        (r"see\u0020", r"SEE\u0020"),
        ("see ", "SEE "),
        (r'"\u0020and "', '" AND "'),
    ],
)
def test_spaces_of_android_that_are_escaped_stay_so(text: str, written: str):
    new = uppercase("strings.xml", f'<resources><string name="a">{text}</string></resources>')
    assert new == f'<resources><string name="a">{written}</string></resources>'


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("en.yml", 'en: "a b' + " " * 60_000 + 'c\n  d"\n'),
        ("en.yml", 'en: "a b' + "\\" * 60_000 + 'c\n  d"\n'),
        ("en.json", '{"a": "a b' + " \\t" * 20_000 + 'c"}'),
        ("strings.xml", '<resources><string name="a">b' + " " * 60_000 + "c</string></resources>"),
        ("a.ftl", "a = b\n    c" + " " * 60_000 + "d\n"),
    ],
    ids=["spaces of YAML", "backslashes of YAML", "spaces and tabs", "spaces of Android", "spaces of Fluent"],
)
def test_white_space_takes_linear_time(name: str, source: str):
    began = time.process_time()
    uppercase(name, source)
    assert time.process_time() - began < 5  # 0.1 s; quadratic time takes a minute


@pytest.mark.parametrize(
    ("name", "source", "written"),
    [
        (
            "en.json",
            '{"step_one": "First b", "step_two": "Second b", "step_other": "Any b"}',
            '{"step_one": "FIRST B", "step_two": "SECOND B", "step_other": "ANY B"}',
        ),
        ("en.yml", "en:\n  a: Sign in|Sign up\n", "de:\n  a: SIGN IN|SIGN UP\n"),
        ("en.yml", "en:\n  a: |\n\n    b c\n", "de:\n  a: |\n\n    B C\n"),
    ],
    ids=["names that end as categories", "alternatives without a count", "blank lines before a block"],
)
@pytest.mark.parametrize("language", ["de", "ja"])
def test_what_only_looks_like_plural_forms_or_space_stays(name: str, source: str, written: str, language: str):
    assert uppercase(name, source, language) == written.replace("de:", f"{language}:")


def test_a_selection_inside_of_another_placeable_stays():
    source = "a = { x { $b ->\n    [one] One\n   *[other] Others\n } }\nno = { $b ->\n  }\nb = Text\n"
    assert uppercase("a.ftl", source) == source.replace("Text", "TEXT")


def test_a_line_of_fluent_does_not_start_as_an_attribute():
    document = read_document("a.ftl", b"a =\n    b c\n")
    assert document.write([TaggedText(".b c")], language="de") == b'a =\n    {"."}b c\n'


def test_letters_are_escaped_only_in_the_style_of_json():
    assert encode_json("\u00e9", r'"More \\\u2026"') == r'"\u00e9"'
    assert encode_json("\u00e9", r'"C:\\users"') == '"\u00e9"'


def test_words_of_apple_may_be_without_quotes():
    assert (
        uppercase("a.strings", 'a = Plain;\n"b" = "It \\"is\\"";\nc;\n') == 'a = "PLAIN";\n"b" = "IT \\"IS\\"";\nc;\n'
    )


def test_other_notations_of_yaml_are_read():
    source = "%YAML 1.1\n---\nen:\n  &x a: [One two,\n    'Three']\n  b: !!str Four\n  c: !x Five\n...\n"
    assert uppercase("en.yml", source) == (
        source.replace("en:", "de:").replace("One two", "ONE TWO").replace("Three", "THREE").replace("Four", "FOUR")
    )


@pytest.mark.parametrize("text", ["de:\n    a: One\n  b: Two\n", "de:\n  a:\n    - One\n   - Two\n"])
def test_irregular_indents_of_yaml_are_refused(text: str):
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(text)
    with pytest.raises(DataError, match="must be YAML without an error"):
        read_document("de.yaml", text.encode())


@pytest.mark.parametrize(
    ("source", "translation", "written"),
    [
        ("a = It''s {0}", "l'a {0}", "a = l''a {0}"),
        ("a = The {0}", "l'a {0}", "a = l\\u2019a {0}"),
        ("a = The end", "l'é\\", "a = l'\\u00E9\\\\"),
        ("a = é the", "l'é", "a = l'é"),
    ],
)
def test_properties_are_escaped(source: str, translation: str, written: str):
    document = read_document("a.properties", source.encode())
    assert document.write([TaggedText(translation)], language="fr").decode() == written


def test_properties_with_too_many_escapes_are_refused_at_once():
    with pytest.raises(DataError, match="at most 1,000,000 escapes"):
        read_document("a.properties", b"a = " + b"\\:" * 1_000_001)


def test_properties_in_latin_1_stay_so():
    document = read_document("a.properties", "a = é the".encode("iso-8859-1"))
    assert document.write([TaggedText("日é")], language="ja") == b"a = \\u65E5\\u00E9"


def test_utf_16_stays():
    data = '"a" = "Hello";\n'.encode("utf-16")
    assert (
        read_document("a.strings", data).write([TaggedText("Olá")], language="pt").decode("utf-16") == '"a" = "Olá";\n'
    )


@pytest.mark.parametrize(
    "text", ["yes", "a: b", "# a", "- a", "a #b", "'a", "[a", "5", "@a", "a\nb", " a", "null", "{a"]
)
def test_a_plain_scalar_is_quoted_if_it_must_be(text: str):
    document = read_document("en.yml", b"en:\n  a: Hello\n  b: World # note\n")
    written = document.write([TaggedText(text), TaggedText("Welt")], language="de")
    assert yaml.safe_load(written) == {"de": {"a": text, "b": "Welt"}}
