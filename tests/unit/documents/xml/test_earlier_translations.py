"""XLIFF and TMX files with translations: what people wrote, protected or declared stays."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from lxml import etree

from dragoman.documents.document import DeclaredLanguages, Document
from dragoman.documents.formats import read_document
from dragoman.documents.translation_marks import UnreviewedCount, unreviewed_note
from tests.unit.documents.uppercase_translation import texts, translated, uppercased

UNIT_1 = '<trans-unit id="u"{unit}><source>Open it</source>{target}</trans-unit>'
UNIT_2 = '<unit id="u"><segment{unit}><source>Open it</source>{target}</segment></unit>'


def xliff_1(body: str, tag: str = "pt-BR") -> str:
    file = f'<file original="a" source-language="en" target-language="{tag}"><body>{body}</body></file>'
    return f'<xliff version="1.2" xmlns:its="http://www.w3.org/2005/11/its">{file}</xliff>'


def xliff_2(body: str, tag: str = "pt-BR") -> str:
    return f'<xliff version="2.1" srcLang="en" trgLang="{tag}"><file id="f">{body}</file></xliff>'


def tmx(*units: str) -> str:
    body = "".join(f"<tu>{unit}</tu>" for unit in units)
    return f'<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>'


def run(name: str, data: str, *, again: bool = False, end: str = "!") -> str:
    document = read_document(name, data.encode(), again=again)
    new = [replace(each, text=each.text + end) for each in map(uppercased, document.segments)]
    return document.write(new, language="pt").decode()


def count(document: Document) -> UnreviewedCount:
    found = getattr(document, "unreviewed", None)
    assert isinstance(found, UnreviewedCount)
    return found


STATES_1 = [
    ("", "<target>Abrir</target>", "stays"),
    ("", '<target state="translated">Abrir</target>', "stays"),
    ("", '<target state="needs-review-translation">Abrir</target>', "stays, again"),
    ("", '<target state="needs-translation">Abrir</target>', "stays, again"),
    ("", '<target state="new">Abrir</target>', "stays, again"),
    ("", '<target state="new">Open it</target>', "new"),
    ("", "<target/>", "new"),
    ("", '<target state="final"/>', "stays"),
    (' approved="yes"', '<target state="new"/>', "stays"),
    (' approved="yes"', '<target state="needs-translation">Abrir</target>', "stays"),
]
STATES_2 = [
    ("", "<target>Abrir</target>", "stays"),
    (' state="initial"', "<target>Abrir</target>", "stays, again"),
    (' state="initial"', "<target>Open it</target>", "new"),
    (' state="translated"', "<target>Abrir</target>", "stays"),
    (' state="translated" subState="acme:mt"', "<target>Abrir</target>", "stays"),
    (' state="final"', "<target>Abrir</target>", "stays"),
    (' state="final"', "", "stays"),
]
CASES = [(xliff_1(UNIT_1.format(unit=unit, target=target)), rule) for unit, target, rule in STATES_1] + [
    (xliff_2(UNIT_2.format(unit=unit, target=target)), rule) for unit, target, rule in STATES_2
]


@pytest.mark.parametrize(("data", "rule"), CASES)
def test_targets_of_people_stay(data: str, rule: str):
    assert (run("a.xlf", data) != data) == (rule == "new")
    assert (run("a.xlf", data, again=True) != data) == (rule != "stays")
    assert count(read_document("a.xlf", data.encode())).others == (rule == "stays, again")


@pytest.mark.parametrize(
    "data", [xliff_1(UNIT_1.format(unit="", target="")), xliff_2(UNIT_2.format(unit="", target=""))]
)
def test_a_later_run_recognizes_the_targets_of_an_earlier_one(data: str):
    once = run("a.xlf", data)
    assert "OPEN IT!" in once
    assert run("a.xlf", once, end="?") == once
    assert "OPEN IT?" in run("a.xlf", once, again=True, end="?")
    assert "OPEN THEM?" in run("a.xlf", once.replace("Open it", "Open them"), end="?")
    for old, new in (("OPEN IT!", "Abrir"), ("OPEN IT!", 'OPEN <ph id="1"/> IT!')):
        edited = once.replace(old, new)
        assert run("a.xlf", edited, end="?") == edited
        moved = edited.replace("Open it", "Open them")
        assert run("a.xlf", moved, end="?") == moved
    for state in ("final", "reviewed"):
        confirmed = re.sub(' state="[^"]*"', f' state="{state}"', once)
        assert run("a.xlf", confirmed, again=True, end="?") == confirmed


def test_data_of_another_tool_stays():
    once = run("a.xlf", xliff_1(UNIT_1.format(unit=' extradata="acme"', target="")))
    assert 'extradata="acme"' in once
    assert run("a.xlf", once) == once


def test_notes_on_unreviewed_translations():
    done, draft = run("a.xlf", xliff_1(UNIT_1.format(unit="", target=""))), CASES[2][0]
    note = "a.xlf has 1 unreviewed translation, which stays: 1 of an earlier run; --again translates again"
    assert unreviewed_note(read_document("a.xlf", done.encode())) == note
    unit = re.search("<trans-unit.*</trans-unit>", done)
    assert unit
    both = draft.replace("<body>", f"<body>{unit[0]}")
    note = "a.xlf has 2 unreviewed translations, which stay: 1 of an earlier run, 1 of people or other tools; --again"
    assert unreviewed_note(read_document("a.xlf", both.encode())) == f"{note} translates again"
    assert unreviewed_note(read_document("a.xlf", both.encode(), again=True)) == ""
    assert unreviewed_note(read_document("a.txt", b"Open it")) == ""


@pytest.mark.parametrize("make", [xliff_1, xliff_2])
def test_the_region_stays(make: Callable[..., str]):
    body = (UNIT_1 if make is xliff_1 else UNIT_2).format(unit="", target="")
    assert 'pt-BR"' in run("a.xlf", make(body))
    assert 'pt-BR"' not in run("a.xlf", make(body, "de"))
    document = read_document("a.xlf", make(body).encode())
    assert document.write(list(map(uppercased, document.segments)), language="und").count(b"pt-BR") == 1


PROTECTED_1 = [
    'Open <mrk mtype="protected">Word Pad</mrk> now',
    'Open <mrk mtype="x-name" translate="no">Word <g id="1">Pad</g></mrk> now',
    'Open <g id="1" its:translate="no">Word Pad</g> now',
]
PROTECTED_2 = [
    'Open <mrk id="m" translate="no">Word Pad</mrk> now',
    'Open <pc id="1"><mrk id="m" translate="no">Word Pad</mrk></pc> now',
]


@pytest.mark.parametrize(
    "data",
    [xliff_1(f'<trans-unit id="1"><source>{text}</source></trans-unit>') for text in PROTECTED_1]
    + [xliff_2(f'<unit id="1"><segment><source>{text}</source></segment></unit>') for text in PROTECTED_2],
)
def test_protected_parts_of_a_sentence_stay(data: str):
    result = etree.fromstring(run("a.xlf", data).encode())
    (target,) = result.iter("target")
    assert "".join(target.itertext()) == "OPEN Word Pad NOW!"


@pytest.mark.parametrize(
    "data",
    [
        xliff_1('<trans-unit id="1" its:translate="no"><source>Open</source></trans-unit>'),
        xliff_1('<group translate="no"><trans-unit id="1"><source>Open</source></trans-unit></group>'),
        xliff_1('<trans-unit id="1"><source><mrk mtype="protected">Open</mrk> 5</source></trans-unit>'),
        xliff_1(
            '<trans-unit id="1"><source>Open</source><seg-source><mrk mtype="seg" mid="0" translate="no">Open</mrk>'
            "</seg-source></trans-unit>"
        ),
        xliff_2('<group id="g" translate="no"><unit id="1"><segment><source>Open</source></segment></unit></group>'),
        xliff_2(
            '<unit id="1"><segment><source>Open <sm id="1" translate="no"/>Word<em startRef="1"/></source></segment>'
            "</unit>"
        ),
    ],
)
def test_protected_units_stay(data: str):
    assert texts(read_document("a.xlf", data.encode())) == []
    assert run("a.xlf", data) == data


EN = '<tuv xml:lang="en"><seg>Open it</seg></tuv>'


def test_variants_of_people_stay():
    for other in (
        '<tuv xml:lang="pt-PT"><seg>Abrir</seg></tuv>',
        '<tuv xml:lang="pt"><prop type="a">b</prop><seg>A</seg></tuv>',
    ):
        data = tmx(EN + other)
        assert run("a.tmx", data) == run("a.tmx", data, again=True) == data
    once = run("a.tmx", tmx(EN, EN + '<tuv xml:lang="pt-BR"><seg>Abra</seg></tuv>'))
    assert once.count('<tuv xml:lang="pt-BR">') == 2
    assert run("a.tmx", once, end="?") == once
    assert run("a.tmx", once, again=True, end="?").count("OPEN IT?") == 1
    edited = once.replace("OPEN IT!", "Abrir")
    assert run("a.tmx", edited, again=True) == edited
    changed = once.replace(EN, EN.replace("it", "them"), 1)
    assert run("a.tmx", changed, end="?").count("OPEN THEM?") == 1


def test_units_of_an_earlier_run_count_as_translations():
    once = run("a.xlf", xliff_1(UNIT_1.format(unit="", target="")))
    more = once.replace("<body>", '<body><trans-unit id="2"><source>Close</source></trans-unit>')
    assert getattr(read_document("a.xlf", more.encode()), "declared", None) == (DeclaredLanguages("en", "pt-BR", 1),)
    assert translated("a.xlf", more.encode()).count(b"<target") == 2
