"""Random po, XLIFF and TMX files, edited by people between runs: their work is the same after any number of runs."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.sax.saxutils import escape

import polib
import pytest
from lxml import etree

from dragoman.documents.formats import read_document
from tests.unit.documents.uppercase_translation import unchanged, uppercased

SOURCES = ["Open it", "Save %s now", "Close <b>all</b>", "One.\nTwo.", "GitHub", "42", "A & B < C", 'Say "no"']
HUMAN = ["Abrir", "Feche tudo", "GitHub", "x", "Não & sim", "Linha\noutra", '"aspas"']
MARK = re.compile(r"dragoman:[0-9a-fox-]+")


def run(name: str, data: bytes, end: str) -> bytes:
    document = read_document(name, data)
    assert unchanged(name, data) == data, "an identical translation changes nothing"
    new = [replace(each, text=each.text + end) for each in map(uppercased, document.segments)]
    return document.write(new, language="pt")


def po_file(rng: random.Random) -> bytes:
    file = polib.POFile(wrapwidth=rng.choice([20, 78]))
    file.metadata = {"Language": "pt_BR", "Plural-Forms": "nplurals=2; plural=(n > 1);"}
    file.header = "Work of people"
    for number in range(rng.randint(1, 8)):
        plural = rng.random() < 0.3
        entry = polib.POEntry(
            msgid=rng.choice(SOURCES), msgctxt=str(number), msgid_plural=rng.choice(SOURCES) if plural else ""
        )
        entry.msgstr_plural = {0: "", 1: ""} if plural else {}
        entry.comment, entry.tcomment = rng.choice(["", "extracted"]), rng.choice(["", "note\nof two lines"])
        entry.flags, entry.occurrences = rng.choice([[], ["c-format"]]), rng.choice([[], [("a.c", "1")]])
        file.append(entry)
    return str(file).encode()


def edit_po(rng: random.Random, data: bytes) -> bytes:
    file = polib.pofile(data.decode(), wrapwidth=rng.choice([20, 78]))
    for entry in file:
        if rng.random() < 0.4:
            if entry.msgid_plural:
                entry.msgstr_plural[rng.randint(0, 1)] = rng.choice(HUMAN)
            else:
                entry.msgstr = rng.choice(HUMAN)
            entry.flags = [flag for flag in entry.flags if flag != "fuzzy"] + rng.choice([[], ["fuzzy"]])
            entry.tcomment = f"{entry.tcomment}\nedited"
    return str(file).encode()


def po_work(data: bytes) -> tuple[dict[str, Any], Any]:
    """Return the forms by message, and all else that a run must not change."""
    file = polib.pofile(data.decode())
    texts = {
        f"{each.msgctxt}.{form}": text
        for each in file
        for form, text in (each.msgstr_plural or {0: each.msgstr}).items()
    }
    rest = []
    for each in file:
        notes = [line for line in each.tcomment.splitlines() if line and not MARK.search(line)]
        kept = (each.msgctxt, each.msgid, each.msgid_plural, each.comment, each.occurrences)
        rest.append((*kept, notes, {*each.flags} - {"fuzzy"}))
    reviewed = {each.msgctxt for each in file if "fuzzy" not in each.flags and each.translated()}
    return texts, (rest, file.header, file.metadata, reviewed)


def xml_file(head: str, unit: str, tail: str) -> Callable[[random.Random], bytes]:
    def make(rng: random.Random) -> bytes:
        escaped = [escape(rng.choice(SOURCES)) for _ in range(rng.randint(1, 8))]
        units = (unit.format(number=number, source=source) for number, source in enumerate(escaped))
        return (head + "".join(units) + tail).encode()

    return make


def targets(root: Any) -> dict[str, Any]:
    """Return the target element of each unit, by its number."""
    found = {}
    for unit in root.iter("trans-unit", "unit", "tu"):
        others = list(unit.iter("target"))
        others += [each.find("seg") for each in unit.iter("tuv") if each.values()[0].startswith("pt")]
        found[unit.get("id") or unit.get("tuid")] = others[0] if others else None
    return found


def edit_xml(rng: random.Random, data: bytes) -> bytes:
    root = etree.fromstring(data)
    for unit in root.iter("trans-unit", "unit", "tu"):
        if rng.random() > 0.4:
            continue
        target = targets(root)[unit.get("id") or unit.get("tuid")]
        if target is None and unit.tag == "tu":
            target = etree.SubElement(
                etree.SubElement(unit, "tuv", {"{http://www.w3.org/XML/1998/namespace}lang": "pt-BR"}), "seg"
            )
        elif target is None:
            source = next(unit.iter("source"))
            target = etree.Element("target")
            source.addnext(target)
        target.text = rng.choice(HUMAN)
        if unit.tag == "trans-unit":
            target.set("state", rng.choice(["needs-review-translation", "translated", "final"]))
        elif unit.tag == "unit" and rng.random() < 0.5:
            target.getparent().set("state", rng.choice(["translated", "reviewed", "final"]))
    return bytes(etree.tostring(root))


def xml_work(data: bytes) -> tuple[dict[str, Any], Any]:
    root = etree.fromstring(data)
    found = targets(root)
    texts = {number: "" if each is None else "".join(each.itertext()) for number, each in found.items()}
    states = {
        number: (each.get("state"), each.getparent().get("state"))
        for number, each in found.items()
        if each is not None and {each.get("state"), each.getparent().get("state")} & {"final", "reviewed"}
    }
    sources = ["".join(each.itertext()) for each in root.iter("source", "note", "header")]
    languages = [value for each in root.iter("xliff", "file") for value in each.values() if value.startswith("pt")]
    return texts, (sources, [*found], states, languages)


NOTE = '<note id="n">Person &amp; note</note>'
FORMATS = {
    "a.po": (po_file, edit_po, po_work),
    "a.xlf": (
        xml_file(
            '<xliff version="1.2"><file source-language="en" target-language="pt-BR"><body>',
            '<trans-unit id="{number}"><source>{source}</source>' + NOTE + "</trans-unit>",
            "</body></file></xliff>",
        ),
        edit_xml,
        xml_work,
    ),
    "b.xlf": (
        xml_file(
            '<xliff version="2.0" srcLang="en" trgLang="pt-BR"><file id="f">',
            '<unit id="{number}"><notes>' + NOTE + "</notes><segment><source>{source}</source></segment></unit>",
            "</file></xliff>",
        ),
        edit_xml,
        xml_work,
    ),
    "a.tmx": (
        xml_file(
            '<tmx version="1.4"><header srclang="en"/><body>',
            '<tu tuid="{number}"><tuv xml:lang="en"><seg>{source}</seg></tuv></tu>',
            "</body></tmx>",
        ),
        edit_xml,
        xml_work,
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_work_of_people_is_the_same_after_any_number_of_runs(name: str):
    make, edit, work = FORMATS[name]
    rng = random.Random(33)
    for _ in range(12):
        data = make(rng)
        for turn in range(3):
            edited = edit(rng, data)
            texts, rest = work(edited)
            once = run(name, edited, f" {turn}")
            found, other = work(once)
            assert other == rest
            for key, text in texts.items():
                assert not text or found[key] == text, (key, edited, once)
            data = run(name, once, " again")
            assert data == once, "nothing is left to translate"


@pytest.mark.parametrize("name", FORMATS)
def test_a_text_that_was_not_translated_gets_no_translation(name: str):
    make, _, work = FORMATS[name]
    data = make(random.Random(4))
    document = read_document(name, data)
    new = [uppercased(each) for each in document.segments]
    whole, _ = work(document.write(new, language="pt"))
    new[0] = document.segments[0]
    found, rest = work(document.write(new, language="pt"))
    assert rest == work(data)[1]
    assert len({key for key in whole if whole[key] != found[key]}) >= 1
    assert all(text in (whole[key], "") for key, text in found.items())
