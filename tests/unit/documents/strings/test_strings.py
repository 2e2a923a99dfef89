"""Files of strings: the texts are translated in place, plural forms are those of the target, the rest is unchanged."""

from __future__ import annotations

import json

import pytest
import yaml
from babel import Locale
from lxml import etree

from dragoman.documents.document import reader_notes, select_target
from dragoman.documents.formats import FORMATS, read_document
from dragoman.documents.strings.document import StringsDocument
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from tests.unit.documents.uppercase_translation import uppercased

ANDROID = """<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
  <!-- a note -->
  <string name="a">It\\'s <b>bold</b> &amp; <xliff:g id="n">%1$s</xliff:g>\\n</string>
  <string name="b" translatable="false">App</string>
  <string name="c"><![CDATA[<p>Hello</p>]]></string>
  <string name="q">"Don't go"</string>
  <string name="r">@string/app</string>
  <string-array name="list"><item>One</item><item>Two</item></string-array>
  <plurals name="n">
    <item quantity="one">%d file</item>
    <item quantity="other">%d files</item>
  </plurals>
</resources>
"""
STRINGSDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
  <key>items</key>
  <dict>
    <key>NSStringLocalizedFormatKey</key><string>%#@n@ left</string>
    <key>n</key>
    <dict>
      <key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
      <key>one</key><string>%d item</string>
      <key>other</key><string>%d items</string>
    </dict>
  </dict>
</dict></plist>
"""
RESX = """<root><resheader name="v"><value>2.0</value></resheader>
<data name="A.B" xml:space="preserve"><value>See &lt;b&gt; {0}</value><comment>Note</comment></data>
<data name="pic" type="System.Drawing.Bitmap"><value>AAAA</value></data>
<data name="&gt;&gt;b.Name"><value>button</value></data></root>
"""
RAILS = """# a note
en:
  a: Hello world # why
  "b": "Don't %{name}\\n x"
  c: 'It''s'
  d: |
    Line one
    line two

  e: >-
    folded text
    goes on

    next
  f: &anchor Text here
  g: *anchor
  h:
    one: One item
    other: "%{count} items"
  days: [Sunday, "Monday", ~]
  order:
  - :year
  - :month
  list:
  - First thing
  - third: Multi line
      plain text
  yes: true
  n: 5
"""
FLUENT = """# a note
-brand = Firefox
hello = Hello { $name }
multi =
    First line
    goes on

    New text
files = { $n ->
    [one] One file
   *[other] { $n } files
}
login = Log in
    .title = The { -brand } title
    .x = { PLATFORM() ->
        [macos] For the Mac
       *[other] For others
    }
