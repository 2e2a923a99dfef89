"""The report of a comparison: well-formed, self-contained, complete, and unable to run what a text holds."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from dragoman.inspection.comparison.page import diff_words, render_comparison_page
from dragoman.inspection.comparison.report_types import (
    AttentionComparison,
    ComparisonReport,
    ModelDetails,
    SystemAttention,
)
from dragoman.text.words import split_words
from tests.unit.inspection.comparisons import comparison, with_systems

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</svg></style></title></pre></code>",
    "' onfocus='alert(1)",
    "&lt;b&gt; &amp;",
    "a\u202eb\x00\x1b[2J\u2028",
    "javascript:alert(1)",
]
SECTIONS = ["scores", "curves", "settings", "maps", "sentences", "costs", "repeat"]


def parsed(page: str) -> etree._Element:
    """Read as XML, which forgives nothing, but for what HTML writes otherwise."""
    strict = re.sub(r"<(meta|br)([^>/]*)>", r"<\1\2/>", page.replace("<!DOCTYPE html>\n", ""))
    return etree.fromstring(strict.encode())


def words(page: str) -> str:
    return " ".join(html.document_fromstring(page).text_content().split())


def test_it_is_well_formed_and_has_every_section() -> None:
    tree = parsed(render_comparison_page(comparison("rnn", "transformer")))
    assert [heading.get("id") for heading in tree.iterfind(".//h2")] == SECTIONS
    assert [link.get("href") for link in tree.iterfind(".//nav//a")] == [f"#{name}" for name in SECTIONS]
    names = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(names) == len(set(names))


def test_it_needs_nothing_else_and_runs_nothing() -> None:
    page = render_comparison_page(comparison("rnn", "transformer"))
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<link|<img| src=|<script", page)
    assert "default-src 'none'" in page
    assert "script-src" not in page


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    page = render_comparison_page(comparison(text, f"{text}2", members=2, text=text))
    safe = render_comparison_page(comparison("a", "b", members=2, text="harmless"))
    tree, plain = html.document_fromstring(page), html.document_fromstring(safe)
    allowed = {(element.tag, *sorted(element.attrib)) for element in plain.iter()} | {("span", "class")}
    assert {(element.tag, *sorted(element.attrib)) for element in tree.iter()} <= allowed
    assert "\x1b" not in page
    assert "\u202e" not in page
    parsed(page)


@given(st.text(min_size=1, max_size=30))
def test_any_text_is_well_formed(text: str) -> None:
    parsed(render_comparison_page(comparison(text, f"{text}2", points=3, sentences=2, text=text)))


def test_scores_stand_with_interval_mark_and_p_value() -> None:
    page = words(render_comparison_page(comparison("rnn", "transformer", "wide")))
    assert "38.10 ± 1.30= +1.10, p = 0.200" in page
    assert "39.20 ± 1.30= +2.20, p = 0.050" in page
    assert "▲ −1.80, p < 0.001" in page  # less TER is better


def test_every_equal_best_is_bold() -> None:
    whole = comparison("a", "b", "c")
    assert whole.evaluation is not None
    first, _, third = whole.evaluation.systems
    tree = parsed(render_comparison_page(with_systems(whole, first, third, replace(third, name="copy"))))
    bold = ["".join(figure.itertext()) for figure in tree.iterfind(".//span[@class='best']")]
    assert bold == ["39.20", "46.20", "39.20", "46.20"]


def test_the_baseline_and_seeds_are_tagged() -> None:
    page = words(render_comparison_page(comparison("rnn", "transformer", members=3)))
    assert "rnn baseline 3 seeds" in page
    assert "transformer 2" in page
    assert "Single sentences" not in page


def test_only_settings_that_differ_are_not_folded() -> None:
    tree = parsed(render_comparison_page(comparison("rnn", "transformer")))
    (card,) = tree.iterfind(".//section[@aria-labelledby='settings']/div")
    folded = ["".join(row.itertext()) for row in card.iterfind(".//details//tbody/tr")]
    open_ = ["".join(row.itertext()) for row in card.iterfind("./div//tbody/tr")]
    assert folded == ['data.source"en"']
    assert open_ == ["model.dropout0.10.2", "training.seed12"]


def test_sentences_begin_on_their_side_and_differing_words_are_marked() -> None:
    tree = parsed(render_comparison_page(comparison("rnn", "transformer")))
    sides = {text.get("dir") for text in tree.iterfind(".//dd[@dir]")}
    assert sides == {"ltr", "rtl"}
    marks = [("".join(mark.itertext()), mark.get("class")) for mark in tree.iterfind(".//article//mark")]
    assert ("rotes", "right") in marks
    assert ("auf", "wrong") in marks
    assert ("Mann", "wrong") not in marks
    assert ("已", "wrong") in marks


def test_a_model_without_attention_says_so_in_place_of_its_map() -> None:
    page = render_comparison_page(comparison("rnn", "plain"))
    assert page.count('<svg class="map"') == 2
    assert words(page).count("no attention") == 2


def test_a_map_says_which_it_is_and_is_read_as_its_source() -> None:
    whole = comparison("a", "b")
    words, weights = ("שלום", "עליכם"), np.array([[0.9, 0.1]])
    drawn = SystemAttention("a", "Peace", words, ("Peace",), weights, description="layer 3 of 4, mean of 2 heads")
    sentence = AttentionComparison(1, " ".join(words), "Peace", (drawn,))
    tree = parsed(render_comparison_page(replace(whole, attention=(sentence,))))
    (figure,) = tree.iterfind(".//div[@class='maps']/figure")
    assert "".join(figure.find("figcaption").itertext()) == "a layer 3 of 4, mean of 2 heads"
    assert [label.text for label in figure.iterfind(".//text[@class='source']")] == ["עליכם", "שלום"]
    assert [cell.get("fill-opacity") for cell in figure.iterfind(".//rect[@class='cell']")] == ["0.100", "0.900"]


def test_an_empty_translation_is_shown_as_empty() -> None:
    whole = comparison("a", "b", sentences=1)
    (sentence,) = whole.sentences
    empty = replace(sentence, translations=(replace(sentence.translations[0], text=""), sentence.translations[1]))
    tree = parsed(render_comparison_page(replace(whole, sentences=(empty,))))
    assert [each.get("class") for each in tree.iterfind(".//dd[@class='text']/span")] == ["soft"]
    assert tree.findtext(".//dd[@class='text']/span") == "empty"


def test_the_sentences_say_what_is_marked() -> None:
    assert "Marked are words that the other translation does not have: underlined" in words(
        render_comparison_page(comparison("a", "b"))
    )
    assert "Marked are words that differ from the baseline's, and in" in words(
        render_comparison_page(comparison("a", "b", "c"))
    )


def test_speeds_of_different_engines_have_a_remark() -> None:
    whole = comparison("a", "b")
    assert "The engines differ" not in words(render_comparison_page(whole))
    assert whole.evaluation is not None
    first, second = whole.evaluation.systems
    (member,) = second.members
    assert member.throughput is not None
    throughput = replace(member.throughput, engine="torch float32, 1 thread (no export)")
    changed = with_systems(whole, first, replace(second, members=(replace(member, throughput=throughput),)))
    assert "The engines differ" in words(render_comparison_page(changed))


def test_no_column_is_without_a_name() -> None:
    tree = parsed(render_comparison_page(comparison("rnn", "transformer", members=2)))
    assert all("".join(head.itertext()).strip() for head in tree.iterfind(".//th"))


def test_settings_of_the_search_are_worded() -> None:
    whole = comparison("a", "b")
    assert whole.evaluation is not None
    search = {"beam": 5, "max_length": 9, "sample": True, "patience": None}
    changed = replace(whole, evaluation=replace(whole.evaluation, search=search))
    page = words(render_comparison_page(changed))
    assert "beam 5, max length 9, sample yes" in page


def test_the_axis_is_chosen_without_script() -> None:
    tree = parsed(render_comparison_page(comparison("rnn", "transformer")))
    assert [radio.get("id") for radio in tree.iterfind(".//input")] == ["over-updates", "over-tokens", "over-time"]
    assert [radio.get("checked") for radio in tree.iterfind(".//input")] == ["checked", None, None]
    labels = [label.get("for") for label in tree.iterfind(".//label")]
    assert labels == ["over-updates", "over-tokens", "over-time"]


def test_everything_to_repeat_it_is_there() -> None:
    page = words(render_comparison_page(comparison("rnn", "transformer")))
    for fact in ("dragoman compare rnn transformer", "a" * 64, "b" * 64, f"{1:064x}", "nrefs:1|case:mixed|tok:13a"):
        assert fact in page
    for fact in ("7958721748340839665", "c" * 64):
        assert fact in page
    for fact in ("sacrebleu 2.6.0", "Some processor, 2 cores", "beam 5", "paired bootstrap", "model.dropout = 0.2"):
        assert fact in page


def test_without_a_test_only_what_runs_tell_is_shown() -> None:
    models = comparison("rnn", "transformer").models
    tree = parsed(render_comparison_page(ComparisonReport(models, None, {}, "", "")))
    assert [heading.get("id") for heading in tree.iterfind(".//h2")] == ["curves", "settings", "costs", "repeat"]


def test_files_of_translations_have_scores_only() -> None:
    whole = comparison("rnn", "transformer")
    assert whole.evaluation is not None
    models = {name: (ModelDetails(name, "translations", digest="c"),) for name in whole.systems}
    systems = tuple(
        replace(system, members=tuple(replace(each, throughput=None, flags=None) for each in system.members))
        for system in whole.evaluation.systems
    )
    tree = parsed(render_comparison_page(with_systems(replace(whole, models=models, attention=()), *systems)))
    headings = [heading.get("id") for heading in tree.iterfind(".//h2")]
    assert headings == ["scores", "sentences", "repeat"]


def test_tables_and_charts_can_be_read_aloud() -> None:
    tree = parsed(render_comparison_page(comparison("rnn", "transformer")))
    for picture in tree.iterfind(".//svg[@role='img']"):
        assert picture.get("aria-label") or picture.get("aria-labelledby")
    assert all(table.find("caption") is not None for table in tree.iterfind(".//table"))


def marks(text: str, others: list[str], reference: str) -> dict[str, str]:
    return {word.text: word.mark for word in diff_words(text, others, reference) if word.mark}


def test_marks_and_spaces_stand_apart_from_words() -> None:
    assert split_words("Ein Mann, 3-mal.") == ["Ein", " ", "Mann", ",", " ", "3", "-", "mal", "."]


def test_characters_of_scripts_without_spaces_are_words() -> None:
    assert split_words("我用Python写。") == ["我", "用", "Python", "写", "。"]


def test_marks_on_letters_stay_with_them() -> None:
    assert split_words("हिन्दी में") == ["हिन्दी", " ", "में"]
    assert split_words("e\u0301a") == ["e\u0301a"]


@given(st.text(max_size=60))
def test_words_joined_are_the_text(text: str) -> None:
    assert "".join(split_words(text)) == text


def test_a_word_that_the_other_has_not_is_right_if_the_reference_has_it() -> None:
    assert marks("ein rotes Rad", ["ein rotes Fahrrad"], "ein rotes Fahrrad") == {"Rad": "wrong"}
    assert marks("ein rotes Fahrrad", ["ein rotes Rad"], "ein rotes Fahrrad") == {"Fahrrad": "right"}


def test_what_not_all_others_have_differs() -> None:
    assert marks("a b c", ["a b c", "a x c"], "a b c") == {"b": "right"}


def test_equal_texts_have_no_marks() -> None:
    assert marks("a b", ["a b"], "x") == {}
