"""The page of maps: well-formed, self-contained, and unable to run what a text holds."""

import base64
import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from dragoman.errors import DataError
from dragoman.inspection.pages.alignment import render_alignment_page
from dragoman.training.callbacks.events import ValidationSample

SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</svg></style></title>",
    "' onfocus='alert(1)",
    "&lt;b&gt; &amp;",
    "a\u202eb\x00\x1b[2J",
    "javascript:alert(1)",
]


def shown(
    source_words: tuple[str, ...],
    target_words: tuple[str, ...],
    weights: tuple[tuple[float, ...], ...] | None,
    source: str = "",
    translation: str = "",
    reference: str = "",
) -> ValidationSample:
    return ValidationSample(source, reference, translation, source_words, target_words, weights)


def of(source: list[str], target: list[str], **texts: str) -> ValidationSample:
    rows = tuple(tuple(1 / len(source) for _ in source) for _ in target)
    return shown(tuple(source), tuple(target), rows, **{"source": " ".join(source), **texts})


SAMPLE = shown(("May", "3"), ("05", "-", "03"), ((0.9, 0.1), (0.5, 0.5), (0.001, 0.999)), "May 3", "05-03", "05-03")


def parsed(page: str) -> etree._Element:
    """Read as XML, which is strict, without the script."""
    strict = re.sub(r"<meta([^>]*)>", r"<meta\1/>", page.replace("<!DOCTYPE html>\n", "")).replace("&#160;", " ")
    return etree.fromstring(SCRIPT.sub("<script></script>", strict).encode())


def test_it_is_well_formed_and_shows_each_weight() -> None:
    tree = parsed(render_alignment_page([SAMPLE], title="Dates", introduction="Some dates."))
    assert [cell.get("fill-opacity") for cell in tree.iterfind(".//rect[@class='cell']")] == [
        *("0.900", "0.100", "0.500", "0.500", "0.999"),
    ]
    assert [text.text for text in tree.iterfind(".//text")] == ["May", "3", "05", "-", "03"]
    assert tree.findtext(".//h1") == "Dates"
    assert tree.findtext(".//p[@class='introduction']") == "Some dates."


def test_the_script_reads_the_same_weights() -> None:
    (container,) = parsed(render_alignment_page([SAMPLE], title="t")).iterfind(".//*[@data-attention-map]")
    data = json.loads(container.get("data-attention-map"))
    assert data["weights"] == [[0.9, 0.1], [0.5, 0.5], [0.001, 0.999]]
    assert (data["sourceWords"], data["targetWords"]) == (["May", "3"], ["05", "-", "03"])


def test_it_needs_nothing_else() -> None:
    page = render_alignment_page([SAMPLE], title="t").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|@import|url\(|<link|<img| src=", page)


def test_only_its_own_script_runs() -> None:
    page = render_alignment_page([SAMPLE], title="t")
    (script,) = SCRIPT.findall(page)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = (meta.get("content") for meta in parsed(page).iterfind(".//meta[@http-equiv]"))
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_every_word_can_be_reached_with_the_keyboard() -> None:
    tree = parsed(render_alignment_page([SAMPLE], title="t"))
    words = list(tree.iterfind(".//button"))
    assert [(word.get("data-side"), word.get("data-word")) for word in words] == [
        *(("source", "0"), ("source", "1"), ("target", "0"), ("target", "1"), ("target", "2")),
    ]
    assert tree.find(".//p[@class='says']").get("aria-live") == "polite"
    assert tree.find(".//svg").get("aria-label") == "Attention map: 05-03, from May 3"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    sample = of([text, "b"], [text], translation=text, reference=f"{text}!")
    page = render_alignment_page([sample], title=text, introduction=text)
    safe = render_alignment_page(
        [of(["harmless", "b"], ["a"], translation="a", reference="a!")], title="a", introduction="a"
    )
    tree, plain = html.document_fromstring(page), html.document_fromstring(safe)
    allowed = {(element.tag, *sorted(element.attrib)) for element in plain.iter()} | {("span", "class")}
    assert {(element.tag, *sorted(element.attrib)) for element in tree.iter()} <= allowed
    assert "\x1b" not in page
    assert "\u202e" not in page


@given(st.lists(st.text(max_size=20), min_size=1, max_size=4), st.lists(st.text(max_size=20), min_size=1, max_size=4))
def test_any_text_is_well_formed(source: list[str], target: list[str]) -> None:
    parsed(render_alignment_page([of(source, target, reference="".join(target))], title=source[0]))


def directions(page: str) -> list[str]:
    return [sentence.get("dir") for sentence in parsed(page).iterfind(".//p[@role='group']")]


def test_each_sentence_begins_on_its_side() -> None:
    page = render_alignment_page([of(["1.", "السلام", "ok"], ["Peace"]), of(["שלום"], ["和平"])], title="t")
    assert directions(page) == ["rtl", "ltr", "rtl", "ltr"]


def test_a_model_without_attention_has_no_map() -> None:
    page = render_alignment_page([shown(("a",), ("b",), None)], title="t")
    assert "<svg" not in page
    assert "b</bdi>" in page


def test_right_and_wrong_translations_are_told_apart() -> None:
    right, wrong = SAMPLE, shown(("a",), ("b",), ((1.0,),), "a", "b", "c")
    assert render_alignment_page([right], title="t").count("✓ correct") == 1
    assert "expected <bdi" in render_alignment_page([wrong], title="t")


def test_no_samples_is_a_page_too() -> None:
    assert parsed(render_alignment_page([], title="empty")).findtext(".//h1") == "empty"


def test_weights_must_fit_the_words() -> None:
    with pytest.raises(DataError, match="weights must be"):
        render_alignment_page([shown(("a", "b"), ("c",), ((1.0,),))], title="t")


def test_labels_have_the_direction_of_their_words() -> None:
    sample = of(["one", "two!"], ["שלום!", "two"])
    rows = [
        (text.get("direction"), text.get("text-anchor"))
        for text in parsed(render_alignment_page([sample], title="t")).iterfind(".//text[@class='target']")
    ]
    assert rows == [("rtl", "start"), (None, "end")]
    columns = [
        (text.get("direction"), text.get("text-anchor"))
        for text in parsed(render_alignment_page([of(["שלום!", "two"], ["x"])], title="t")).iterfind(
            ".//text[@class='source']"
        )
    ]
    assert columns == [("rtl", "end"), (None, "start")]


def test_cells_of_many_columns_are_smaller() -> None:
    widths = [
        parsed(render_alignment_page([of(["word"] * columns, ["x"])], title="t"))
        .find(".//rect[@class='cell']")
        .get("width")
        for columns in (30, 31)
    ]
    assert widths == ["22", "16"]