"""
PHP = """<?php
// a note
return [
  'a' => 'It\\'s :name', /* why */
  "b" => ["c" => "Hello $x", 'd' => 'One apple|Many :count apples', 'e'=>'{0} None|[1,*] Some'],
  'f' => A::class, 'g' => 'Home | News', 2 => 'Two'
];
"""
CHROME = '{"hi": {"message": "Hi $NAME$", "description": "A note", "placeholders": {"name": {"content": "$1"}}}}'
CASES = {  # a file, its strings, and the changes that a translation to German in upper case makes
    "a.json": (
        '{\n  "a": "Hello {{name}}",\n  "b": {"x_one": "{{count}} item", "x_other": "{{count}} items", "y.z": ["No"]}\n}',  # noqa: E501
        {
            "a": "Hello {{name}}",
            "b.x[one]": "{{count}} item",
            "b.x[other]": "{{count}} items",
            "b.y\\.z.0": "No",
        },
        [("Hello", "HELLO"), ('item"', 'ITEM"'), ('items"', 'ITEMS"'), ('"No"', '"NO"')],
    ),
    "messages.json": (CHROME, {"hi": "Hi $NAME$"}, [('"Hi ', '"HI ')]),
    "a.arb": (
        '{"@@locale": "en", "a": "Hi {x}", "@a": {"description": "A note"}}',
        {"a": "Hi {x}"},
        [('"en"', '"de"'), ('"Hi ', '"HI ')],
    ),
    "a.properties": (
        "# a note\na.b = Hello {0}\\u00e9 world\nlong: one \\\n   two\nno\n\nx=It''s {1} \n",
        {"a.b": "Hello {0}é world", "long": "one two", "no": "", "x": "It's {1} "},
        [("Hello {0}\\u00e9 world", "HELLO {0}\\u00C9 WORLD"), ("one \\\n   two", "ONE TWO"), ("It''s", "IT''S")],
    ),
    "a.strings": (
        '/* a note */\n"a" = "Hello \\"you\\" %@";\n// why\nb = "New\\nline";\n',
        {"a": 'Hello "you" %@', "b": "New\nline"},
        [("Hello", "HELLO"), ("you", "YOU"), ("New\\nline", "NEW\\nLINE")],
    ),
    "a.php": (
        PHP,
        {
            "a": "It's :name",
            "b.d": "One apple|Many :count apples",
            "b.e": "{0} None|[1,*] Some",
            "g": "Home | News",
            "2": "Two",
        },
        [
            ("It\\'s", "IT\\'S"),
            ("One apple|Many", "ONE APPLE|MANY"),
            (" apples", " APPLES"),
            ("None", "NONE"),
            ("Some", "SOME"),
            ("Home | News", "HOME | NEWS"),
            ("Two", "TWO"),
        ],
    ),
    "strings.xml": (
        ANDROID,
        {
            "a": 'It\'s <b>bold</b> & <xliff:g id="n">%1$s</xliff:g>\n',
            "c": "<p>Hello</p>",
            "q": "Don't go",
            "list.0": "One",
            "list.1": "Two",
            "n[one]": "%d file",
            "n[other]": "%d files",
        },
        [
            ("It\\'s", "IT\\'S"),
            (">bold<", ">BOLD<"),
            (">Hello<", ">HELLO<"),
            ("Don't go", "DON'T GO"),
            (">One<", ">ONE<"),
            (">Two<", ">TWO<"),
            ("%d files", "%d FILES"),
            ("%d file", "%d FILE"),
        ],
    ),
    "a.resx": (RESX, {"A.B": "See <b> {0}"}, [("See", "SEE")]),
    "a.stringsdict": (
        STRINGSDICT,
        {"items.NSStringLocalizedFormatKey": "%#@n@ left", "items.n[one]": "%d item", "items.n[other]": "%d items"},
        [("left", "LEFT"), ("%d items", "%d ITEMS"), ("%d item", "%d ITEM")],
    ),
    "en.yml": (
        RAILS,
        {
            "a": "Hello world",
            "b": "Don't %{name}\n x",
            "c": "It's",
            "d": "Line one\nline two",
            "e": "folded text goes on\nnext",
            "f": "Text here",
            "h[one]": "One item",
            "h[other]": "%{count} items",
            "days.0": "Sunday",
            "days.1": "Monday",
            "list.0": "First thing",
            "list.1.third": "Multi line plain text",
        },
        [
            ("en:", "de:"),
            ("Hello world", "HELLO WORLD"),
            ("Don't", "DON'T"),
            ("\\n x", "\\n X"),
            ("It''s", "IT''S"),
            ("Line one\n    line two", "LINE ONE\n    LINE TWO"),
            ("folded text\n    goes on\n\n    next", "FOLDED TEXT GOES ON\n\n    NEXT"),
            ("Text here", "TEXT HERE"),
            ("One item", "ONE ITEM"),
            ("} items", "} ITEMS"),
            ("Sunday", "SUNDAY"),
            ("Monday", "MONDAY"),
            ("First thing", "FIRST THING"),
            ("Multi line\n      plain text", "MULTI LINE PLAIN TEXT"),
        ],
    ),
    "messages.en.yaml": (
        "a.b: 'One|Many %count%'\nc: \"Hi\"\n",
        {"a\\.b": "One|Many %count%", "c": "Hi"},
        [("'One|Many", "'ONE|MANY"), ('"Hi"', '"HI"')],
    ),
    "a.ftl": (
        FLUENT,
        {
            "hello": "Hello { $name }",
            "multi": "First line goes on\n\nNew text",
            "files[one]": "One file",
            "files[other]": "{ $n } files",
            "login": "Log in",
            "login.title": "The { -brand } title",
            "login.x.macos": "For the Mac",
            "login.x.other": "For others",
        },
        [
            ("Hello", "HELLO"),
            ("First line\n    goes on\n\n    New text", "FIRST LINE GOES ON\n\n    NEW TEXT"),
            ("One file", "ONE FILE"),
            ("} files", "} FILES"),
            ("Log in", "LOG IN"),
            ("= The", "= THE"),
            (" title\n", " TITLE\n"),
            ("For the Mac", "FOR THE MAC"),
            ("For others", "FOR OTHERS"),
        ],
    ),
}


def in_upper_case(name: str, text: str, language: str) -> str:
    document = read_document(name, text.encode())
    select_target(document, language)
    return document.write([uppercased(each) for each in document.segments], language=language).decode()


@pytest.mark.parametrize("name", CASES)
def test_the_texts_are_translated_and_nothing_else(name: str):
    text, strings, changes = CASES[name]
    document = read_document(name, text.encode())
    assert isinstance(document, StringsDocument)
    assert document.strings == strings
    expected = text
    for old, new in changes:
        assert old in expected
        expected = expected.replace(old, new, 1)
    assert in_upper_case(name, text, "de") == expected


@pytest.mark.parametrize("language", ["de", "ar", "zh"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", CASES)
def test_a_translation_that_is_the_source_gives_the_same_bytes(name: str, end: str, language: str):
    data = CASES[name][0].replace("\n", end).encode()
    document = read_document(name, data)
    copies = [TaggedText(each.text, each.spans, each.kept) for each in document.segments]
    assert document.write(copies, language="de") == data
    select_target(document, language)
    assert document.write(document.segments, language=language) == data


@pytest.mark.parametrize("name", CASES)
def test_keys_are_those_of_the_translated_file(name: str):
    text, strings, _ = CASES[name]
    document = read_document(name, in_upper_case(name, text, "de").encode())
    assert isinstance(document, StringsDocument)
    assert document.strings.keys() == strings.keys()
    assert set(document.keys) <= strings.keys()
    assert len(document.keys) == len(document.segments)


PLURALS = {
    "a.json": lambda data: {key[2:]: text for key, text in json.loads(data)["b"].items() if key.startswith("x_")},
    "strings.xml": lambda data: {
        each.get("quantity"): each.text for each in etree.fromstring(data.encode()).iterfind("plurals/item")
    },
    "en.yml": lambda data: next(iter(yaml.safe_load(data).values()))["h"],
    "a.stringsdict": lambda data: {
        key.text: key.getnext().text
        for key in etree.fromstring(data.encode()).findall("dict/dict/dict/key")
        if not key.text.startswith("NS")
    },
    "a.ftl": lambda data: dict(
        line.strip(" *").lstrip("[").split("] ", 1)
        for line in data.partition("files =")[2].partition("}\n")[0].splitlines()[1:]
    ),
}


@pytest.mark.parametrize("language", ["de", "fr", "pt", "cs", "pl", "ar", "zh"])
@pytest.mark.parametrize("name", PLURALS)
def test_plural_forms_are_those_of_the_language(name: str, language: str):
    rule = Locale.parse(language).plural_form
    text = in_upper_case(name, CASES[name][0], language)
    assert PLURALS[name](text).keys() == {*rule.tags, "other"}
    read_document(name, text.encode())


def test_a_form_is_translated_with_a_number_that_takes_it():
    document = read_document("a.json", b'{"x_one": "{{count}} item", "x_other": "{{count}} items in {{place}}"}')
    select_target(document, "pl")
    assert [each.text for each in document.segments] == [
        "1 item",
        "2 items in {{place}}",
        "5 items in {{place}}",
        "5 items in {{place}}",
    ]
    done = [TaggedText(each) for each in ("1 plik", "2 pliki w {{place}}", "plików w {{place}}", "5 pliku w {{place}}")]
    assert json.loads(document.write(done, language="pl")) == {
        "x_one": "{{count}} plik",
        "x_few": "{{count}} pliki w {{place}}",
        "x_many": "{{count}} pliku w {{place}}",  # the number was lost
        "x_other": "{{count}} pliku w {{place}}",
    }


def test_a_form_without_a_number_is_not_used_for_others():
    document = read_document("a.json", b'{"x_one": "One item", "x_other": "{{count}} items"}')
    for language, texts in {"pl": "One item", "fr": "1 item"}.items():
        select_target(document, language)
        assert document.segments[0].text == texts
    done = [TaggedText(each.text.replace("items", "choses").replace("item", "chose")) for each in document.segments]
    assert json.loads(document.write(done, language="fr")) == {
        "x_one": "{{count}} chose",  # 0 has this form as well
        "x_many": "{{count}} choses",
        "x_other": "{{count}} choses",
    }


@pytest.mark.parametrize(
    ("one", "other", "made"),
    [
        ("The last item", "{{count}} items", "1 item"),
        ("An item", "{{count}} items", "1 item"),
        ("File deleted", "{{count}} files deleted", "1 file deleted"),
        ("The entry is new", "{{count}} entries are new", "1 entry is new"),
        ("A new message came", "You have {{count}} messages", "1 new message came"),
        ("Nobody", "{{count}} people", "1 people"),
    ],
)
def test_a_form_without_a_number_gets_one_in_the_singular(one: str, other: str, made: str):
    document = read_document("a.json", json.dumps({"x_one": one, "x_other": other}).encode())
    select_target(document, "pt")  # 0 has this form as well
    assert document.segments[0].text == made


@pytest.mark.parametrize("language", ["de", "fr", "pt", "cs", "pl", "ar", "zh"])
def test_each_form_is_translated_with_a_number_of_cldr_that_takes_it(language: str):
    rule = Locale.parse(language).plural_form
    document = read_document("a.json", b'{"x_one": "{{count}} item", "x_other": "{{count}} items"}')
    select_target(document, language)
    assert isinstance(document, StringsDocument)
    names = [key.partition("[")[2][:-1] for key in document.keys]
    numbers = [int(each.text.split()[0]) for each in document.segments]
    assert {*names} == {*map(rule, range(1000)), *rule.tags, "other"}
    taken = {*map(rule, range(1000))}
    assert [rule(number) for name, number in zip(names, numbers, strict=True) if name in taken] == [
        name for name in names if name in taken
    ]


def test_a_plural_of_icu_has_a_count_where_other_numbers_take_its_form():
    document = read_document("a.arb", b'{"@@locale": "en", "a": "{n, plural, one{One file} other{{n} files}}"}')
    for language, text in {"ru": "one{{n} file}", "de": "one{One file}"}.items():
        select_target(document, language)
        assert text in document.segments[0].text


def test_choices_of_laravel_have_a_count_where_other_numbers_take_the_form():
    document = read_document("a.php", b"<?php return ['a' => 'One apple|:count apples'];")
    for language, text in {"fr": "1 apple", "de": "One apple"}.items():
        select_target(document, language)
        assert document.segments[0].text == text


def test_one_number_or_logical_value_among_texts_stays():
    texts = {f"text{number}": f"The text {number}" for number in range(9)}
    source = json.dumps(texts | {"nested": {"rtl": False}})
    assert json.loads(in_upper_case("en.json", source, "de"))["nested"] == {"rtl": False}
    source = '{"text": "A text", "other": "Another one", "max": 5, "on": true}'
    assert '"max": 5, "on": true' in in_upper_case("app.en.json", source, "de")
    with pytest.raises(DataError, match="must have texts only, got false for nested"):
        read_document("a.json", json.dumps({"text": "A text", "nested": {"rtl": False}}).encode())


def test_choice_formats_are_named_in_a_note():
    document = read_document("a.properties", b"a = A text\nb = {0,choice,0#no files|1#one file|1<{0} files}\n")
    assert reader_notes(document) == ["a.properties: 1 text with a choice format ({0,choice,…}) left; use ICU plurals"]


def test_icu_plurals_have_the_branches_of_the_language():
    text = "You have {n, plural, =0 {no files} one {# file} other {# files}}."
    document = read_document("a.arb", json.dumps({"@@locale": "en", "a": text}).encode())
    select_target(document, "pl")
    branches = "=0 {no files} one {# file} few {# files} many {# files} other {# files}"
    assert [each.text for each in document.segments] == [f"You have {{n, plural, {branches}}}."]
    select_target(document, "zh")
    assert "one" not in document.segments[0].text
    assert document.write([TaggedText("您有 {n, plural, other {文件}")], language="zh").decode().count("You have") == 1


@pytest.mark.parametrize("name", CASES)
def test_a_broken_translation_is_not_written(name: str):
    data = CASES[name][0].encode()
    document = read_document(name, data)
    broken = [
        TaggedText("".join(letter for letter in each.text if letter not in "{}%$:")) if each.kept else each
        for each in document.segments
    ]
    assert document.write(broken, language="de").decode() == data.decode()


def test_translations_are_taken_by_key():
    text = CASES["a.json"][0]
    document = read_document("a.json", text.encode())
    assert isinstance(document, StringsDocument)
    select_target(document, "de")
    document.reuse({"a": "Hallo {{name}}", "b.x[one]": "{{count}} Stück"})
    assert document.keys == ("b.x[other]", "b.y\\.z.0")
    written = json.loads(document.write([uppercased(each) for each in document.segments], language="de"))
    assert written == {
        "a": "Hallo {{name}}",
        "b": {"x_one": "{{count}} Stück", "x_other": "{{count}} ITEMS", "y.z": ["NO"]},
    }


REFUSED = {
    "package.json": '{"name": "a", "version": "1.0", "description": "A package"}',
    "openapi.yaml": "openapi: 3.0.0\ninfo:\n  title: A service\n",
    "docker-compose.yml": "services:\n  web:\n    image: nginx\n",
    "numbers.json": '{"title": "A title", "size": 3}',
    "codes.json": '{"a": "x-1", "b": "y/2", "c": "../z"}',
    "people.json": '{"people": [{"name": "Anna Smith", "city": "New Delhi"}, {"name": "Bo Li", "city": "São Paulo"}]}',
    "list.json": '["A text"]',
    "broken.json": '{"a": "A text"',
    "schema.json": '{"$schema": "https://json-schema.org/x", "title": "A title"}',
    "en.yml": "en: {a: A text}\n",
    "two.yml": "en:\n  a: A text\nde:\n  a: Ein Text\n",
    "flow.en.yml": "? a\n: b\n",
    "layout.xml": "<LinearLayout><TextView>Hello</TextView></LinearLayout>",
    "entities.xml": "<!DOCTYPE resources [<!ENTITY a 'b'>]><resources><string name='a'>Hello</string></resources>",
    "a.php": "<?php echo 'Hello there';",
    "code.php": "<?php return ['a' => 'b c' . 'd', 'e' => f('g')];",
    "a.strings": "some text",
    "a.ftl": "<p>Hello</p>",
    "a.resx": "<root/>",
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_files_are_refused(name: str):
    with pytest.raises(DataError) as raised:
        read_document(name, REFUSED[name].encode())
    assert "; " in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_format_of_strings_is_tested():
    tested = {name[name.rindex(".") :] for name in CASES} | {".ts", ".xcstrings"}  # in test_bilingual
    assert {suffix for suffix, form in FORMATS.items() if ".strings." in form.reader} == tested


def test_the_key_of_a_form_is_the_same_without_the_others():
    english = b"en:\n  x:\n    one: Byte\n    other: Bytes\n"
    for language in ("de", "zh"):
        document = read_document("en.yml", english)
        select_target(document, language)
        written = document.write([uppercased(each) for each in document.segments], language=language)
        again = read_document("en.yml", written)
        assert isinstance(again, StringsDocument)
        assert "x[other]" in again.strings
