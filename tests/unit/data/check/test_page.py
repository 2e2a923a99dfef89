"""The page is well formed, complete, and inert for any text."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from typing import Any

import pytest
from lxml import etree

from dragoman.data.check.page import render_check_page
from tests.unit.data.check.samples import (
    ARABIC,
    CJK,
    DROPS,
    FAULTS,
    NOTES,
    REPAIRS,
    SCRIPT,
    SELECTION_DROPS,
    bare_report,
    sample_report,
)

VOID = {"meta", "br"}
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\x00\x1b[2J\u202e"


class Reader(HTMLParser):
    """Checks that every element is closed, and gathers elements, attributes and text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def page() -> str:
    return render_check_page(sample_report(), title="en → de")


def test_it_is_well_formed(page: str):
    read(page)
    errors = etree.HTMLParser(recover=True)
    etree.fromstring(page, errors)
    unknown = "Tag .* invalid"  # libxml2 supports neither HTML 5 nor SVG
    assert [entry.message for entry in errors.error_log if not re.search(unknown, entry.message)] == []


def test_every_reason_and_place_is_there(page: str):
    text = "".join(read(page).text)
    for entries in (FAULTS, NOTES, REPAIRS, DROPS, SELECTION_DROPS):
        for reason, (_, examples) in entries.items():
            assert reason in text
            assert all(example.place in text for example in examples)
    assert all(advice in text for advice in sample_report().advice)
    assert CJK in text
    assert ARABIC in text
    assert SCRIPT in text
    assert "Der Preis\\x85betr\\x1b[31mägt\\x00 5 €" in text
    assert "\\u202egnp.exe\\u202c" in text


def test_the_numbers_are_right(page: str):
    text = "".join(read(page).text)
    for shown in (
        "1,410,000",
        "1,151,786",
        "−44,102",
        "150,207",
        "−7,004",
        "61,240,832",
        "1 d 19 h",
        "256 tokens",
    ):
        assert shown in text


def test_it_loads_and_runs_nothing(page: str):
    elements = read(page).found
    assert {tag for tag, _ in elements} & {"script", "link", "img", "iframe", "object", "a", "form"} == set()
    names = {name for _, attributes in elements for name in attributes}
    assert names & {"src", "href", "srcset", "action", "data", "style", "xlink:href"} == set()
    assert not any(name.startswith("on") for name in names)
    assert "url(" not in page
    assert "@import" not in page
    outside = page.replace("http-equiv", "").replace("see http://example.org/a", "")  # the latter is a sample's text
    assert "http" not in outside
    assert "default-src 'none'" in page


def test_it_can_be_read_without_seeing_it(page: str):
    elements = read(page).found
    assert ("html", {"lang": "en"}) in elements
    assert [tag for tag, _ in elements if tag == "h1"] == ["h1"]
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = [attributes.get("aria-labelledby") for _, attributes in elements if "aria-labelledby" in attributes]
    assert {name for names in named if names for name in names.split()} <= set(ids)
    assert all("scope" in attributes for tag, attributes in elements if tag == "th")
    assert page.count("<caption>") == page.count("<table")


def test_light_and_dark_and_narrow(page: str):
    assert "prefers-color-scheme: dark" in page
    assert "max-width: 34rem" in page
    assert 'name="viewport"' in page


def poison(value: Any) -> Any:
    """The same value with every text in it made hostile, keys too; roles and sides are ours."""
    if isinstance(value, str):
        return value if value in {"train", "validation", "test", "source", "target"} else HOSTILE + value
    if isinstance(value, dict):
        return {poison(key): poison(each) for key, each in value.items()}
    if isinstance(value, list):
        return [poison(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: poison(getattr(value, field.name)) for field in fields(value)})
    return value


def test_hostile_text_anywhere_stays_text():
    usual = read(render_check_page(sample_report(), title="t"))
    report = replace(poison(sample_report()), fatal=[HOSTILE])
    page = render_check_page(report, title=HOSTILE)
    hostile = read(page)
    allowed = {tag for tag, _ in usual.found} | {"ul"}
    assert {tag for tag, _ in hostile.found} <= allowed
    assert {name for _, attributes in hostile.found for name in attributes} <= {
        name for _, attributes in usual.found for name in attributes
    }
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    assert "".join(hostile.text).count("<script>alert(1)</script>") > 50


def test_a_huge_line_does_not_make_a_huge_page():
    long = "x" * 1_000_000
    report = replace(sample_report(), advice=[long], fatal=[long])
    page = render_check_page(report, title=long)
    assert len(page) < 200_000


def test_lone_surrogates_can_be_written():
    render_check_page(replace(sample_report(), advice=["\ud800"]), title="\udfff").encode("utf-8")


def test_nothing_read_is_a_page_too():
    page = render_check_page(bare_report(), title="nothing")
    read(page)
    assert "data.train has no corpus" in page


def test_a_joint_vocabulary_has_a_row_per_side_with_its_tokens_per_word():
    sample = sample_report()
    assert sample.tokens is not None
    joint = replace(sample, tokens=replace(sample.tokens, vocabulary={"both": 8_000}))
    page = render_check_page(joint, title="t")
    rows = re.findall(r"8,000 \(joint\)</td>\s*<td[^>]*>([0-9.]+)</td>", page)
    assert rows == ["1.31", "1.58"]
