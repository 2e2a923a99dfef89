"""The inspection page as text: well-formed, self-contained, and unable to run what a text holds."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

import dragoman
from dragoman.errors import ConfigError, DataError
from dragoman.inspection.pages.inspection import render_inspection_page, write_inspection
from dragoman.inspection.result import BeamNode, Candidate, Counterfactual, InspectionResult
from tests.browser.samples import ARABIC, CHINESE, ENGLISH, HOSTILE, PLAIN, drawn

SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def parsed(page: str) -> etree._Element:
    """Read as XML, which forgives nothing, but for what HTML writes otherwise; without the script."""
    strict = re.sub(r"<meta([^>]*)>", r"<meta\1/>", page.replace("<!DOCTYPE html>\n", "")).replace("&#160;", " ")
    return etree.fromstring(SCRIPT.sub("<script></script>", strict).encode())


def values(page: str) -> list[dict[str, Any]]:
    (found,) = parsed(page).iterfind(".//script[@id='values']")
    read: list[dict[str, Any]] = json.loads(found.text)["translations"]
    return read


def saying(text: str) -> InspectionResult:
    """A translation that holds a text wherever one can stand."""
    end = Candidate("</s>", 1.0)
    return replace(
        drawn([text, "b"], [text, "d"], [0, 1]),
        source=text,
        translation=text,
        tokens=(text, "d"),
        candidates=((Candidate(text, 0.5),), (Candidate("d", 0.5),), (end,)),
        tree=(BeamNode(-1, text, 0, 0, -0.5, is_end=False, is_best=True),),
        counterfactuals=(Counterfactual(0, text, 0.1, text + " e", -1.0),),
        flags=(text,),
        model=text,
    )


def test_it_is_well_formed_and_holds_every_value() -> None:
    page = render_inspection_page([ENGLISH, ARABIC, CHINESE, PLAIN], title="Looked into")
    assert parsed(page).findtext(".//h1") == "Looked into"
    english, *_, without = values(page)
    assert english["sourceWords"] == list(ENGLISH.source_words)
    assert np.allclose(
        np.array(english["predicted"]).reshape(ENGLISH.predicted.shape) / 1000, ENGLISH.predicted, atol=6e-4
    )
    assert np.allclose(np.array(english["given"]).reshape(ENGLISH.given.shape) / 1000, ENGLISH.given, atol=6e-4)
    assert np.allclose(np.array(english["steps"]).reshape(ENGLISH.steps.shape) / 1000, ENGLISH.steps, atol=6e-4)
    assert [candidate[3] for candidate in english["candidates"][0]].index(True) == 0
    assert english["candidates"][-1][0][2:] == [True, True]
    assert len(english["tree"]) == len(ENGLISH.tree)
    assert (without["layers"], without["predicted"]) == (0, [])


def test_it_needs_nothing_else() -> None:
    page = render_inspection_page([ENGLISH, CHINESE], title="t").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(
        r"https?:|@import|url\(|<link|<img|<iframe| src=|import\(|fetch\(|XMLHttp|innerHTML|eval\(", page
    )


def test_only_its_own_script_runs() -> None:
    page = render_inspection_page([ENGLISH], title="t")
    (script,) = SCRIPT.findall(page)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = (meta.get("content") for meta in parsed(page).iterfind(".//meta[@http-equiv]"))
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert "<!--" not in script


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(text: str) -> None:
    page = render_inspection_page([saying(text)], title=text)
    tree = html.document_fromstring(page.encode())
    assert [script.get("type") for script in tree.iter("script")] == ["application/json", None]
    assert not list(tree.iter("img", "b"))
    assert not [name for element in tree.iter() for name in element.attrib if name.startswith("on")]
    assert "\u202e" not in page
    assert values(page)[0]["flags"][0].startswith(text[0])


@given(st.text(max_size=30))
def test_any_text_is_well_formed(text: str) -> None:
    page = render_inspection_page([saying(text)], title=text)
    page.encode()
    assert len(values(page)) == 1


def test_without_a_script_there_is_a_map_of_the_default_layer() -> None:
    tree = parsed(render_inspection_page([ENGLISH, PLAIN], title="t"))
    (drawn_map,) = tree.iterfind(".//div[@id='static']//svg")
    assert [text.text for text in drawn_map.iterfind("text[@class='source']")] == [*ENGLISH.source_words, "⟨end⟩"]
    mean = ENGLISH.predicted[ENGLISH.default_layer].mean(0)
    assert drawn_map.find("rect[@class='cell']").get("fill-opacity") == f"{mean[0, 0]:.3f}"


def test_columns_of_a_source_from_right_to_left_run_so() -> None:
    tree = parsed(render_inspection_page([ARABIC], title="t"))
    labels = [text.text for text in tree.iterfind(".//svg/text[@class='source']")]
    assert labels == ["⟨end⟩", *reversed(ARABIC.source_words)]
    assert [p.get("dir") for p in tree.iterfind(".//div[@id='static']//p[@dir]")] == ["rtl", "ltr"]


def test_what_differs_in_a_what_if_is_marked() -> None:
    first, second = values(render_inspection_page([ENGLISH], title="t"))[0]["counterfactuals"]
    assert first["before"] == [["Der alte ", False], ["Mann", True], [" schläft .", False]]
    assert first["after"] == [["Der alte ", False], ["Herr", True], [" schläft .", False]]
    assert second["after"] == [["Der alte Mann ", False], ["ruht sich aus", True], [" .", False]]


def test_words_that_changed_places_are_one_that_went_and_one_that_came() -> None:
    other = Counterfactual(0, "b", 0.1, "b a c", -1.0)
    (found,) = values(
        render_inspection_page([replace(ENGLISH, translation="a b c", counterfactuals=(other,))], title="t")
    )[0]["counterfactuals"]
    gone, new = (["".join(text.split()) for text, is_other in found[side] if is_other] for side in ("before", "after"))
    assert gone == new, "the same word, from one place to the other"


def test_bytes_are_read_as_what_they_are() -> None:
    tokens = ("<0x21>", "<0xC3>")
    one = replace(
        drawn(["a", "b"], ["!", "d"], [0, 1]),
        tokens=tokens,
        candidates=tuple((Candidate(token, 0.5), Candidate("<0x0A>", 0.1)) for token in (*tokens, "</s>")),
        tree=(BeamNode(-1, "<0x21>", 0, 0, -0.5, is_end=False, is_best=True),),
    )
    (found,) = values(render_inspection_page([one], title="t"))
    assert found["tokens"] == ["! (byte)", "byte C3"]
    assert [candidate[0] for candidate in found["candidates"][0]] == ["! (byte)", "byte 0A"]
    assert [candidate[3] for candidate in found["candidates"][0]] == [True, False]
    assert found["tree"][0][1] == "! (byte)"


def test_without_scripting_the_map_is_explained() -> None:
    (told,) = parsed(render_inspection_page([ENGLISH], title="t")).iterfind(".//noscript/p")
    assert "the stronger the colour" in told.text
    assert "With scripting this page shows more" in told.text


def test_a_page_of_nothing() -> None:
    page = render_inspection_page([], title="t")
    assert values(page) == []
    assert "There is no translation to show." in page


def test_a_sentence_of_no_words() -> None:
    (found,) = values(render_inspection_page([drawn([], [], [])], title="t"))
    assert (found["sourceWords"], found["targetWords"]) == ([], [])


def test_numbers_that_are_none_are_not_written() -> None:
    strange = replace(ENGLISH, predicted=ENGLISH.predicted * np.nan, score=float("-inf"))
    (found,) = values(render_inspection_page([strange], title="t"))
    assert found["score"] is None
    assert set(found["predicted"]) == {0}


def test_maps_of_another_shape_are_refused() -> None:
    with pytest.raises(DataError, match="maps must have the shapes"):
        render_inspection_page([replace(ENGLISH, given=ENGLISH.predicted)], title="t")
    with pytest.raises(DataError, match="maps must have the shapes"):
        render_inspection_page([replace(ENGLISH, steps=ENGLISH.given)], title="t")
    with pytest.raises(DataError, match="layer 7"):
        render_inspection_page([replace(ENGLISH, default_layer=7)], title="t")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_notebook_shows_the_page_in_a_frame(text: str) -> None:
    result = saying(text)
    (frame,) = html.fragments_fromstring(result._repr_html_())
    assert (frame.tag, frame.get("sandbox")) == ("iframe", "allow-scripts")
    shown = html.document_fromstring(frame.get("srcdoc"))
    page = html.document_fromstring(render_inspection_page([result], title=text))
    assert html.tostring(shown) == html.tostring(page)
    assert len(repr(result)) < 200 + 3 * len(repr(text))


def test_a_sentence_of_25_words_is_less_than_a_megabyte() -> None:
    words = [f"word{number}" for number in range(25)]
    page = render_inspection_page([drawn(words, words, range(25), layers=4, heads=4)], title="t")
    assert len(page.encode()) < 300_000


@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.json"])
def test_the_ending_selects_the_format(name: str, tmp_path: Path) -> None:
    (file,) = write_inspection([ENGLISH], tmp_path / name, title="t")
    starts = {"html": b"<!DOCTYPE html", "svg": b"<?xml", "json": b"["}
    assert file.read_bytes().startswith(starts[name[2:]])


def test_figures_of_several_sentences_are_numbered(tmp_path: Path) -> None:
    written = write_inspection([ENGLISH, ENGLISH], tmp_path / "a.svg", title="t")
    assert [file.name for file in written] == ["a-1.svg", "a-2.svg"]


def test_a_figure_is_a_file_of_its_own_in_the_order_of_reading(tmp_path: Path) -> None:
    for number, sample in enumerate([ARABIC, *map(saying, HOSTILE)]):
        write_inspection([sample], tmp_path / f"{number}.svg", title="t")
        tree = etree.fromstring((tmp_path / f"{number}.svg").read_bytes())
        assert {etree.QName(each).localname for each in tree.iter()} == {"svg", "title", "style", "rect", "text"}
    turned = etree.fromstring((tmp_path / "0.svg").read_bytes()).findall(".//{*}text[@class='source']")
    assert [each.text for each in turned][1:] == list(ARABIC.source_words)[::-1]


def test_another_ending_is_rejected_before_the_model_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"output must end in .*\.svg or \.json, got .*a\.gif"):
        dragoman.inspect("missing", "A dog.", output=tmp_path / "a.gif")
    with pytest.raises(ConfigError, match=r"output must end in \.html, got .*a\.png"):
        dragoman.compare("missing", output=tmp_path / "a.png")
