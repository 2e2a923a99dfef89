"""XLIFF of Trados and memoQ: locked and confirmed segments stay, new ones are drafts."""

from typing import Any

import pytest
from lxml import etree

from dragoman.documents.formats import read_document
from tests.unit.documents.samples import MQXLIFF, SDLXLIFF
from tests.unit.documents.uppercase_translation import translated, uppercased

MQ = "{MQXliff}"


def tree_of(data: bytes) -> Any:
    return etree.fromstring(data)


def test_sentences_of_trados_are_drafts_and_locked_or_confirmed_ones_stay():
    result = translated("a.sdlxliff", SDLXLIFF, "pt")
    tree = tree_of(result)
    marks = {mark.get("mid"): "".join(mark.itertext()) for mark in tree.iterfind(".//{*}target//{*}mrk")}
    assert marks == {"1": "", "2": "TWO THINGS.", "3": "THREE.", "4": "Quatro.", "5": "FIVE."}
    assert len(tree.findall(".//{*}target//{*}x")) == 1
    draft = {"conf": "Draft", "origin": "mt", "origin-system": "dragoman"}
    assert [dict(each.attrib) for each in tree.iterfind(".//{*}seg-defs/{*}seg")] == [
        {"id": "1", "locked": "true"},
        {"id": "2", **draft},
        {"id": "3", **draft},
        {"id": "4", "conf": "Translated", "origin": "interactive"},
        {"id": "5", **draft},
    ]
    assert result.startswith(b"\xef\xbb\xbf<?xml")
    assert len(tree.findall(".//{*}target")) == 2, "a unit with translate=no has none"


@pytest.mark.parametrize("again", [False, True])
def test_nothing_is_left_after_a_run_and_what_trados_confirmed_stays(again: bool):
    result = translated("a.sdlxliff", SDLXLIFF, "pt")
    confirmed = result.replace(b'conf="Draft"', b'conf="ApprovedTranslation"')
    assert not read_document("a.sdlxliff", confirmed, again=again).segments


def test_units_of_memoq_are_pretranslated_and_locked_or_confirmed_ones_stay():
    tree = tree_of(translated("a.mqxliff", MQXLIFF, "pt"))
    units = tree.findall(".//{*}trans-unit")
    targets = ["".join(unit.find("{*}target").itertext()) for unit in units]
    assert targets == ["A {}VERY{} SMALL HOUSE", "", "Feito"]
    assert [unit.get(f"{MQ}status") for unit in units] == ["Pretranslated", "NotStarted", "ManuallyConfirmed"]
    assert [child.tag.rpartition("}")[2] for child in units[0].find("{*}target")] == ["bpt", "ept"]


def test_a_unit_that_memoq_confirmed_stays_with_again():
    done = translated("a.mqxliff", MQXLIFF, "pt")
    assert [segment.text for segment in read_document("a.mqxliff", done, again=True).segments] == ["A very small house"]
    confirmed = done.replace(b'"Pretranslated"', b'"ManuallyConfirmed"')
    document = read_document("a.mqxliff", confirmed, again=True)
    assert document.write([uppercased(each) for each in document.segments], language="pt") == confirmed
