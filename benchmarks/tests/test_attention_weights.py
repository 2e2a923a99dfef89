"""Statistics of attention weights with answers computed by hand, and the committed page."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import tomllib
from html.parser import HTMLParser

import numpy as np
import pytest

from benchmarks.attention_weights.__main__ import CLAIMS, RESULT
from benchmarks.attention_weights.__main__ import __doc__ as introduction
from benchmarks.attention_weights.page import FILES, draw_pages, page_texts, read_result
from benchmarks.attention_weights.result_page import result_page
from benchmarks.attention_weights.statistics import (
    VALUES,
    Groups,
    bleu_change,
    gold_groups,
    gold_rows,
    other_rows,
    weight_groups,
)
from benchmarks.attention_weights.word_classes import WordRanks
from claims.measurement.attention_statistics import row_values
from dragoman.api.translation.attention import AttentionMaps
from dragoman.evaluation.word_alignment import GoldLinks

SMALL, EFFECTIVE, TOP_1, TOP_2, TOP_3, TOP_5 = range(6)


def maps(weights: list[list[float]]) -> AttentionMaps:
    """One layer, one head; source ``a b``, target ``x y`` and the ends."""
    return AttentionMaps(("▁a", "▁b"), ("▁x", "▁y"), np.array([[weights]], np.float32))


def test_a_group_has_the_means_of_its_words_and_of_equal_weights():
    groups = Groups()
    groups.add("all", row_values(np.array([[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])))
    found = groups.to_json()["all"]
    assert found["rows"] == 2
    assert found["values"] == [pytest.approx(5 / 8), 1.5, 0.75, 1, 1, 1]
    assert found["uniform"] == [0, 4, 0.25, 0.5, 0.75, 1]
    assert len(found["values"]) == len(VALUES)


def test_equal_weights_are_their_own_control():
    groups = Groups()
    groups.add("all", row_values(np.full((3, 8), 1 / 8)))
    found = groups.to_json()["all"]
    assert found["values"] == found["uniform"]


def test_word_classes():
    ranks = WordRanks.count(["der der hunde", *(f"wort{letter}" for letter in "abc")])
    assert ranks.ranks["der"] == 1
    assert ranks.classes(["▁Der", "▁Hund", "e", ".", "▁12", "▁Katze", ","]) == [
        *("function", "function", "continuation", "punctuation", "number", "rare", "punctuation"),
        "end",
    ]


def test_ranks_divide_function_frequent_and_rare_words():
    words = [chr(0x4E00 + place) for place in range(600)]
    ranks = WordRanks({word: rank for rank, word in enumerate(words, 1)})
    found = [ranks.classes([f"▁{words[place]}"])[0] for place in (49, 50, 499, 500)]
    assert found == ["function", "frequent", "frequent", "rare"]


def test_weights_by_length_class_and_received_share():
    ranks = WordRanks({"a": 1, "b": 600, "x": 1, "y": 600})
    found = weight_groups([maps([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])], ranks, ranks, bins=[2, 3])
    assert list(found["lengths"]) == ["3"]
    assert found["classes"]["function"]["values"][TOP_1] == 1
    assert found["classes"]["rare"]["values"][EFFECTIVE] == 2
    assert found["received"] == {"function": [0.5, 0.3333], "rare": [0.1667, 0.3333], "end": [0.3333, 0.3333]}
    assert found["heads"] == [[found["all"]["values"]]]


def test_gold_rows_have_the_linked_mass_and_the_place_of_the_largest_weight():
    gold = GoldLinks(frozenset({(0, 0)}), frozenset({(1, 1), (0, 1)}))
    rows = list(gold_rows(np.array([[0.75, 0.25, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]]), gold))
    assert [group for group, _ in rows] == ["all", "1", "all", "2", "0"]
    assert rows[0][1][:3].tolist() == [1, 0.75, 1]
    assert rows[2][1][:3].tolist() == [1, 0, 0]
    assert rows[0][1][3] == pytest.approx(math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25)))
    assert rows[4][1].tolist() == [1, 0, 0, 2]


def test_controls_lose_the_links_that_attention_has():
    """A perfect map has all mass on the links; the weights of another word have none of it."""
    gold = GoldLinks(frozenset({(0, 0), (1, 1)}))
    found = gold_groups([maps([[1, 0, 0], [0, 1, 0], [0, 0, 1]])] * 20, [gold] * 20)
    assert found["attention"]["all"] == [40, 1, 1, 1]
    assert found["uniform"]["all"][1] == pytest.approx(1 / 3, abs=1e-4)
    assert found["shuffled"]["all"][1] < 0.7
    assert found["other word"]["all"][1] == 0


def test_no_word_keeps_its_own_weights():
    for seed in range(20):
        found = other_rows(np.eye(5, dtype=np.float32), np.random.default_rng(seed))
        assert not found.diagonal().any()
        assert sorted(found.argmax(-1).tolist()) == list(range(5))


def test_bleu_change_of_equal_translations_is_zero_and_of_worse_ones_is_not():
    perfect = np.array([[6, 6, 6, 5, 4, 3, 6, 5, 4, 3]] * 30)
    worse = np.array([[6, 6, 5, 3, 2, 1, 6, 5, 4, 3]] * 30)
    assert bleu_change(perfect, perfect) == [0, 0, 0]
    value, low, high = bleu_change(worse, perfect)
    assert value == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25 - 100, abs=0.01)
    assert low <= value <= high < -10


class Elements(HTMLParser):
    """Collect elements with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return draw_pages(read_result(RESULT), CLAIMS / "records")


@pytest.mark.parametrize("name", FILES.values())
def test_the_committed_page_is_what_its_data_draw(name: str, drawn: dict[str, str]):
    assert (CLAIMS / name).read_text(encoding="utf-8") == drawn[name]


def test_the_committed_markdown_is_what_its_data_give():
    assert RESULT.with_suffix(".md").read_text(encoding="utf-8") == result_page(read_result(RESULT), introduction or "")


def test_a_changed_value_changes_the_page(drawn: dict[str, str]):
    """Control: the comparison above can fail."""
    result = read_result(RESULT)
    student = next(model for model in result["models"] if model["variant"] == "firefox")
    student["points"][-1]["all"]["values"][SMALL] += 0.1
    changed = draw_pages(result, CLAIMS / "records")
    assert all(changed[name] != drawn[name] for name in FILES.values())


@pytest.mark.parametrize("language", FILES)
def test_the_page_is_self_contained(language: str):
    page = _committed(language)
    elements = Elements(page).found
    assert {tag for tag, _ in elements} & {"link", "img", "iframe", "object"} == set()
    assert {name for _, attributes in elements for name in attributes} & {"src", "srcset", "style", "action"} == set()
    assert {attributes["href"] for _, attributes in elements if "href" in attributes} <= set(FILES.values())
    assert "url(" not in page
    assert "@import" not in page
    addresses = set(re.findall(r"https?://[^\s'\"]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert len(scripts) == 1
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digests[0]}'" in page


@pytest.mark.parametrize("language", FILES)
def test_every_figure_has_a_table_and_every_control_a_label(language: str):
    page = _committed(language)
    elements = Elements(page).found
    charts = [attributes["data-chart"] for _, attributes in elements if "data-chart" in attributes]
    assert len(charts) == len(page_texts(language)["sections"]) == page.count("<table>") == page.count("<caption>")
    controls = [tag for tag, _ in elements if tag in {"select", "input"}]
    assert len(controls) == sum(tag == "label" for tag, _ in elements)
    assert all("scope" in attributes for tag, attributes in elements if tag == "th")
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_both_languages_have_the_same_texts():
    def keys(value: object, path: str = "") -> set[str]:
        if isinstance(value, dict):
            return {key for name, each in value.items() for key in keys(each, f"{path}.{name}")}
        if isinstance(value, list):
            return {f"{path}[{len(value)}]"}
        placeholders = sorted(re.findall(r"{\w+}", str(value)))
        return {f"{path} {placeholders}"}

    assert keys(page_texts("en")) == keys(page_texts("zh"))


@pytest.mark.parametrize("place", range(7))
def test_answers_of_both_languages_have_the_same_figures(place: int):
    found = [sorted(re.findall(r"{\w+}", page_texts(language)["answer"][place])) for language in FILES]
    assert found[0] == found[1]


NUMBER = re.compile(r"(?<![\w.])[−+]?\d+(?:,\d{3})*(?:\.\d+)?")


@pytest.mark.parametrize("language", FILES)
def test_figures_of_the_findings_are_on_the_page(language: str):
    claim = tomllib.loads((CLAIMS / "C15.toml").read_text(encoding="utf-8"))
    answer = re.sub(r"<script.*?</script>|<style.*?</style>", "", _committed(language), flags=re.DOTALL)
    known = set(NUMBER.findall(re.sub(r"<[^>]+>", " ", answer)))
    figures = NUMBER.findall(re.sub(r"\]\(.*?\)", "", claim["findings"][language]))
    assert len(figures) > 20
    assert [figure for figure in figures if figure not in known] == []
    assert "98.76" not in known  # control: a figure that no model has


def test_findings_of_both_languages_have_the_same_figures():
    claim = tomllib.loads((CLAIMS / "C15.toml").read_text(encoding="utf-8"))
    english, chinese = (sorted(NUMBER.findall(claim["findings"][language])) for language in FILES)
    assert english == chinese


def _committed(language: str) -> str:
    return (CLAIMS / FILES[language]).read_text(encoding="utf-8")
